"""What a class tells vCUDA: the settings of HAMi's device plugin, and where the library is."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from elasticgpu.provisioner import Parameters

LIBRARY = "/usr/local/vgpu/libvgpu.so"
"""Where HAMi puts it on a node, and where every process looks for it (`CUDA_REDIRECT` apart)."""


def _only_one(scaling: float) -> float:
    if scaling != 1:
        raise ValueError(
            f"{scaling:g} is not served, only 1: the library backs no memory that the card does "
            "not have (what is allocated beyond it fails), and the ledger sells each byte once"
        )
    return scaling


def _absolute(path: str) -> str:
    if not path.startswith("/"):
        raise ValueError(f"{path!r} is no path on the node: write one that begins with /")
    return path


class VCUDAParameters(Parameters):
    """HAMi's settings, with its names, meaning and defaults; `library` is where ours is."""

    device_split_count: Annotated[int, Field(ge=1)] = 10
    device_memory_scaling: Annotated[float, AfterValidator(_only_one)] = 1
    disablecorelimit: bool = False
    default_mem: Annotated[int, Field(ge=0)] = 5000
    default_cores: Annotated[int, Field(ge=0, le=100)] = 0
    gpu_core_utilization_policy: Literal["default", "force", "disable"] = "default"
    active_oom_killer: bool = True
    log_level: Annotated[int, Field(ge=0, le=4)] = 0
    library: Annotated[str, AfterValidator(_absolute)] = LIBRARY

    @property
    def policy(self) -> str:
        """When core limits are kept, in the library's words."""
        return "disable" if self.disablecorelimit else self.gpu_core_utilization_policy
