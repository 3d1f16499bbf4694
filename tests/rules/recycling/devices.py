"""Devices whose claims are gone."""

from __future__ import annotations

from elasticgpu.api.elasticgpu import ElasticGPU
from tests.rules.build import claim, device, ref

TRAIN = claim()
OLD = ref(TRAIN)


def released(name: str = "egpu-a", **facts: object) -> ElasticGPU:
    whole = {"phase": "Released", "policy": "Retain", "of": OLD, **facts}
    return device(name, **whole)  # type: ignore[arg-type] # a row says which facts
