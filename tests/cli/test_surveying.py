"""What others say of a pod: the scheduler, the kubelet, the node's agent."""

from __future__ import annotations

from typing import Any

import pytest

from elasticgpu.cli.surveying import refusals, verdicts

Object = dict[str, Any]


def status(**facts: Any) -> Object:
    return {"metadata": {"name": "web-0"}, "status": facts}


def waiting(name: str, **why: str) -> Object:
    return {"name": name, "state": {"waiting": why} if why else {"running": {}}}


PODS: list[tuple[Object, list[str]]] = [
    ({"metadata": {}}, []),
    (status(conditions=[{"type": "PodScheduled", "status": "True"}]), []),
    (
        status(
            conditions=[
                {"type": "Ready", "status": "False"},
                {"type": "PodScheduled", "status": "False", "reason": "R", "message": "none fits"},
            ]
        ),
        ["The scheduler says R: none fits"],
    ),
    (
        status(
            containerStatuses=[waiting("main", reason="ContainerCreating"), waiting("side")],
            initContainerStatuses=[waiting("init", reason="ErrImagePull", message="no such image")],
        ),
        [
            "Container init waits: ErrImagePull: no such image.",
            "Container main waits: ContainerCreating.",
        ],
    ),
]


@pytest.mark.parametrize(("pod", "said"), PODS)
def test_verdicts(pod: Object, said: list[str]) -> None:
    """The scheduler's if it found no node, the kubelet's of containers that wait."""
    assert verdicts(pod) == said


def event(when: str, message: str, by: str = "elasticgpu-agent", **more: Any) -> Object:
    meta = {"creationTimestamp": when}
    return {"metadata": meta, "reason": "R", "message": message, "reportingComponent": by, **more}


def test_refusals() -> None:
    """The agent's newest two, oldest first; what others say is said elsewhere."""
    said = refusals(
        [
            event("3", "third"),
            event("1", "first"),
            event("9", "by time of the event", eventTime="2"),
            event("4", "not ours", by="kubelet"),
        ]
    )
    assert said == ["The agent says R: by time of the event", "The agent says R: third"]
