"""The company of a claim: what is decided about one of several, or about all of them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from elasticgpu.api.vocabulary import Demand
from elasticgpu.errors import Refused
from elasticgpu.rules import company
from elasticgpu.rules.company import CompanyDecision, GiveUp
from elasticgpu.rules.decisions import Bind, Settled, Wait
from elasticgpu.rules.fleet import NodeView
from elasticgpu.rules.ledger import Slice
from elasticgpu.rules.seeking import CompanyView, Place
from tests.rules.build import Share, claim, device, pod, ref

from .first import FIRST
from .members import EVAL, POD, TRAIN, TWO, bound, cards, locked, member, with_pods
from .together import PAIR, TOGETHER


@pytest.mark.parametrize(
    ("view", "want"), [pytest.param(row.view, row.want, id=row.id) for row in [*FIRST, *TOGETHER]]
)
def test_decision(view: CompanyView, want: CompanyDecision) -> None:
    """Each company leads to exactly this decision about its first claim."""
    assert _plain(company.decide(view)) == _plain(want)


def _plain(decision: CompanyDecision) -> object:
    """Views hold functions, which compare by identity: the claim says which part it is."""
    if isinstance(decision, Place):
        return (decision.node, [(one.view.claim.name, one.what) for one in decision.parts])
    return decision


def test_a_refusal_is_the_claims_own_word() -> None:
    """What a provisioner refuses while it places is said in its own words, and releases locks."""

    class Picky(Share):
        def place(self, want: Demand, node: NodeView) -> Slice | None:
            raise Refused("only on Sundays")

    picky = member(TRAIN, placer=Picky())
    assert company.decide(with_pods([picky], POD)) == Wait("Refused", "only on Sundays")
    view = with_pods([picky, member(EVAL, locked(EVAL))], PAIR)
    assert company.decide(view) == GiveUp((locked(EVAL),), "only on Sundays")


def test_what_a_person_reserved_is_not_given_up() -> None:
    """A lock that completes a person's reservation is no half of ours: it binds at once."""
    mine = device(of=ref(TRAIN), node="node-b")
    view = with_pods([member(TRAIN, mine), TWO], PAIR)
    assert company.decide(view) == Bind(mine)


@given(
    st.lists(st.sampled_from(["seeks", "locked", "bound"]), min_size=2, max_size=4),
    st.integers(0, 100),
    st.integers(0, 100),
    st.booleans(),
)
def test_no_bind_goes_on_while_another_seeks(
    standings: list[str], room_a: int, room_b: int, has_pod: bool
) -> None:
    """Whoever is asked first: a lock is gone on from only once all have theirs; while one seeks,
    either all that seek are placed beside the others, or the locks are given up."""
    names = [f"claim-{n}" for n in range(len(standings))]
    fleet = cards(a=room_a, b=room_b)
    members = [
        {
            "seeks": member(claim(name, core=30), nodes=fleet),
            "locked": member(claim(name), locked(claim(name)), nodes=fleet),
            "bound": bound(claim(name)),
        }[standing]
        for name, standing in zip(names, standings, strict=True)
    ]
    pods = [pod(claims=names)] if has_pod else []
    for n, standing in enumerate(standings):
        turned = [*members[n:], *members[:n]]
        found = company.decide(with_pods(turned, *pods))
        if standing == "bound":
            assert found == Settled()
        elif "seeks" not in standings:
            assert found == Bind(locked(claim(names[n])))
        elif isinstance(found, Place):
            placed = {one.view.claim.name for one in found.parts}
            assert has_pod
            assert placed == {m for m, s in zip(names, standings, strict=True) if s == "seeks"}
            assert found.node == "node-a" or set(standings) == {"seeks"}
            assert len(placed) * 30 <= {"node-a": room_a, "node-b": room_b}[found.node]
        elif "locked" in standings:
            assert isinstance(found, GiveUp)
            assert len(found.devices) == standings.count("locked")
        else:
            assert isinstance(found, Wait)
