"""What a claim shows of a provisioner at work, and how an answer is changed."""

from __future__ import annotations

from collections.abc import Callable

from elasticgpu.api.elasticgpu import ElasticGPU
from elasticgpu.api.meta import ObjectReference
from elasticgpu.api.names import PROVISIONING
from elasticgpu.rules import marks
from tests.controllers.stage import TEAM, Stage


def marked(stage: Stage) -> bool:
    """The claim shows that it is in progress."""
    claim = stage.claim()
    return (
        claim is not None
        and PROVISIONING in claim.metadata.finalizers
        and claim.status.provisioning is not None
    )


def unmarked(stage: Stage) -> bool:
    """It does not, in any way."""
    claim = stage.claim()
    return claim is not None and not marks.has_marks(claim)


def spec(**changes: object) -> Callable[[ElasticGPU], ElasticGPU]:
    """The device with something else in its spec."""
    return lambda device: device.but(spec=device.spec.but(**changes))


def source(**changes: object) -> Callable[[ElasticGPU], ElasticGPU]:
    """The device with something else in its source."""
    return lambda d: d.but(spec=d.spec.but(source=d.spec.source.but(**changes)))


def meta(**changes: object) -> Callable[[ElasticGPU], ElasticGPU]:
    """The device with other metadata."""
    return lambda device: device.with_metadata(**changes)


STRANGER = ObjectReference(namespace=TEAM, name="train", uid="somebody-else")
