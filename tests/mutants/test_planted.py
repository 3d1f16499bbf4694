"""The list of planted faults does not rot: every text is still there, exactly once."""

from __future__ import annotations

import pytest

from tests.mutants.planted import FAULTS, ROOT, Fault


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_fault_can_be_planted(fault: Fault) -> None:
    """Its text is in the file once, and its tests exist."""
    assert (ROOT / fault.file).read_text().count(fault.old) == 1
    assert fault.old != fault.new
    for test in fault.tests:
        assert (ROOT / test.split("::")[0]).exists()


def test_names_are_unique_and_many() -> None:
    """At least twenty, each under a name of its own."""
    names = [fault.name for fault in FAULTS]
    assert len(set(names)) == len(names) >= 20
