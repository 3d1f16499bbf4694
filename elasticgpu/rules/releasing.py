"""What becomes of a device whose provisioner is to free what it stands for outside the cluster.

    answer               the device                       then
    done                 goes                             its object is deleted
    working, later       stays as it is, and says so      asked again
    foreign              stays Released                   never asked again
    refused, unclear, …  Failed, ReleaseFailed, Warning   asked again, later each time

Released and Failed devices hold their room alike: nothing is given away before it is free.
"""

from __future__ import annotations

from dataclasses import dataclass

from elasticgpu.api.elasticgpu import DevicePhase, ElasticGPU
from elasticgpu.api.names import NODE_FINALIZER

from .answers import Answer, Kind
from .transaction import given_up

RELEASE_FAILED = "ReleaseFailed"
"""Reason of a Failed device that its provisioner did not release."""


@dataclass(frozen=True, slots=True)
class ReleaseView:
    """All that decides about freeing one device, read at one moment.

    `asks`: its provisioner has a `release` of its own. `answer` is the last one; `calling`: a call
    is under way; `due`: it is time for the next one.
    """

    device: ElasticGPU
    installed: bool = True
    asks: bool = True
    answer: Answer | None = None
    calling: bool = False
    due: bool = True


@dataclass(frozen=True, slots=True)
class Free:
    """Nothing of it is left outside the cluster: the object goes."""


@dataclass(frozen=True, slots=True)
class Call:
    """Call `release`."""


@dataclass(frozen=True, slots=True)
class Hold:
    """Nothing now; what `answer` says is to be read on the device."""

    answer: Answer | None = None


Decision = Free | Call | Hold


def decide(view: ReleaseView) -> Decision:
    """What to do about a device that is to be reclaimed."""
    if not view.installed:
        return Hold(_uninstalled(view.device))
    if view.calling:
        return Hold(view.answer)
    if not view.asks or (view.answer is not None and view.answer.kind is Kind.DONE):
        return Free()
    if view.answer is not None and view.answer.kind is Kind.FOREIGN:
        return Hold()
    if NODE_FINALIZER in view.device.metadata.finalizers:
        return Hold(view.answer)  # a container may still use it
    return Call() if view.due else Hold(view.answer)


def _uninstalled(device: ElasticGPU) -> Answer:
    name = device.spec.source.driver
    words = (
        f"its provisioner {name} is not installed, so nothing can release it: install it or, if "
        "nothing of it is left outside the cluster, set reclaimPolicy to Retain and delete it"
    )
    return Answer(Kind.UNCLEAR, words)


def unreleased(device: ElasticGPU, answer: Answer) -> tuple[DevicePhase, str, str]:
    """Phase, reason and message of a device that its provisioner has not released.

    One that was given up while its claim lives keeps phase and reason: they are what says so.
    """
    status, words = device.status, answer.words[:1024]
    if given_up(device):
        return status.phase, status.reason, words
    if answer.kind in (Kind.WORKING, Kind.LATER) and status.phase == "Released":
        return "Released", "Releasing", words
    return "Failed", RELEASE_FAILED, words
