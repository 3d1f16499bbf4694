"""The sentence that the owner of a waiting pod reads."""

from __future__ import annotations

from dataclasses import replace

import pytest

from elasticgpu.rules import binding
from elasticgpu.rules.decisions import Lost, Wait
from elasticgpu.rules.handing import PodView
from elasticgpu.rules.ledger import OVERCOMMITTED
from elasticgpu.rules.transaction import NODE_LOST
from elasticgpu.rules.waiting import STUCK, passes, why
from tests.rules.build import NOW, claim, pod

from .views import ANOTHERS, FOR_POD, FULL, HELD, NOT_ITS_OWN, RC, behind, bound, looked, of

GONE = binding.unserved(HELD, Lost("DeviceLost", "ElasticGPU egpu-train is gone"), "gold", now=NOW)
HELD_BY_A = (
    "ElasticGPUClaim train is held by pod a: this pod gets it when that one has ended. "
    "A claim with spec.shared true serves several pods at once"
)
FIRST = binding.unserved(claim(), Wait("WaitForFirstConsumer", "chosen then"), "gold", now=NOW)
SENTENCES: list[tuple[str, PodView, str | None]] = [
    ("its-claim-waited-for-it", looked(pod(), behind(FIRST)), None),
    ("served", looked(pod(), behind(HELD)), None),
    (
        "no-claim",
        looked(pod(), behind(None)),
        "there is no ElasticGPUClaim train in team: create it",
    ),
    (
        "no-claim-template",
        looked(FOR_POD, behind(None)),
        "there is no ElasticGPUClaimTemplate big in team",
    ),
    (
        "template-of-a-stranger",
        looked(pod(), behind(HELD, foreign=True)),
        "ResourceClaimTemplate egpuc-train is not elasticgpu's, though it has its name: delete "
        "it, and it is made anew",
    ),
    (
        "made-from-a-strangers-template",
        looked(pod(), behind(HELD, RC.but(spec={"devices": {}}))),
        "ResourceClaim rc-0 was made from a template that is not elasticgpu's: delete this pod "
        "and create it anew",
    ),
    (
        "resource-claim-deleted",
        looked(pod(), behind(HELD, vanished="web-0-egpu-0-x7")),
        "its ResourceClaim web-0-egpu-0-x7 was deleted: delete this pod and create it anew",
    ),
    ("claim-of-an-earlier-pod", looked(FOR_POD, behind(ANOTHERS)), NOT_ITS_OWN),
    (
        "its-device-is-being-deleted",
        looked(
            pod(), replace(behind(HELD), device=of(HELD).with_metadata(deletion_timestamp=NOW))
        ),
        "ElasticGPU egpu-train of ElasticGPUClaim train is being deleted",
    ),
    (
        "being-deleted",
        looked(pod(), behind(HELD.with_metadata(deletion_timestamp=NOW))),
        "ElasticGPUClaim train is being deleted",
    ),
    (
        "new",
        looked(pod(), behind(claim())),
        "ElasticGPUClaim train is being bound",
    ),
    (
        "pending",
        looked(pod(), behind(FULL)),
        "ElasticGPUClaim train is Pending: no card can give it",
    ),
    (
        "lost",
        looked(pod(), behind(GONE)),
        "ElasticGPUClaim train is Lost: ElasticGPU egpu-train is gone",
    ),
    ("held-by-nobody-yet", looked(pod(), behind(bound())), None),
    ("held-by-another", looked(pod(), behind(bound("train", "a"))), HELD_BY_A),
    ("shared-row-on-its-way", looked(pod(), behind(bound("train", "a", shared=True))), None),
    (
        "not-yet-undone-for-another",
        looked(pod(), replace(behind(bound()), device=of(bound()).with_status(prepared_for=["u"]))),
        "node node-a has not yet undone ElasticGPU egpu-train for an earlier pod (u)",
    ),
    (
        "the-second-one-says",
        looked(pod(claims=["train", "b"]), behind(HELD), behind(None)),
        "there is no ElasticGPUClaim b in team: create it",
    ),
    (
        "two-nodes",
        looked(
            pod(claims=["a", "b"]),
            behind(bound("a", "web-0")),
            behind(bound("b", "web-0"), on="node-b"),
        ),
        "its claims lie on different nodes (a on node-a, b on node-b): no node can run it",
    ),
    (
        "one-of-them-remote",
        looked(
            pod(claims=["a", "b"]),
            behind(bound("a", "web-0")),
            behind(bound("b", "web-0"), on=""),
        ),
        None,
    ),
    (
        "pod-on-another-node",
        looked(pod(node="node-b"), behind(HELD)),
        "its device is on node-a, but the pod is on node-b",
    ),
    ("remote-and-anywhere", looked(pod(node="node-b"), behind(HELD, on="")), None),
]  # fmt: skip


@pytest.mark.parametrize(
    ("view", "said"), [pytest.param(view, said, id=name) for name, view, said in SENTENCES]
)
def test_why(view: PodView, said: str | None) -> None:
    """Why the pod waits, in the words that its owner reads on it."""
    assert view.pod is not None
    assert why(view.pod, view.entries) == said


FAILED = binding.unserved(HELD, Lost("DeviceFailed", "node-a refused it"), "gold", now=NOW)


@pytest.mark.parametrize(
    ("node", "reason", "more"),
    [
        pytest.param("node-a", OVERCOMMITTED, f". {STUCK}", id="refused-by-its-node"),
        pytest.param("node-a", NODE_LOST, f". {STUCK}", id="on-a-lost-node"),
        pytest.param("node-a", "ReleaseFailed", "", id="failed-otherwise"),
        pytest.param("", NODE_LOST, "", id="without-a-node"),
    ],
)
def test_who_is_stuck_is_told_what_to_do(node: str, reason: str, more: str) -> None:
    """A pod cannot leave its node for the claim's next device: its owner has to delete it."""
    view = behind(FAILED)
    assert view.device is not None
    view = replace(view, device=view.device.with_status(phase="Failed", reason=reason))
    waits = pod(node=node)
    said = "ElasticGPUClaim train is Lost: node-a refused it"
    assert why(waits, looked(waits, view).entries) == said + more


def test_what_passes() -> None:
    """A claim that is made with its pod is not there yet, then it is being bound: no news."""
    said = {name: why(view.pod, view.entries) for name, view, _ in SENTENCES if view.pod}
    assert {name for name, words in said.items() if words and passes(words)} == {
        "no-claim",
        "the-second-one-says",
        "new",
    }
