"""Which class a claim has, and when the class has devices chosen."""

from __future__ import annotations

from collections.abc import Iterable

from elasticgpu.api.claim import ElasticGPUClaim
from elasticgpu.api.gpuclass import ElasticGPUClass

WAIT_FOR_POD = "WaitForFirstConsumer"


def in_effect(claim: ElasticGPUClaim, classes: Iterable[ElasticGPUClass]) -> str | None:
    """The class a claim names ("" if it wants none), else the default; None if there is neither.

    Of several defaults the newest, of several equally new the first by name. The bind writes it
    into the claim, which keeps it from then on.
    """
    if claim.class_name is not None:
        return claim.class_name
    defaults = sorted(
        (one for one in classes if one.is_default and not one.terminating), key=lambda one: one.name
    )
    newest = max(defaults, key=lambda one: one.metadata.creation_timestamp, default=None)
    return newest.name if newest else None


def waits_for_pod(gpu_class: ElasticGPUClass | None) -> bool:
    """Whether claims of the class get their device only when the first pod uses them."""
    return gpu_class is not None and gpu_class.spec.egpu_binding_mode == WAIT_FOR_POD
