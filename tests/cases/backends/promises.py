"""What each backend promises a container, written from its README and the objects of the API.

Nothing here is computed by the backends' own code. Each function is a row of the table: the device
and its cards as they are on the API server → what is to be seen in the container, and no more.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from tests.auditor import number
from tests.cases.backends.given import Given
from tests.cases.backends.seen import Mounted, Seen

MIB, GIB = 1 << 20, 1 << 30
Promise = Callable[[Given], Seen]


class Like(str):
    """Equal to whatever matches this pattern as a whole: for names that only the node knows."""

    __slots__ = ()
    __hash__ = str.__hash__

    def __eq__(self, other: object) -> bool:
        return isinstance(other, str) and re.fullmatch(self, other) is not None


def whole(of: Given) -> Seen:
    """The card's files and its uuid."""
    return Seen({"ELASTICGPU_0_UUID": of.uuids, "NVIDIA_VISIBLE_DEVICES": "void"}, of.nodes())


def qgpu(of: Given) -> Seen:
    """The share as variables; on simulated cards no driver is there to be told more."""
    env = {
        "ELASTICGPU_0_UUID": of.uuids,
        "ELASTICGPU_0_CORE": str(of.part["core"]),
        "ELASTICGPU_0_MEMORY": str(of.memory),
        "ELASTICGPU_0_ENFORCED": "no, simulated card",
    }
    return Seen(env)


def vcuda(of: Given) -> Seen:
    """The library, what names it, the claim's region at both places, the lock, and the limits."""
    own, inside = of.folder() / of.name, f"/usr/local/vgpu/{of.name}.cache"
    region = Mounted.of(own / f"{of.name}.cache", "rw")
    env = {
        "ELASTICGPU_0_UUID": of.uuids,
        "NVIDIA_VISIBLE_DEVICES": "void",
        "CUDA_DEVICE_ORDER": "PCI_BUS_ID",
        "CUDA_DEVICE_MEMORY_LIMIT_0": f"{of.memory // MIB}m",
        "CUDA_DEVICE_MEMORY_LIMIT": "1",
        "CUDA_DEVICE_SM_LIMIT_0": str(of.part["core"]),
        "CUDA_DEVICE_MEMORY_SHARED_CACHE": inside,
        "GPU_CORE_UTILIZATION_POLICY": "default",
        "CUDA_TASK_PRIORITY": "1",
        "ACTIVE_OOM_KILLER": "true",
        "LIBCUDA_LOG_LEVEL": "0",
    }
    mounts = {
        "/usr/local/vgpu/libvgpu.so": Mounted.of(Path("/usr/local/vgpu/libvgpu.so"), "ro"),
        "/etc/ld.so.preload": Mounted.of(own / "ld.so.preload", "ro"),
        inside: region,
        "/tmp/cudevshr.cache": region,
        "/tmp/vgpulock": Mounted.of(of.folder() / ".vgpulock", "rw"),
    }
    return Seen(env, of.nodes(), mounts)


def mps(of: Given) -> Seen:
    """The daemon's pipes and shared memory, and what one process may have of the card."""
    own = of.folder() / of.uuids
    env = {
        "ELASTICGPU_0_UUID": of.uuids,
        "NVIDIA_VISIBLE_DEVICES": "void",
        "CUDA_MPS_PIPE_DIRECTORY": "/tmp/nvidia-mps",
        "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE": str(of.part["core"]),
        "CUDA_MPS_PINNED_DEVICE_MEM_LIMIT": f"{of.uuids}={of.memory // MIB}M",
    }
    mounts = {
        "/tmp/nvidia-mps": Mounted.of(own / "pipe", "rw"),
        "/dev/shm": Mounted.of(own / "shm", "rw"),
    }
    return Seen(env, of.nodes(), mounts)


