"""What the suite is told of a plugin, and the made-up cluster in which it tries it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from fnmatch import fnmatch
from functools import cache
from typing import ClassVar

from elasticgpu.agent.fleet import Fleet, Links, Row
from elasticgpu.api.claim import ClaimSpec, ElasticGPUClaim
from elasticgpu.api.gpu import GPU
from elasticgpu.api.gpuclass import ClassSpec, ElasticGPUClass
from elasticgpu.api.meta import ObjectMeta
from elasticgpu.errors import Refused
from elasticgpu.host import ContainerEdits, Host
from elasticgpu.provisioner import Demand, ElasticGPU, NodeView, Provisioner, Request, Slice
from elasticgpu.rules.ledger import Ledger
from elasticgpu.rules.placement import Wish, candidates
from elasticgpu.testing.host import FakeNode

from .demands import Want, common, read
from .standing import Standing
from .watching import insist

NODE = "node-a"


@cache
def four_cards() -> tuple[GPU, ...]:
    """A node's worth of cards, if a subclass names no others."""
    row = Row(model="H200", count=4, links=Links(kind="NVLink", bandwidth=50_000))
    return tuple(Fleet(nodes={NODE: [row]}).cards(NODE))


class Setting:
    """What a subclass says: its `plugin`, and of the rest what the defaults do not suit."""

    plugin: ClassVar[type[Provisioner]]
    """The plugin that is tried."""

    parameters: ClassVar[Mapping[str, str]] = {}
    """Parameters of the class that is tried, as a manifest writes them."""

    bad_parameters: ClassVar[Sequence[tuple[Mapping[str, str], str]]] = ()
    """Parameters that must be refused, each with the name of the field that is at fault."""

    cards: ClassVar[Sequence[GPU]] = ()
    """The cards of the node, all of `spec.nodeName` `node-a`; empty: four simulated H200."""

    serves: ClassVar[Sequence[Want]] = ()
    """Demands that an empty node serves; empty: those of `demands.common` that it does serve."""

    refuses: ClassVar[Sequence[Want]] = ()
    """Demands that are refused whatever is free, beside those of `demands.common`."""

    bounded: ClassVar[bool] = True
    """False if devices hold nothing of the node's cards, so that a node is never full."""

    renews: ClassVar[tuple[str, ...]] = ()
    """Shell patterns of variables that have another value each time a device is made anew."""

    stays: ClassVar[tuple[str, ...]] = ()
    """Shell patterns of files that may stay on the node when no device is there any more."""

    def node(self) -> FakeNode:
        """A node as it is before the plugin was ever there: override it to add `programs`."""
        return FakeNode.of(deepcopy(self.cards or four_cards()), NODE)

    def make(self, node: FakeNode) -> Provisioner:
        """The plugin as a process has it that has just started; `node` is yours."""
        return self.plugin()

    def remains(self, node: FakeNode) -> object:
        """What else must be as it was when all is undone: override it if your programs keep
        something, or there is something outside the cluster. Compared by ==, shown by repr."""
        return None

    def world(self) -> World:
        """A node and a cluster of their own for one trial."""
        return World(self, self.node())

    def served(self) -> list[Demand]:
        """The demands to try: what the subclass says, or what an empty node serves."""
        if self.serves:
            return [read(want) for want in self.serves]
        world = self.world()
        return [want for want in common(world.cards) if isinstance(world.try_place(want), Slice)]

    def few(self) -> list[Demand]:
        """Those to try at every point at which a call may end: of the common ones, the first for
        each number of cards; all that the subclass names."""
        if self.serves:
            return self.served()
        by_cards: dict[int, Demand] = {}
        for want in self.served():
            by_cards.setdefault(max(want.gpus, want.count), want)
        return list(by_cards.values())

    def devices(self) -> Iterator[tuple[World, ElasticGPU]]:
        """For each demand that is served, a device on a node of its own."""
        for want in self.served():
            world = self.world()
            yield world, world.device(want)


