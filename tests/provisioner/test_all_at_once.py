"""All installed backends on one ledger: whatever happens in whatever order, the sums are right.

What a card may give is added up here from the devices alone, MIG by the memory slices of the
card's table, and shares no code with the ledger.
"""

from __future__ import annotations

from collections import Counter
from contextlib import suppress
from typing import Any

from hypothesis import Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from elasticgpu.agent.fleet import Fleet
from elasticgpu.api.claim import ElasticGPUClaim
from elasticgpu.api.elasticgpu import CardSlice, ElasticGPU
from elasticgpu.api.gpu import GPU
from elasticgpu.api.gpuclass import ElasticGPUClass
from elasticgpu.api.vocabulary import demand
from elasticgpu.errors import Refused
from elasticgpu.provisioner import Provisioner, Request, discover
from elasticgpu.rules.fleet import Ranking
from elasticgpu.rules.ledger import OVERCOMMITTED, Ledger
from elasticgpu.rules.placement import Placed, Wish, place
from elasticgpu.rules.reclaiming import in_phase
from elasticgpu.rules.requests import build

PLUGINS = discover()
PARAMETERS: dict[str, list[dict[str, str]]] = {
    "elasticgpu.io/mps": [{}, {"replicas": "3"}, {"replicas": "4"}],
    "elasticgpu.io/vcuda": [{}, {"deviceSplitCount": "2"}],
    "elasticgpu.io/remote": [
        {"servers": "far-1,far-2", "memory": "16Gi"},
        {"servers": "far-2,far-3:1", "memory": "16Gi"},
    ],
}
POOL = {
    card.name: card
    for written in PARAMETERS["elasticgpu.io/remote"]
    for card in PLUGINS["elasticgpu.io/remote"].tuned(written).pool() or ()
}
"""The cards outside the cluster, one of which two classes share."""
FLEET = Fleet.model_validate(
    {"nodes": {"node-a": ["H200", "A100-40GB", "A30"], "node-b": ["A10", "RTX-4090", "T4"]}}
)
CARDS = [card for node in FLEET.nodes for card in FLEET.cards(node)]
REQUESTS: list[dict[str, int | str]] = [
    {"elasticgpu.io/gpu": 1},
    {"elasticgpu.io/gpu": 2},
    {"elasticgpu.io/gpu-core": 30, "elasticgpu.io/gpu-memory": "3Gi"},
    {"elasticgpu.io/gpu-core": 55},
    {"elasticgpu.io/gpu-memory": "11Gi"},
    {"elasticgpu.io/gpu-memory-percentage": 40},
    {"elasticgpu.io/gpu-memory": "8Gi", "elasticgpu.io/gpu-count": 2},
    {"elasticgpu.io/tflops": 60},
    {"elasticgpu.io/mig-1g.18gb": 1},
    {"elasticgpu.io/mig-3g.71gb": 1},
    {"elasticgpu.io/mig-2g.10gb": 1},
    {"elasticgpu.io/mig-1g.6gb": 1},
    {"nvidia.com/gpu.shared": 1},
]


def placed(
    plugin: Provisioner, requests: dict[str, int | str], ledger: Ledger, of: ElasticGPUClass
) -> Placed | None:
    """Where the backend puts it; None if nowhere."""
    with suppress(Refused):
        wish = Wish(demand(requests), None, of.spec.placement, plugin.mig)
        pool = plugin.pool()
        found = place(wish, plugin, ledger if pool is None else Ranking((ledger.pool(pool),)))
        return found if isinstance(found, Placed) else None
    return None


def class_of(driver: str, written: dict[str, str], order: str = "binpack") -> ElasticGPUClass:
    spec = {"provisioner": driver, "parameters": written, "placement": {"card": order}}
    return ElasticGPUClass.model_validate({"metadata": {"name": "class"}, "spec": spec})


SERVED = {
    driver: [
        requests
        for requests in REQUESTS
        for written in PARAMETERS.get(driver, [{}])
        if placed(plugin.tuned(written), requests, Ledger(CARDS), class_of(driver, written))
    ]
    for driver, plugin in PLUGINS.items()
}
"""What each backend has room for on empty cards: else those that serve little are hardly drawn."""
ALL = {card.name: card for card in CARDS} | POOL
NOW = "2026-01-01T00:00:00Z"
PHASES = [Phase.explicit, Phase.reuse, Phase.generate]
"""A failing history is told as it came: to shrink it takes minutes."""
seen: Counter[str] = Counter()
"""How often each backend was given a place, in all examples together."""


