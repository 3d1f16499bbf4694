"""The free devices, by class and shape: which of them fits a demand best, without looking at all.

There may be thousands, but few shapes: a class's devices are cut alike. So a demand is compared
with each shape once, and within a shape the first name is as good as any.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterator
from dataclasses import dataclass, field
from heapq import merge
from itertools import groupby

from elasticgpu.api.elasticgpu import ElasticGPU
from elasticgpu.api.vocabulary import Demand

from .fitting import leftover, size, too_small

Shape = tuple[int, int, tuple[tuple[int, int, str], ...]]
"""All that decides whether a device is large enough: its capacity, and its part of each card."""


@dataclass
class _Row:
    """The devices of one shape: one of them, and the names of all, sorted."""

    sample: ElasticGPU
    names: list[str] = field(default_factory=list)


class Stock:
    """Devices that are Available and have no claimRef; others are not in it."""

    def __init__(self) -> None:
        self._devices: dict[str, tuple[ElasticGPU, Shape]] = {}
        self._classes: dict[str, dict[Shape, _Row]] = {}

    def put(self, device: ElasticGPU) -> None:
        """Take a device in if it is free, or its newer state."""
        self.drop(device.name)
        if device.spec.claim_ref is not None or device.status.phase != "Available":
            return
        try:
            shape = _shape(device)
        except ValueError:
            return  # what cannot be read is large enough for nobody
        rows = self._classes.setdefault(device.spec.elastic_gpu_class_name, {})
        insort(rows.setdefault(shape, _Row(device)).names, device.name)
        self._devices[device.name] = (device, shape)

    def drop(self, name: str) -> None:
        """The device is gone, or free no more."""
        if name not in self._devices:
            return
        device, shape = self._devices.pop(name)
        class_name = device.spec.elastic_gpu_class_name
        names = self._classes[class_name][shape].names
        del names[bisect_left(names, name)]
        if not names:
            del self._classes[class_name][shape]
        if not self._classes[class_name]:
            del self._classes[class_name]

    def best_first(self, class_name: str, want: Demand) -> Iterator[ElasticGPU]:
        """The class's devices that are large enough, in the order of `fitting.leftover`."""
        rows = self._classes.get(class_name, {}).values()
        large = [(_waste(want, row.sample), row.names) for row in rows if _holds(want, row.sample)]
        large.sort()
        for _, equal in groupby(large, key=lambda pair: pair[0]):
            for name in merge(*(names for _, names in equal)):
                yield self._devices[name][0]


def _waste(want: Demand, device: ElasticGPU) -> tuple[float, int, int]:
    """What the order of fit says about a shape; equal ones go by name."""
    share, core, memory, _ = leftover(want, device)
    return share, core, memory


def _holds(want: Demand, device: ElasticGPU) -> bool:
    return too_small(want, device) is None


def _shape(device: ElasticGPU) -> Shape:
    core, memory = size(device)
    parts = device.spec.source.devices
    return core, memory, tuple((p.core, p.memory_bytes, p.mig_profile) for p in parts)
