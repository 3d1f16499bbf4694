"""A state machine over controller and agents on the embedded API server: what users, admins and
nodes do, faults and crashes, in any order; `tests/machine/test_machine.py` begins."""
