"""What a class's conditions say: whether its provisioner takes its parameters, and was ever tried.

Claims of a class that cannot serve wait and say so themselves: see `making`. These conditions tell
its admin before the first claim does.
"""

from __future__ import annotations

from dataclasses import dataclass

from elasticgpu.api.gpuclass import ElasticGPUClass
from elasticgpu.api.meta import Condition, find_condition

PARAMETERS_ACCEPTED = "ParametersAccepted"
VERIFIED = "Verified"


@dataclass(frozen=True, slots=True)
class ClassView:
    """What is known of a class: `misfit` is its provisioner's refusal of its parameters; `verified`
    whether that provisioner was seen on hardware, None if it is not installed."""

    gpu_class: ElasticGPUClass
    provisioners: tuple[str, ...]
    misfit: str = ""
    verified: bool | None = None


@dataclass(frozen=True, slots=True)
class Say:
    """Write these conditions; `warning` is for an event, empty: none."""

    conditions: tuple[Condition, ...]
    warning: str = ""


def judge(view: ClassView) -> Say | None:
    """What is to be said of the class; None if it is said already."""
    conditions = tuple(_observed(view, one) for one in (_accepted(view), _verified(view)))
    there = view.gpu_class.status.conditions
    if all(_same(find_condition(there, new.type), new) for new in conditions):
        return None
    return Say(conditions, view.misfit)


def _accepted(view: ClassView) -> Condition:
    if view.verified is None:
        return Condition(
            type=PARAMETERS_ACCEPTED,
            status="Unknown",
            reason="NoProvisioner",
            message=f"provisioner {view.gpu_class.spec.provisioner} is not installed; installed: "
            f"{', '.join(view.provisioners) or 'none'}",
        )
    if view.misfit:
        return Condition(
            type=PARAMETERS_ACCEPTED, status="False", reason="BadParameters", message=view.misfit
        )
    return Condition(type=PARAMETERS_ACCEPTED, status="True", reason="Accepted")


def _verified(view: ClassView) -> Condition:
    name = view.gpu_class.spec.provisioner
    if view.verified is None:
        return Condition(type=VERIFIED, status="Unknown", reason="NoProvisioner")
    if not view.verified:
        return Condition(
            type=VERIFIED,
            status="False",
            reason="NeverSeenOnHardware",
            message=f"provisioner {name} has never been seen to work on hardware, only in tests "
            "and on simulated cards: try it before you rely on it",
        )
    return Condition(type=VERIFIED, status="True", reason="SeenOnHardware")


def _observed(view: ClassView, condition: Condition) -> Condition:
    return condition.but(observed_generation=view.gpu_class.metadata.generation)


def _same(old: Condition | None, new: Condition) -> bool:
    """Whether it is said already; since when is the API server's affair."""
    return old is not None and old.but(last_transition_time="") == new