@dataclass
class World:
    """One node, what is placed on it, and the plugin as controller and agent have it; or, of a
    plugin that has cards outside the cluster, those."""

    setting: Setting
    node: FakeNode

    def __post_init__(self) -> None:
        self.plugin = self.started()
        self.pool = self.plugin.pool()
        self.cards = list(self.node.cards.values() if self.pool is None else self.pool)
        self.ledger = Ledger(self.cards)
        self.made = 0

    @property
    def name(self) -> str:
        """The node that its devices are on; empty: none."""
        return NODE if self.pool is None else ""

    def started(self) -> Provisioner:
        """The plugin of a process that has just started, with the parameters of the class."""
        return self.setting.make(self.node).tuned(self.setting.parameters)

    def view(self) -> NodeView:
        """What `place` gets of the node."""
        return candidates(
            Wish(Demand(), mig=self.plugin.mig), self.plugin.name, self.ledger.node(self.name)
        )

    def try_place(self, want: Demand) -> Slice | Refused | None:
        """What `place` says of this demand now; any other exception is a broken rule."""
        try:
            return self.plugin.place(want, self.view())
        except Refused as error:
            return error
        except Exception as error:
            raise AssertionError(
                "place answers a Slice or None, or raises Refused with the reason: "
                f"asked for {want} it raised {error!r}"
            ) from error

    def request(self, want: Demand, place: Slice) -> Request:
        """The next request for a device, as the controller makes it."""
        self.made += 1
        meta = ObjectMeta(namespace="team", name=f"claim-{self.made}", uid=f"{self.made:08x}")
        spec = ClassSpec(provisioner=self.plugin.name, parameters=dict(self.setting.parameters))
        return Request(
            claim=ElasticGPUClaim(metadata=meta, spec=ClaimSpec()),
            gpu_class=ElasticGPUClass(metadata=ObjectMeta(name="a-class"), spec=spec),
            want=want,
            node=self.name,
            place=place,
        )

    def wanted(self, want: Demand) -> Request:
        """A request for what must have room now. Raises AssertionError if it has none."""
        found = self.try_place(want)
        assert isinstance(found, Slice), (
            f"What is said to be served is served: asked for {want}, place answered {found!r}"
        )
        return self.request(want, found)

    def device(self, want: Demand) -> ElasticGPU:
        """A device of this demand, bound and counted in the ledger."""
        request = self.wanted(want)
        made = insist(lambda: self.plugin.provision(request))
        device = made.with_metadata(uid=f"uid-{made.name}").with_status(phase="Bound")
        self.ledger.set_device(device)
        return device

    def host(self, tag: str = "0") -> Host:
        """The node as the plugin sees it, for a pod's entry of this tag."""
        return self.node.host(self.plugin.name, tag)

    def prepare(self, device: ElasticGPU, tag: str = "0") -> ContainerEdits:
        """What the plugin answers for this device. Raises AssertionError if it refuses it."""
        answer = self.try_prepare(device, tag)
        assert not isinstance(answer, Refused), (
            f"What place gave can be prepared: prepare refused {device.name}: {answer.reason}; "
            "what the node must have, override `node` to give it"
        )
        return answer

    def try_prepare(self, device: ElasticGPU, tag: str = "0") -> ContainerEdits | Refused:
        """What the plugin answers for this device, however often it has to be asked."""
        try:
            return insist(lambda: self.plugin.prepare(device, self.host(tag)))
        except Refused as error:
            return error

    def lasting(self, edits: ContainerEdits) -> ContainerEdits:
        """The edits without the values that are others when the device is made anew."""
        patterns = self.setting.renews
        names = [name for name, _, _ in (line.partition("=") for line in edits.env)]
        new = {name for name in names if any(fnmatch(name, pattern) for pattern in patterns)}
        return edits.but(env=[n if n in new else v for n, v in zip(names, edits.env, strict=True)])

    def unprepare(self, device: ElasticGPU, tag: str = "0", what: str = "of a device") -> None:
        """Have the plugin undo it, as often as it likes. Raises AssertionError if it fails."""
        try:
            insist(lambda: self.plugin.unprepare(device, self.host(tag)))
        except Exception as error:
            raise AssertionError(
                "unprepare succeeds, also twice, for what never was, and for what is half made: "
                f"{what} it raised {error!r}"
            ) from error

    def resize(self, device: ElasticGPU) -> None:
        """Have the plugin let its pods have this size. Raises AssertionError if it refuses."""
        answer = self.try_resize(device)
        assert answer is None, (
            f"A plugin that says `grows` resizes: it refused {device.name}: {answer.reason}"
        )

    def try_resize(self, device: ElasticGPU) -> Refused | None:
        """What the plugin answers, however often it has to be asked."""
        try:
            insist(lambda: self.plugin.resize(device, self.host()))
        except Refused as error:
            return error
        return None

    def standing(self) -> Standing:
        """How the node stands now, without what may stay."""
        return Standing.of(self.node, self.setting.remains(self.node)).without(self.setting.stays)
