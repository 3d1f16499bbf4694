"""The tables of phases: the rules keep to them in whatever order, and every arrow is in use."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, rule

from elasticgpu.api.claim import ClaimUser, ElasticGPUClaim
from elasticgpu.api.elasticgpu import ElasticGPU
from elasticgpu.api.names import DEVICE_PROTECTION, PROVISIONED_BY, device_name
from elasticgpu.rules import binding, reclaiming, releasing, transaction
from elasticgpu.rules.answers import Answer, Kind
from elasticgpu.rules.decisions import Bind, Lost, Provision, Unbind, Wait
from elasticgpu.rules.ledger import OVERCOMMITTED
from elasticgpu.rules.lifecycle import CLAIM, DEVICE, START, Arrow, allowed, picture
from elasticgpu.rules.reclaiming import DeviceView, in_phase
from elasticgpu.rules.transaction import NODE_LOST, WITHDRAWN

from .build import DRIVER, NOW, Share, claim, device, gpu_class, ref, seen
from .test_placement import node as roomy

DESIGN = Path(__file__).parents[2] / "DESIGN.md"
CLAIMS, MADE = st.sampled_from(("a", "b")), st.sampled_from(("egpu-x", "egpu-y"))
WHICH = st.integers(0, 2)


class Lives(RuleBasedStateMachine):
    """Two claims and the devices they meet. Every step is one write, so that between two writes of
    a process everybody else may do anything."""

    def __init__(self) -> None:
        super().__init__()
        self.claims: dict[str, ElasticGPUClaim] = {}
        self.devices: dict[str, ElasticGPU] = {}
        self.lost = self.full = False
        self.asked = 0
        self.walked: Arrow | None = None

    def write(self, new: ElasticGPU) -> None:
        self.step(DEVICE, self.devices.get(new.name), new)
        self.devices[new.name] = new
        if new.terminating and not new.metadata.finalizers:
            del self.devices[new.name]

    def tell(self, new: ElasticGPUClaim) -> None:
        self.step(CLAIM, self.claims.get(new.name), new)
        self.claims[new.name] = new

    def step(
        self,
        table: tuple[Arrow, ...],
        old: ElasticGPU | ElasticGPUClaim | None,
        new: ElasticGPU | ElasticGPUClaim,
    ) -> None:
        before, after = (old.status.phase if old else "") or START, new.status.phase or START
        assert allowed(table, before, after), f"{new.name}: {before} -> {after}"
        self.walked = next((a for a in table if (a.before, a.after) == (before, after)), None)

    @rule(name=CLAIMS)
    def bind(self, name: str = "a") -> None:
        """The binder's next write."""
        one = self.claims.get(name)
        if one is None:
            return
        nodes = () if self.lost or self.full else (roomy("node-a", 100),)
        view = seen(one, *self.devices.values(), gpu_class=gpu_class(), placer=Share(), nodes=nodes)
        match binding.decide(view):
            case Bind(found):
                self.bind_on(one, found)
            case Provision() if device_name(one.uid) not in self.devices:
                made = {"phase": "", "annotations": {PROVISIONED_BY: DRIVER}}
                new = device(device_name(one.uid), of=ref(one), **made)  # type: ignore[arg-type] # as it says
                self.write(new.with_finalizers(DEVICE_PROTECTION))
            case Unbind(found):
                waiting = transaction.unbound(one, found, now=NOW)
                self.tell(waiting if waiting != one else transaction.nameless(one))
            case Wait() | Lost() as why:
                self.tell(binding.unserved(one, why, "gold", now=NOW))
            case _:
                pass

    def bind_on(self, one: ElasticGPUClaim, found: ElasticGPU) -> None:
        for new in (transaction.owned(found, one), transaction.device_bound(found, now=NOW)):
            if new != found:
                return self.write(new)
        pointing = transaction.pointing(one, found)
        bound = transaction.claim_bound(one, found, now=NOW)
        return self.tell(pointing if pointing != one else bound)

    @rule(which=WHICH, kind=st.sampled_from(Kind))
    def reclaim(self, which: int = 0, kind: Kind = Kind.DONE) -> None:
        """The reclaimer's next write; a provisioner that is to release it answers so."""
        if (found := self.device(which)) is None:
            return
        match reclaiming.decide(self.view(found)):
            case reclaiming.Admit():
                self.write(in_phase(found, "Available", now=NOW))
            case reclaiming.Deny(said):
                self.write(in_phase(found, "Failed", now=NOW, reason=OVERCOMMITTED, message=said))
            case reclaiming.Lose(said):
                self.write(in_phase(found, "Failed", now=NOW, reason=NODE_LOST, message=said))
            case reclaiming.Recover():
                self.write(transaction.device_bound(found, now=NOW))
            case reclaiming.Release():
                self.write(in_phase(found, "Released", now=NOW))
            case reclaiming.RollBack():
                self.write(reclaiming.rolled_back(found))
            case reclaiming.Delete() if kind is not Kind.DONE:
                phase, reason, said = releasing.unreleased(found, Answer(kind, "not now"))
                self.write(in_phase(found, phase, now=NOW, reason=reason, message=said))
            case reclaiming.Delete():
                self.write(found.with_metadata(deletion_timestamp=NOW, finalizers=[]))
            case reclaiming.Unprotect():
                self.write(found.without_finalizers(DEVICE_PROTECTION))
            case reclaiming.Keep() | reclaiming.InUse():
                pass

    def device(self, which: int) -> ElasticGPU | None:
        names = sorted(self.devices)
        return self.devices[names[which]] if which < len(names) else None

    def view(self, found: ElasticGPU) -> DeviceView:
        of = found.spec.claim_ref
        bound = [c for c in self.claims.values() if c.spec.elastic_gpu_name == found.name]
        cut = of is None and found.status.phase == "Bound"
        return DeviceView(
            found,
            claim=self.claims.get(of.name) if of else None,
            named_by=next((c for c in bound if cut and c.status.phase == "Bound"), None),
            lacks="the card is full" if self.full else None,
            lost="node node-a is gone" if self.lost else None,
        )

    @rule(name=CLAIMS)
    def ask(self, name: str = "a") -> None:
        if name not in self.claims:
            self.asked += 1
            self.tell(claim(name).with_metadata(uid=f"uid-{name}-{self.asked}"))

    @rule(name=CLAIMS)
    def drop(self, name: str = "a") -> None:
        if name in self.claims and not self.claims[name].status.users:
            del self.claims[name]

    @rule(name=CLAIMS, there=st.booleans())
    def use(self, name: str = "a", there: bool = True) -> None:
        if name in self.claims and self.claims[name].status.phase in ("Bound", "Lost"):
            self.tell(self.claims[name].with_users([ClaimUser(pod_uid="u")] if there else []))

    @rule(name=MADE, reserved=st.none() | CLAIMS)
    def make(self, name: str = "egpu-x", reserved: str | None = None) -> None:
        if name not in self.devices:
            of = ref(claim(reserved), uid="") if reserved else None
            self.write(device(name, phase="", of=of))

    @rule(which=WHICH)
    def recycle(self, which: int = 0) -> None:
        if found := self.device(which):
            self.write(found.but(spec=found.spec.but(claim_ref=None)))

    @rule(which=WHICH)
    def delete(self, which: int = 0) -> None:
        if found := self.device(which):
            self.write(found.with_metadata(deletion_timestamp=NOW))

    @rule(which=WHICH)
    def remove(self, which: int = 0) -> None:
        if found := self.device(which):
            del self.devices[found.name]

    @rule(which=WHICH)
    def prepare(self, which: int = 0) -> None:
        if found := self.device(which):
            self.write(found.with_status(prepared_for=["u"]))

    @rule(which=WHICH, how=st.sampled_from((OVERCOMMITTED, WITHDRAWN)))
    def give_up(self, which: int = 0, how: str = OVERCOMMITTED) -> None:
        found = self.device(which)
        if found is not None and found.status.phase == "Bound":
            phase = "Failed" if how == OVERCOMMITTED else "Released"
            self.write(in_phase(found, phase, now=NOW, reason=how, message=how))  # type: ignore[arg-type] # a phase

    @rule(lost=st.booleans(), full=st.booleans())
    def turn(self, lost: bool = False, full: bool = False) -> None:
        self.lost, self.full = lost, full


