"""Binding: numbers in the ids are the scenarios of Kubernetes' PersistentVolume tests."""

from __future__ import annotations

import pytest

from elasticgpu.api.elasticgpu import DevicePhase
from elasticgpu.api.vocabulary import CORE, MEMORY, Demand
from elasticgpu.errors import Refused
from elasticgpu.rules import binding
from elasticgpu.rules.answers import Answer, Kind
from elasticgpu.rules.decisions import Bind, ClaimView, Decision, Provision, Settled, Wait
from elasticgpu.rules.fleet import NodeView
from elasticgpu.rules.ledger import Slice
from elasticgpu.rules.marks import refusal
from tests.rules.build import Share, claim, device, gpu_class, ref, seen

from .completed import COMPLETED
from .dynamic import DYNAMIC
from .named import NAMED
from .static import STATIC
from .worlds import GOLD, LARGE, MINE, MY_NAME, OTHER, PENDING, SMALL, TRAIN


@pytest.mark.parametrize(("view", "want"), [*STATIC, *NAMED, *COMPLETED, *DYNAMIC])
def test_decision(view: ClaimView, want: Decision) -> None:
    """Each world leads to exactly this decision."""
    assert binding.decide(view) == want


@pytest.mark.parametrize("phase", ["", "Pending"])
def test_reserved_and_not_admitted_yet_is_waited_for(phase: str) -> None:
    """A device an admin reserved for this claim a moment ago: no other is taken or made."""
    mine = device(of=MY_NAME).with_status(phase=phase)
    assert binding.decide(seen(TRAIN, SMALL, mine, **GOLD)) == PENDING


@pytest.mark.parametrize("phase", ["Bound", "Released", "Failed"])
def test_reserved_and_not_to_be_had_is_passed_over(phase: DevicePhase) -> None:
    """A reservation that cannot become Available by itself keeps the claim from no other device."""
    assert binding.decide(seen(TRAIN, SMALL, device(of=MY_NAME, phase=phase))) == Bind(SMALL)


@pytest.mark.parametrize("taken", ["reserved", "owned"])
def test_38_one_device_and_a_hundred_claims(taken: str) -> None:
    """Of a hundred claims that name one device only the one it points at binds."""
    claims = [claim(f"claim-{n}", named="egpu-a") for n in range(100)]
    mine = ref(claims[42], uid="" if taken == "reserved" else None)
    bound = [
        c.name for c in claims if binding.decide(seen(c, device(of=mine))) == Bind(device(of=mine))
    ]
    assert bound == ["claim-42"]


INVALID: list[tuple[str, dict[str, int | str], str]] = [
    ("nothing", {}, "nothing is requested: name at least one resource, such as " + CORE),
    (
        "not-a-quantity",
        {CORE: "ten"},
        f"{CORE}: 'ten' is not a quantity: write a number such as 10, 4Gi or 3k",
    ),
    ("zero", {CORE: 0}, f"{CORE} is 0: ask for more than nothing"),
]


@pytest.mark.parametrize(("requests", "said"), [pytest.param(r, s, id=i) for i, r, s in INVALID])
@pytest.mark.parametrize("named", ["", "egpu-a"])
def test_invalid_request(requests: dict[str, int | str], said: str, named: str) -> None:
    """The sentence of the vocabulary is what the claim says, named device or not."""
    view = seen(claim(requests=requests, named=named), device(), **GOLD)
    assert binding.decide(view) == Wait("InvalidRequest", said)


def test_refused_by_the_provisioner() -> None:
    """What a provisioner refuses while it places is said in its own words."""

    class Picky(Share):
        def place(self, want: Demand, node: NodeView) -> Slice | None:
            raise Refused("only on Sundays")

    view = seen(TRAIN, **{**GOLD, "placer": Picky()})
    assert binding.decide(view) == Wait("Refused", "only on Sundays")


@pytest.mark.parametrize("capacity", [{CORE: "1500m"}, {MEMORY: "0.5"}])
def test_a_broken_device_harms_nobody(capacity: dict[str, int | str]) -> None:
    """A device whose capacity is no whole number is passed over, and the claim gets the next."""
    odd = device("egpu-0")
    odd = odd.but(spec=odd.spec.but(capacity={**odd.spec.capacity, **capacity}))
    assert binding.decide(seen(TRAIN, odd, LARGE)) == Bind(LARGE)


def test_terminating_claim_is_left_alone() -> None:
    """A claim that is being deleted and was not bound gets nothing, whatever there is."""
    for going in (claim(terminating=True), claim(terminating=True, named="egpu-a", completed=True)):
        for found in ([], [device()], [device(of=MINE)], [device(of=OTHER)]):
            assert binding.decide(seen(going, *found, **GOLD)) == Settled()


def test_in_progress_is_left_to_its_provisioner() -> None:
    """Nothing else is chosen meanwhile; its own device is bound once it is there."""
    own = device("egpu-uid", of=MINE)
    assert binding.decide(seen(TRAIN, SMALL, in_progress=True, **GOLD)) == Settled()
    assert binding.decide(seen(TRAIN, SMALL, own, in_progress=True, **GOLD)) == Bind(own)


@pytest.mark.parametrize(
    ("kind", "want"),
    [
        pytest.param(Kind.REFUSED, Wait("ProvisioningFailed", "no"), id="43-refused"),
        pytest.param(Kind.FOREIGN, Wait("NotOurs", "no", event=None), id="61-foreign"),
    ],
)
def test_what_a_provisioner_refused_stands(kind: Kind, want: Wait) -> None:
    """It is not asked again until claim or class change; what is there already is taken."""
    refused = refusal(Answer(kind, "no"), TRAIN, gpu_class())
    assert binding.decide(seen(TRAIN, refusal=refused, **GOLD)) == want
    assert binding.decide(seen(TRAIN, SMALL, refusal=refused, **GOLD)) == Bind(SMALL)
    edited = TRAIN.with_metadata(generation=2)
    assert isinstance(binding.decide(seen(edited, refusal=refused, **GOLD)), Provision)
