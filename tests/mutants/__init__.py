"""Planted faults: small wrong changes of the code, each of which some test must notice.

`planted.py` is the list, `make mutants` plants them one at a time in a copy of the tree and runs
the tests that are to notice.
"""