Lives.TestCase.settings = settings(max_examples=60, stateful_step_count=50, deadline=None)
TestLives = Lives.TestCase
"""No order of writes, faults and interferences leaves the tables."""

WORDS: dict[str, Callable[[Lives], None]] = {
    "refuse": lambda all: all.reclaim(kind=Kind.REFUSED),
    "leave": lambda all: all.use(there=False),
    "overcommit": lambda all: all.give_up(),
    "lose": lambda all: all.turn(lost=True),
    "fill": lambda all: all.turn(full=True),
    "mend": lambda all: all.turn(),
}
BOUND = "make reclaim ask bind bind bind bind"
WALKS: dict[str, str] = {
    "device Pending Available": "make reclaim",
    "device Pending Bound": "ask bind bind",
    "device Pending Released": "ask bind drop reclaim",
    "device Pending Failed": "fill make reclaim",
    "device Available Bound": "make reclaim ask bind bind",
    "device Available Released": "make reclaim ask bind drop reclaim",
    "device Available Failed": "make reclaim lose reclaim",
    "device Bound Released": f"{BOUND} drop reclaim",
    "device Bound Available": "make reclaim ask bind bind recycle reclaim",
    "device Bound Failed": f"{BOUND} overcommit",
    "device Released Available": f"{BOUND} drop reclaim recycle reclaim",
    "device Released Failed": f"{BOUND} drop reclaim refuse",
    "device Failed Available": "fill make reclaim mend reclaim",
    "device Failed Bound": f"{BOUND} lose reclaim mend reclaim",
    "claim Pending Bound": BOUND,
    "claim Pending Lost": "make reclaim ask bind bind bind prepare overcommit bind",
    "claim Bound Lost": f"{BOUND} remove bind",
    "claim Bound Pending": f"{BOUND} overcommit bind",
    "claim Lost Bound": f"{BOUND} remove bind make reclaim bind bind bind",
    "claim Lost Pending": f"{BOUND} use overcommit bind leave bind",
}


@pytest.mark.parametrize("walk", WALKS)
def test_every_arrow_is_walked(walk: str) -> None:
    """Each arrow of the tables is the last step of some way through the rules."""
    lives = Lives()
    for word in WALKS[walk].split():
        WORDS.get(word, lambda all, word=word: getattr(all, word)())(lives)
    _, before, after = walk.split()
    assert lives.walked is not None
    assert (lives.walked.before, lives.walked.after) == (before, after)


def test_no_arrow_without_a_walk() -> None:
    """The tables hold those arrows and no others, each with its reason."""
    kinds = {"device": DEVICE, "claim": CLAIM}
    drawn = {f"{kind} {a.before} {a.after}" for kind, table in kinds.items() for a in table}
    assert drawn == set(WALKS)
    assert all(arrow.why for table in kinds.values() for arrow in table)


@pytest.mark.parametrize("table", [DEVICE, CLAIM], ids=["device", "claim"])
def test_the_picture_is_in_the_design(table: tuple[Arrow, ...]) -> None:
    """DESIGN.md shows the tables as they are."""
    assert f"```mermaid\n{picture(table)}\n```" in DESIGN.read_text()