def gpushare(of: Given) -> Seen:
    """The card's files, and the variables of Alibaba's device plugin in whole GiB."""
    (card,) = of.cards
    each = str(of.memory // GIB)
    env = {
        "ELASTICGPU_0_UUID": of.uuids,
        "ELASTICGPU_0_MEMORY": str(of.memory),
        "ELASTICGPU_0_ENFORCED": "no",
        "NVIDIA_VISIBLE_DEVICES": "void",
        "CGPU_DISABLE": "true",
        "ALIYUN_COM_GPU_MEM_IDX": str(card["status"].get("index", 0)),
        "ALIYUN_COM_GPU_MEM_POD": each,
        "ALIYUN_COM_GPU_MEM_CONTAINER": each,
        "ALIYUN_COM_GPU_MEM_DEV": str(number(card["status"]["memory"]) // GIB),
        "ALIYUN_COM_GPU_MEM_UNIT": "GiB",
    }
    return Seen(env, of.nodes())


def cgpu(of: Given) -> Seen:
    """Variables for cGPU's hook alone: the hook brings the device files."""
    (card,) = of.cards
    env = {
        "ELASTICGPU_0_UUID": of.uuids,
        "ELASTICGPU_0_ENFORCED": "no, simulated card",
        "NVIDIA_VISIBLE_DEVICES": of.uuids,
        "ALIYUN_COM_GPU_VISIBLE_DEVICES": of.uuids,
        "ALIYUN_COM_GPU_MEM_CONTAINER": str(of.memory // GIB),
        "ALIYUN_COM_GPU_MEM_DEV": str(number(card["status"]["memory"]) // GIB),
        "ALIYUN_COM_GPU_MEM_UNIT": "GiB",
        "ALIYUN_COM_GPU_SCHD_WEIGHT": str(of.part["core"] // 5),
        "GPU_UTIL_PER_DEVICE": str(of.part["core"]),
    }
    return Seen(env)


def remote(of: Given) -> Seen:
    """Where rCUDA's client finds the card, and what is booked of it."""
    env = {
        "RCUDA_DEVICE_COUNT": "1",
        "RCUDA_DEVICE_0": str(of.part["gpu"]),
        "ELASTICGPU_0_CORE": str(of.part["core"]),
        "ELASTICGPU_0_MEMORY": str(of.memory),
        "ELASTICGPU_0_ENFORCED": "no",
        "NVIDIA_VISIBLE_DEVICES": "void",
    }
    return Seen(env)


def mig(of: Given) -> Seen:
    """The instance by its own uuid, and the files of the card and of the instance's capabilities.

    They are numbered as the driver numbers those of a card's first instance.
    """
    (card,) = of.cards
    first = 3 + 9 * 15 * int(card["status"].get("minor", 0))
    caps = {f"/dev/nvidia-caps/nvidia-cap{n}": (511, n) for n in (first, first + 1)}
    env = {"ELASTICGPU_0_UUID": Like("MIG-[0-9a-f-]{36}"), "NVIDIA_VISIBLE_DEVICES": "void"}
    return Seen(env, {**of.nodes(), **caps})


def lanes(of: Given) -> Seen:
    """The stranger's: the card's files, and a ticket."""
    inside = f"/run/lanes/{of.name}"
    env = {"ELASTICGPU_0_TICKET": inside, "NVIDIA_VISIBLE_DEVICES": "void"}
    return Seen(env, of.nodes(), {inside: Mounted.of(of.folder() / of.name, "ro")})


@dataclass(frozen=True)
class Use:
    """A container that uses a claim, and what that claim's backend promises.

    `tag` is the number of the claim's entry in its pod: it is in the names of the variables.
    """

    pod: str
    container: str
    claim: str
    promise: Promise
    tag: int = 0

    def promised(self, of: Given, namespace: str) -> Seen:
        """All that the container is to see: what every device brings, and what its backend does."""
        row = self.promise(of)
        common = {
            "ELASTICGPU_0_CLAIM": f"{namespace}/{self.claim}",
            "ELASTICGPU_0_DEVICE": of.name,
            "ELASTICGPU_0_PROVISIONER": of.driver,
        }
        env = {
            name.replace("ELASTICGPU_0_", f"ELASTICGPU_{self.tag}_"): value
            for name, value in {**common, **row.env}.items()
        }
        return Seen(env, row.devices, row.mounts)


ROWS: Mapping[str, Promise] = {
    "whole": whole,
    "mps": mps,
    "mig": mig,
    "vcuda": vcuda,
    "qgpu": qgpu,
    "cgpu": cgpu,
    "gpushare": gpushare,
    "remote": remote,
}
"""By the name of the example's pod and claim."""
ALONE = {
    **{name: Use(name, "main", name, promise) for name, promise in ROWS.items()},
    "a stranger's": Use("driver", "main", "slow-lane", lanes),
}
"""Pods with one claim each, by backend."""
TOGETHER = (
    Use("two-in-one-pod", "left", "two-mps", mps),
    Use("two-in-one-pod", "right", "two-vcuda", vcuda, tag=1),
)
"""A pod with two, and a container `plain` with none."""