class AllAtOnce(RuleBasedStateMachine):
    """Devices of every backend come and go on six cards of two nodes."""

    def __init__(self) -> None:
        super().__init__()
        self.cards = {card.name: card for card in CARDS}
        self.devices: dict[str, ElasticGPU] = {}
        self.ledger = Ledger(CARDS)
        self.made = 0

    @initialize(modes=st.lists(st.sets(st.sampled_from(sorted(PLUGINS))), max_size=2))
    def admin(self, modes: list[set[str]]) -> None:
        """Some cards are for some backends only, from the beginning."""
        for card, allowed in zip(CARDS, modes, strict=False):
            self._card(card.but(spec=card.spec.but(modes=sorted(allowed))))

    def _card(self, card: GPU) -> None:
        self.cards[card.name] = card
        self.ledger.set_card(card)

    def _put(self, device: ElasticGPU) -> None:
        self.devices[device.name] = device
        self.ledger.set_device(device)

    @rule(
        driver=st.sampled_from(sorted(driver for driver in SERVED if SERVED[driver])),
        order=st.sampled_from(["binpack", "spread", "topology"]),
        data=st.data(),
    )
    def create(self, driver: str, order: str, data: st.DataObject) -> None:
        """A claim comes, and a device is made where its backend says, if there is room."""
        requests = data.draw(st.sampled_from(SERVED[driver]))
        written = data.draw(st.sampled_from(PARAMETERS.get(driver, [{}])))
        of = class_of(driver, written, order)
        found = placed(PLUGINS[driver].tuned(written), requests, self.ledger, of)
        if found is not None:
            seen[driver] += 1
            self._make(of, requests, found)

    def _make(self, of: ElasticGPUClass, requests: dict[str, int | str], found: Placed) -> None:
        self.made += 1
        meta = {"name": "claim", "namespace": "team", "uid": f"uid-{self.made}"}
        claim = ElasticGPUClaim.model_validate({"metadata": meta, "spec": {}})
        want = demand(requests)
        node = "" if PLUGINS[of.spec.provisioner].tuned(of.spec.parameters).pool() else found.node
        request = Request(claim=claim, gpu_class=of, want=want, node=node, place=found.place)
        device = build(of.spec.provisioner, request)
        assert self.ledger.lacks(device, POOL.values()) is None, "the ledger has no room for it"
        self._put(device)

    def _some(self, data: st.DataObject) -> ElasticGPU:
        return self.devices[data.draw(st.sampled_from(sorted(self.devices)))]

    @precondition(lambda self: self.devices)
    @rule(data=st.data(), phase=st.sampled_from(["Available", "Bound", "Released"]))
    def live(self, data: st.DataObject, phase: Any) -> None:
        """It is bound or released; one that lost its room stays so."""
        device = self._some(data)
        if device.status.phase != "Failed":
            self._put(in_phase(device, phase, now=NOW))

    @precondition(lambda self: self.devices)
    @rule(data=st.data(), reason=st.sampled_from([OVERCOMMITTED, "NodeLost", "ReleaseFailed"]))
    def fail(self, data: st.DataObject, reason: str) -> None:
        """It fails. One that never got its room stays so: nothing ever gives it another reason."""
        device = self._some(data)
        if device.status.reason != OVERCOMMITTED:
            self._put(in_phase(device, "Failed", now=NOW, reason=reason, message="so"))

    @precondition(lambda self: self.devices)
    @rule(data=st.data())
    def delete(self, data: st.DataObject) -> None:
        """Its object is gone."""
        name = self._some(data).name
        del self.devices[name]
        self.ledger.drop_device(name)

    @rule(card=st.sampled_from(CARDS), back=st.booleans())
    def lose(self, card: GPU, back: bool) -> None:
        """A card's object goes, with its node, and perhaps comes back."""
        if back or card.name not in self.cards:
            self._card(self.cards.get(card.name, card))
        else:
            del self.cards[card.name]
            self.ledger.drop_card(card.name)

    @rule(node=st.sampled_from(sorted(FLEET.nodes)), why=st.sampled_from([None, "is cordoned"]))
    def close(self, node: str, why: str | None) -> None:
        """A node takes nothing new, or does again."""
        self.ledger.set_node(node, why)

    @rule(card=st.sampled_from(CARDS), shut=st.booleans(), health=st.sampled_from(["Healthy", "X"]))
    def change(self, card: GPU, shut: bool, health: Any) -> None:
        """The admin takes a card out of use, or it falls ill."""
        now = self.cards.get(card.name)
        if now is not None:
            told = now.status.but(health="Unhealthy" if health == "X" else health)
            self._card(now.but(spec=now.spec.but(unschedulable=shut), status=told))

    @rule(card=st.sampled_from(CARDS), modes=st.sets(st.sampled_from(sorted(PLUGINS)), max_size=2))
    def allow(self, card: GPU, modes: set[str]) -> None:
        """The admin says which backends may have a card, whatever lies on it."""
        now = self.cards.get(card.name)
        if now is not None:
            self._card(now.but(spec=now.spec.but(modes=sorted(modes))))

    @rule(card=st.sampled_from([card for card in CARDS if card.status.mig]), on=st.booleans())
    def flip(self, card: GPU, on: bool) -> None:
        """A card's MIG mode is another one after a reset."""
        now = self.cards.get(card.name)
        if now is not None:
            self._card(now.but(status=now.status.but(mig_mode="Enabled" if on else "Disabled")))

    @invariant()
    def nothing_is_oversold(self) -> None:
        for name, rows in self._by_card().items():
            assert sum(part.core for part in rows) <= 100, name
            card = ALL[name]
            assert sum(part.memory_bytes for part in rows) <= card.memory, name
            table = {row.name: row for row in card.status.mig}
            slices = [
                n
                for part in rows
                if part.mig_profile
                for n in range(part.mig_start, part.mig_start + table[part.mig_profile].slices)
            ]
            assert len(slices) == len(set(slices)), name
            assert all(bool(part.mig_profile) == bool(slices) for part in rows), name

    @invariant()
    def what_is_free_is_what_is_left(self) -> None:
        rows = self._by_card()
        for name, card in self.cards.items():
            view = self.ledger.card(name)
            assert view is not None
            held = rows.get(name, [])
            assert view.core_free == 100 - sum(part.core for part in held)
            assert view.memory_free == card.memory - sum(part.memory_bytes for part in held)

    @invariant()
    def a_card_has_one_mode(self) -> None:
        drivers: dict[str, set[str]] = {}
        for device in self._holding():
            for part in device.spec.source.devices:
                drivers.setdefault(part.gpu, set()).add(device.spec.source.driver)
        assert all(len(found) == 1 for found in drivers.values()), drivers

    @invariant()
    def a_fresh_list_tells_the_same(self) -> None:
        fresh = Ledger(self.cards.values(), self.devices.values())
        for name in self.cards:
            ours, theirs = self.ledger.card(name), fresh.card(name)
            assert ours is not None
            assert theirs is not None
            assert (ours.core_free, ours.memory_free, ours.mode) == (
                theirs.core_free,
                theirs.memory_free,
                theirs.mode,
            )
            assert sorted(r.device for r in ours.held) == sorted(r.device for r in theirs.held)

    def _holding(self) -> list[ElasticGPU]:
        return [one for one in self.devices.values() if one.status.reason != OVERCOMMITTED]

    def _by_card(self) -> dict[str, list[CardSlice]]:
        rows: dict[str, list[CardSlice]] = {}
        for device in self._holding():
            for part in device.spec.source.devices:
                rows.setdefault(part.gpu, []).append(part)
        return rows


def test_all_backends_on_one_ledger() -> None:
    """Create, bind, release, fail, node loss, mode change, replay, in any order."""
    seen.clear()
    run_state_machine_as_test(
        AllAtOnce,
        settings=settings(max_examples=40, stateful_step_count=40, deadline=None, phases=PHASES),
    )
    # Which backends a run draws is chance: that each has room on empty cards is not.
    assert all(SERVED.values())
    assert seen
