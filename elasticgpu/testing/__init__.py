"""For plugin authors and for us: what stands in for a cluster in tests and demonstrations.

`ProvisionerContract` is the suite that every provisioner passes: see `elasticgpu.testing.contract`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .contract import ProvisionerContract

__all__ = ["ProvisionerContract"]


def __getattr__(name: str) -> Any:
    """The contract suite, once it is asked for: a demonstration needs neither it nor hypothesis."""
    if name in __all__:
        from . import contract

        return getattr(contract, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
