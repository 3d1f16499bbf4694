"""A claim whose device is withdrawn: it goes elsewhere, and nothing is wrong."""

from __future__ import annotations

import pytest

from elasticgpu.rules import binding, transaction
from elasticgpu.rules.decisions import Wait
from elasticgpu.rules.transaction import WITHDRAWN
from tests.rules.build import LATER, NOW, claim, device, ref, seen

BOUND = claim("train", named="egpu-a", completed=True).with_status(phase="Bound")


@pytest.mark.parametrize("terminating", [False, True])
@pytest.mark.parametrize("said", ["no free ports", "x" * 2000])
def test_it_says_so_once_and_warns_nobody(said: str, terminating: bool) -> None:
    """From the way back until the device is gone it says why the device went, in one write."""
    found = device(of=ref(BOUND), phase="Released", terminating=terminating)
    found = found.with_status(reason=WITHDRAWN, message=said)
    waits = transaction.nameless(transaction.unbound(BOUND, found, now=NOW))
    why = binding.decide(seen(waits, found))
    assert isinstance(why, Wait)
    assert why.event is None
    assert binding.unserved(waits, why, "", now=LATER) == waits
    assert why.message.startswith(f"egpu-a is given up: {said[:100]}")
