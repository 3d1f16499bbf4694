"""Nodes that were tried in vain: for whom they are remembered, and when they are forgotten."""

from __future__ import annotations

from typing import NamedTuple

import pytest

from elasticgpu.api.claim import ClaimUser, ElasticGPUClaim
from elasticgpu.rules import company, transaction
from elasticgpu.rules.company import Forget
from elasticgpu.rules.consumer import Consumer
from elasticgpu.rules.seeking import CompanyView
from elasticgpu.rules.transaction import WITHDRAWN

from .build import LATER, NOW, Share, claim, device, gpu_class, pod, ref, seen

WAITS = gpu_class(egpu_binding_mode="WaitForFirstConsumer")
TRAIN = claim("train")
OLD, NEW = pod("old", uid="pod-old", created=NOW), pod("new", uid="pod-new", created=LATER)


class Row(NamedTuple):
    """For whom node-a was excluded, which of the two wait now, and whether it is forgotten."""

    id: str
    tried_for: tuple[str, ...]
    wait: tuple[str, ...]
    forgotten: bool


ROWS = [
    Row("the-pod-waits-on", ("pod-old",), ("old",), False),
    Row("however-young-it-looks", ("pod-new",), ("new",), False),
    Row("another-came", ("pod-old",), ("new",), True),
    Row("however-old-that-looks", ("pod-new",), ("old",), True),
    Row("one-of-two-waits-on", ("pod-old", "pod-gone"), ("old", "new"), False),
    Row("nobody-waits", ("pod-old",), (), True),
    Row("a-provisioner-said-so", (), ("new",), False),
    Row("a-provisioner-said-so-and-nobody-waits", (), (), True),
]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.id)
def test_when_they_are_forgotten(row: Row) -> None:
    """As soon as none of the pods waits that they were tried for, whatever dates the pods have."""
    tried = TRAIN.with_status(excluded_nodes=["node-a"], excluded_for=list(row.tried_for))
    member = seen(tried, gpu_class=WAITS, placer=Share(), company=True)
    waiting = [one for one in (OLD, NEW) if one.name in row.wait]
    view = CompanyView((member,), consumers=tuple(map(Consumer.of, waiting)))
    assert isinstance(company.decide(view), Forget) == row.forgotten


def held(*pods: str) -> ElasticGPUClaim:
    rows = [ClaimUser(pod_uid=uid) for uid in pods]
    done = claim("train", named="egpu-a", completed=True)
    return done.with_status(phase="Bound", users=rows, excluded_nodes=["node-b"])


FOUND = device(of=ref(TRAIN), phase="Released").with_status(reason=WITHDRAWN)


def test_for_whom_they_are_remembered() -> None:
    """For the pods that held the claim, in the write that takes it from them; for no others."""
    before = held("pod-old", "pod-new").with_status(excluded_for=["pod-gone"])
    waits = transaction.unbound(before, FOUND, now=NOW)
    assert waits.status.users == []
    assert waits.status.excluded_nodes == ["node-b", "node-a"]
    assert waits.status.excluded_for == ["pod-old", "pod-new"]


def test_for_nobody_nothing_is_remembered() -> None:
    """The pod is gone by then: its node may do for the next one."""
    waits = transaction.unbound(held(), FOUND, now=NOW)
    assert waits.status.excluded_nodes == ["node-b"]


def test_both_are_forgotten() -> None:
    """The nodes, and for whom."""
    tried = TRAIN.with_status(excluded_nodes=["node-a"], excluded_for=["pod-old"])
    left = transaction.forgotten(tried).status
    assert (left.excluded_nodes, left.excluded_for) == ([], [])
