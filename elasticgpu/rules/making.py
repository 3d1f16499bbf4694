"""Who makes a device for a claim that no device suits, where, and what would make room for it."""

from __future__ import annotations

from elasticgpu.api.gpuclass import Placement
from elasticgpu.api.vocabulary import Demand

from . import offering, placement
from .answers import EFFECTS
from .decisions import ClaimView, Decision, Maker, Provision, Wait
from .marks import stands
from .placement import Nowhere, Placed, Wish


def maker(view: ClaimView, want: Demand) -> Maker | Wait:
    """Who makes a device for the claim, or why nobody does, wherever there is room."""
    name, gpu_class = view.class_name, view.gpu_class
    if name is None:
        missing = f"it names no class and none is the default; {_known(view)}"
        return Wait("NoClass", missing, event="Normal")
    if name == "":
        none = Nowhere("no ElasticGPU without a class fits it; none is made for class ''")
        return Wait("NoDevice", none.said(hint(view, want)), event="Normal")
    if gpu_class is None:
        return Wait("UnknownClass", f"there is no ElasticGPUClass {name}; {_known(view)}")
    if view.misfit:
        wrong = f"class {name} cannot serve: {view.misfit}; classes are fixed: make another one"
        return Wait("BadParameters", wrong)
    if view.placer is None:
        return Wait(
            "NoProvisioner",
            f"class {name} wants provisioner {gpu_class.spec.provisioner}, which is not installed; "
            f"installed: {', '.join(view.provisioners) or 'none'}",
        )
    if view.refusal is not None and stands(view.refusal, view.claim, gpu_class):
        effect = EFFECTS[view.refusal.answer.kind]
        words = view.refusal.answer.words
        return Wait(effect.reason, words, "Warning" if effect.warn else None)
    return Maker(gpu_class, view.placer)


def provision(view: ClaimView, want: Demand) -> Decision:
    """Have a device made where there is room, or wait, and for what."""
    match maker(view, want):
        case Maker(gpu_class, placer):
            found = placement.place(wish(view, want), placer, view.fleet)
            if isinstance(found, Placed):
                return Provision(gpu_class, want, found.node, found.place)
            return Wait("NoCapacity", found.said(hint(view, want)))
        case why:
            return why


def wish(view: ClaimView, want: Demand) -> Wish:
    """What the claim asks of placement."""
    order = view.gpu_class.spec.placement if view.gpu_class else Placement()
    by_mig = view.placer is not None and view.placer.mig
    return Wish(want, view.claim.spec.gpu_selector, order, by_mig)


def offered(view: ClaimView, want: Demand) -> offering.Offer | None:
    """What giving back Released devices would do for the claim; None if nothing."""
    asked = wish(view, want)
    return offering.offer(
        view.claim, view.class_name or "", asked, view.released(), view.placer, view.fleet
    )


def hint(view: ClaimView, want: Demand) -> str:
    """The same in a sentence; empty if there is nothing to say."""
    found = offered(view, want)
    return found.sentence if found else ""


def _known(view: ClaimView) -> str:
    names, more = ", ".join(view.classes[:8]), len(view.classes) - 8
    rest = f" and {more} more" if more > 0 else ""
    return f"known classes: {names}{rest}" if names else "there are no classes: create one"
