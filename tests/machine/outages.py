"""What becomes of nodes in a life, and of the cards in them."""

from __future__ import annotations

import asyncio

from hypothesis import strategies as st
from hypothesis.stateful import precondition, rule

from .drawn import NODE, NTH, PAUSE
from .stage import Stage


class Outages(Stage):
    """Machines that fail and come back, and people who see to them."""

    @rule(name=NODE, yes=st.booleans(), pause=PAUSE)
    def cordon(self, name: str, yes: bool, pause: float) -> None:
        self.go(self.people.cordon(name, yes), pause)

    @rule(name=NODE, pause=PAUSE)
    def power_off(self, name: str, pause: float) -> None:
        self.go(self.people.off(name), pause)

    @rule(name=NODE, pause=PAUSE)
    def cut_off(self, name: str, pause: float) -> None:
        self.go(self.people.cut(name), pause)

    @rule(name=NODE, gone=st.booleans(), pause=PAUSE)
    def give_up(self, name: str, gone: bool, pause: float) -> None:
        if not self.town.nodes[name].running:
            work = self.people.drop_node if gone else self.people.out_of_service
            self.go(work(name), pause)

    @precondition(lambda self: any(not m.running or m.kubelet.cut for m in self.machines()))
    @rule(name=NODE, pause=PAUSE)
    def back(self, name: str, pause: float) -> None:
        self.go(self.people.back(name), pause)

    @rule(name=NODE, nth=NTH, what=st.sampled_from(["out", "ill", "well"]), pause=PAUSE)
    def card(self, name: str, nth: int, what: str, pause: float) -> None:
        cards = self.town.nodes[name].cards
        one = cards.all[nth % len(cards.all)].name
        cards.out.discard(one)
        cards.ill.discard(one)
        if what != "well":
            getattr(cards, what).add(one)
        self.go(asyncio.sleep(61), pause)
