"""What admins do in a life: devices, cards and classes."""

from __future__ import annotations

from hypothesis import strategies as st
from hypothesis.stateful import rule

from .drawn import CLAIM, CLASS, CORE, NTH, PAUSE
from .stage import Stage
from .town import DEVICES, OURS

GPUS = "elasticgpu.io/gpus"


class Admins(Stage):
    """Those to whom the cluster belongs."""

    @rule(
        name=st.sampled_from(["d0", "d1", "d2"]),
        nth=NTH,
        core=CORE,
        of=st.one_of(CLASS, st.just("")),
        reserved=st.one_of(st.just(""), CLAIM),
        pause=PAUSE,
    )
    def device(self, name: str, nth: int, core: int, of: str, reserved: str, pause: float) -> None:
        cards = self.town.read(f"{OURS}/gpus")
        if cards:
            work = self.people.device(name, cards[nth % len(cards)], core, of, reserved)
            self.go(work, pause)

    @rule(nth=NTH, pause=PAUSE)
    def clear_claim_ref(self, nth: int, pause: float) -> None:
        self.go(self.people.clear(self.nth(DEVICES, nth)), pause)

    @rule(nth=NTH, pause=PAUSE)
    def delete_device(self, nth: int, pause: float) -> None:
        self.go(self.people.delete(f"{OURS}/elasticgpus/{self.nth(DEVICES, nth)}"), pause)

    @rule(nth=NTH, closed=st.booleans(), pause=PAUSE)
    def close_card(self, nth: int, closed: bool, pause: float) -> None:
        path = f"{OURS}/gpus/{self.nth(GPUS, nth)}"
        self.go(self.people.ask("PATCH", path, {"spec": {"unschedulable": closed}}), pause)

    @rule(name=CLASS, pause=PAUSE)
    def default_class(self, name: str, pause: float) -> None:
        self.go(self.people.flip_default(name), pause)

    @rule(name=CLASS, pause=PAUSE)
    def make_class_anew(self, name: str, pause: float) -> None:
        self.go(self.people.delete(f"{OURS}/elasticgpuclasses/{name}"), pause)
        self.go(self.people.make_class(name))
