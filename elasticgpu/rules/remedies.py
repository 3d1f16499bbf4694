"""What to do about a claim that waits, by the reason it waits for."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from elasticgpu.api.vocabulary import demand

from . import making
from .decisions import ClaimView
from .explaining import Step, kubectl

KIND = "elasticgpuclaim"


def remedies(view: ClaimView, reason: str) -> tuple[Step, ...]:
    """What ends this wait; where nothing better is known, where to read on."""
    return BY_REASON.get(reason, describe)(view)


def describe(view: ClaimView) -> tuple[Step, ...]:
    """The claim's events tell more."""
    claim = view.claim
    return (Step("See its events", kubectl("describe", KIND, claim.namespace, claim.name)),)


def anew(view: ClaimView) -> tuple[Step, ...]:
    """It is beyond repair."""
    command = kubectl("delete", KIND, view.claim.namespace, view.claim.name)
    return (Step("Delete the claim and create it anew, then the pods that use it", command),)


def _correct(_: ClaimView) -> tuple[Step, ...]:
    what = "kubectl explain elasticgpuclaim.spec.resources.requests"
    return (Step("Correct it in a new claim. What may be asked for", what),)


def _choose_class(view: ClaimView) -> tuple[Step, ...]:
    if not view.classes:
        return (Step("An admin creates a class"),)
    claim, name = view.claim, view.classes[0]
    patch = kubectl("patch", KIND, claim.namespace, claim.name)
    body = f'{{"spec":{{"elasticGPUClassName":"{name}"}}}}'
    default = f"kubectl annotate elasticgpuclass {name} elasticgpu.io/is-default-class=true"
    return (
        Step("Name a class, such as", f"{patch} --type=merge -p '{body}'"),
        Step("Or an admin makes one the default", default),
    )


def _see_classes(_: ClaimView) -> tuple[Step, ...]:
    return (Step("Create that class, or make the claim anew", "elasticgpu get classes"),)


def _see_device(view: ClaimView) -> tuple[Step, ...]:
    named = view.claim.spec.elastic_gpu_name
    names = " ".join([named] if named else [device.name for device in view.reserved])
    return (Step("See the device", f"elasticgpu get devices {names} -o wide"),)


def _see_devices(view: ClaimView) -> tuple[Step, ...]:
    offer = making.offered(
        view, demand(view.claim.spec.resources.requests, view.claim.metadata.labels)
    )
    if offer and offer.names:
        return (Step("An admin gives it one that fits", offer.command),)
    return (Step("An admin makes such a device. Those that are there", "elasticgpu get devices"),)


def _ask_otherwise(_: ClaimView) -> tuple[Step, ...]:
    what = "Ask for what its class gives, or for a class of another provisioner, in a new claim"
    return (Step(what, "elasticgpu get classes"),)


def _make_device(_: ClaimView) -> tuple[Step, ...]:
    what = "An admin makes that device; or make a claim that names another, or none"
    return (Step(what, "elasticgpu get devices"),)


def _complete_company(view: ClaimView) -> tuple[Step, ...]:
    what = "Create what is missing, or make this claim anew without it in colocateWith"
    return (Step(what, f"elasticgpu get claims -n {view.claim.namespace}"),)


def _install(_: ClaimView) -> tuple[Step, ...]:
    return (Step("Install that provisioner beside the controller, or take another class"),)


def _remake_class(_: ClaimView) -> tuple[Step, ...]:
    return (Step("An admin makes a class with other parameters; then make the claim anew"),)


BY_REASON: Mapping[str, Callable[[ClaimView], tuple[Step, ...]]] = {
    "InvalidRequest": _correct,
    "NoClass": _choose_class,
    "UnknownClass": _see_classes,
    "NoDevice": _see_devices,
    "Refused": _ask_otherwise,
    "CompanyMissing": _complete_company,
    "NoProvisioner": _install,
    "BadParameters": _remake_class,
    "DeviceMissing": _make_device,
    "DeviceTaken": _see_device,
    "DeviceMismatch": _see_device,
    "DevicePending": _see_device,
    "DeviceFailed": _see_device,
}
