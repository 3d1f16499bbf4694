"""MPS: which share of which card, the daemon of each card, and what a container gets."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest
import yaml
from elasticgpu_mps import MPS, MPSParameters, clients
from elasticgpu_whole import Whole

from elasticgpu.api.elasticgpu import DeviceSource, ElasticGPU, ElasticGPUSpec, ElasticGPUStatus
from elasticgpu.api.gpu import GPU, GPUSpec, GPUStatus, Link
from elasticgpu.api.gpuclass import ElasticGPUClass
from elasticgpu.api.meta import ObjectMeta
from elasticgpu.api.vocabulary import demand
from elasticgpu.errors import Refused, Retry
from elasticgpu.provisioner import (
    CardSlice,
    CardView,
    Demand,
    Finished,
    Held,
    Mount,
    NodeView,
    Provisioner,
    Slice,
    discover,
)
from elasticgpu.rules.ledger import Ledger
from elasticgpu.rules.placement import Nowhere, Placed, Wish, place
from elasticgpu.testing.host import FakeNode
from elasticgpu.testing.mps_control import Control, Daemon

GI = 1 << 30
SEAT = "/run/elasticgpu/elasticgpu.io_mps"


def card(
    n: int = 0, memory: str = "24Gi", capability: str = "8.9", modes: tuple[str, ...] = ()
) -> GPU:
    """The card of this index."""
    return GPU(
        metadata=ObjectMeta(name=f"c{n}"),
        spec=GPUSpec(node_name="node-a", modes=list(modes)),
        status=GPUStatus(
            index=n,
            uuid=f"GPU-{n}",
            memory=memory,
            minor=n,
            compute_capability=capability,
            health="Healthy",
            links=[Link(peer=f"c{n ^ 2}", kind="NVLink", bandwidth=1000)],
        ),
    )


def view(gpu: GPU, core: int = 100, gib: int = 24, held: int = 0) -> CardView:
    """The card with so much free, and so many devices on it."""
    rows = tuple(Held(f"d{n}", MPS.name, 0, 0) for n in range(held))
    return CardView(gpu, core, gib * GI, MPS.name if held else "", held=rows)


def node(*cards: CardView, order: str = "binpack") -> NodeView:
    """A node with these cards."""
    return NodeView("node-a", cards, "topology" if order == "topology" else "binpack")


def part(n: int, core: int, memory: int) -> CardSlice:
    """A part of the card of this index."""
    return CardSlice(gpu=f"c{n}", uuid=f"GPU-{n}", core=core, memory=memory)


def mps(**written: str) -> Provisioner:
    """The provisioner as a class with these parameters has it."""
    return MPS().tuned(written)


HALF = Slice((part(0, 50, 12 * GI),))
EMPTY = node(view(card()))
PAIR = node(*(view(card(n)) for n in range(4)), order="topology")
QUARTERS = {"core": "25", "memory": f"{6 * GI},{6 * GI}"}
PLACES: list[tuple[str, str, Demand, NodeView, Slice | None]] = [
    ("half", "2", Demand(), EMPTY, HALF),
    ("the-other-half", "2", Demand(), node(view(card(), 50, 12, 1)), HALF),
    ("no-third-half", "2", Demand(), node(view(card(), 0, 0, 2)), None),
    ("no-core", "2", Demand(), node(view(card(), 49, 24, 1)), None),
    ("the-next-card", "2", Demand(), node(view(card(1), 0, 0, 2), view(card())), HALF),
    ("a-third-is-whole-MiB", "3", Demand(), node(view(card(memory="100Mi"))),
     Slice((part(0, 33, 33 << 20),))),
    ("stated", "", Demand(core=30, memory=4 * GI), EMPTY, Slice((part(0, 30, 4 * GI),))),
    ("memory-alone", "", Demand(memory=4 * GI), EMPTY, Slice((part(0, 0, 4 * GI),))),
    ("percent", "", Demand(memory_percentage=25), EMPTY, Slice((part(0, 0, 6 * GI),))),
    ("too-large", "", Demand(memory=25 * GI), EMPTY, None),
    ("47-clients", "", Demand(memory=GI), node(view(card(), 100, 24, 47)),
     Slice((part(0, 0, GI),))),
    ("48-clients", "", Demand(memory=GI), node(view(card(), 100, 24, 48)), None),
    ("15-clients-of-Pascal", "", Demand(memory=GI), node(view(card(capability="6.1"), 100, 24, 15)),
     Slice((part(0, 0, GI),))),
    ("16-clients-of-Pascal", "", Demand(memory=GI), node(view(card(capability="6.1"), 100, 24, 16)),
     None),
    ("several-cards-are-held-whole", "", Demand(core=50, memory=12 * GI, count=2), PAIR,
     Slice((part(0, 100, 24 * GI), part(2, 100, 24 * GI)), QUARTERS)),
    ("several-equal-shares", "4", Demand(count=2), node(*PAIR.cards),
     Slice((part(0, 100, 24 * GI), part(1, 100, 24 * GI)), QUARTERS)),
    ("several-are-untouched", "4", Demand(count=2), node(view(card()), view(card(1), 50, 20, 1)),
     None),
]  # fmt: skip


@pytest.mark.parametrize(
    ("replicas", "want", "where", "found"), [pytest.param(*row, id=name) for name, *row in PLACES]
)
def test_place(replicas: str, want: Demand, where: NodeView, found: Slice | None) -> None:
    """Where the share goes, and how large it is."""
    assert mps(**({"replicas": replicas} if replicas else {})).place(want, where) == found


REFUSED: list[tuple[str, str, Demand, str]] = [
    ("whole-card", "2", Demand(gpus=1), "whole cards and MIG instances need a class of another"),
    ("mig", "", Demand(mig="1g.10gb"), "whole cards and MIG instances need a class of another"),
    ("sized", "2", Demand(core=10, memory=GI), "equal shares, 1/2 of a card each"),
    ("unsized", "", Demand(), "an MPS share has a size of memory"),
    ("core-alone", "", Demand(core=50), "an MPS share has a size of memory"),
]


@pytest.mark.parametrize(
    ("replicas", "want", "said"), [pytest.param(*row, id=name) for name, *row in REFUSED]
)
def test_refuses(replicas: str, want: Demand, said: str) -> None:
    """What this class never gives is refused in words, whatever is free."""
    with pytest.raises(Refused, match=said):
        mps(**({"replicas": replicas} if replicas else {})).place(want, EMPTY)


@pytest.mark.parametrize(
    ("name", "value"),
    [("replicas", "1"), ("replicas", "49"), ("replicas", "two"), ("multiUser", "perhaps"),
     ("shmSize", "0"), ("shmSize", "much"), ("replica", "2")],
)  # fmt: skip
def test_parameters_that_are_refused(name: str, value: str) -> None:
    """A wrong parameter is named."""
    with pytest.raises(Refused, match=f"parameters of elasticgpu.io/mps: {name}: "):
        mps(**{name: value})


@pytest.mark.parametrize(
    ("capability", "most"), [("9.0", 48), ("12.0", 48), ("7.0", 48), ("6.1", 16), ("", 16)]
)
def test_clients(capability: str, most: int) -> None:
    """48 since Volta; a card that says nothing gets the fewer."""
    assert clients(card(capability=capability)) == most


def test_the_words_of_nvidias_plugin() -> None:
    """`nvidia.com/gpu.shared: 1` is one replica."""
    assert mps(replicas="2").place(demand({"nvidia.com/gpu.shared": 1}), EMPTY) == HALF


@dataclass
class Site:
    """A node with daemons that hang, fail or forget where a test says so, by their card."""

    cards: int = 2
    control: Control = field(default_factory=Control)
    hangs: set[str] = field(default_factory=set)
    fails: set[str] = field(default_factory=set)
    quits: bool = True

    def __post_init__(self) -> None:
        self.node = FakeNode.of([card(n) for n in range(self.cards)])
        self.node.programs.known["nvidia-cuda-mps-control"] = self._control
        self.plugin = MPS()

    def _control(self, argv: Sequence[str], stdin: str, env: Mapping[str, str]) -> Finished:
        uuid = env["CUDA_MPS_PIPE_DIRECTORY"].split("/")[-2]
        if uuid in self.hangs:
            raise Retry(f"{argv[0]} did not end in 5 s and was killed")
        if uuid in self.fails or (stdin == "quit\n" and not self.quits):
            return Finished(int(self.quits), "out of order")
        return Finished(*self.control.run(argv, stdin, env))

    def daemon(self, n: int) -> Daemon:
        """The control daemon of this card."""
        return self.control.daemons[f"{SEAT}/GPU-{n}/pipe"]

    @property
    def running(self) -> list[str]:
        """The cards that have a daemon, by what it sees."""
        return [daemon.visible for daemon in self.control.daemons.values()]

    async def prepare(self, device: ElasticGPU) -> list[str]:
        """What the container gets in its environment."""
        edits = await self._tuned(device).prepare(device, self.node.host(MPS.name))
        return edits.env

    async def unprepare(self, device: ElasticGPU) -> None:
        """Undo it."""
        await self._tuned(device).unprepare(device, self.node.host(MPS.name))

    async def modes(self) -> list[str]:
        """The compute modes of all cards."""
        return [await self.node.nvml.compute_mode(name) for name in self.node.cards]

    def _tuned(self, device: ElasticGPU) -> Provisioner:
        return self.plugin.tuned(device.spec.source.parameters)


def device(name: str, *parts: CardSlice, written: Mapping[str, str] | None = None,
           **attributes: str) -> ElasticGPU:  # fmt: skip
    """A device of these parts."""
    source = DeviceSource(
        driver=MPS.name,
        devices=list(parts),
        parameters=dict(written or {}),
        attributes=attributes,
    )
    return ElasticGPU(
        metadata=ObjectMeta(name=name),
        spec=ElasticGPUSpec(node_name="node-a", source=source),
        status=ElasticGPUStatus(phase="Bound"),
    )


A = device("a", part(0, 50, 12 * GI))
B = device("b", part(0, 50, 12 * GI))
SMALL = device("small", part(0, 20, 4 * GI))
LIMITS = {
    "default_active_thread_percentage": "50.0",
    "default_device_pinned_mem_limit GPU-0": "12288M",
}


async def test_prepare() -> None:
    """One daemon for this card alone, with its limits; the container has its pipes and /dev/shm."""
    site = Site()
    edits = await site.plugin.prepare(A, site.node.host(MPS.name))
    assert edits.env == [
        "ELASTICGPU_0_UUID=GPU-0",
        "CUDA_MPS_PIPE_DIRECTORY=/tmp/nvidia-mps",
        "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE=50",
        "CUDA_MPS_PINNED_DEVICE_MEM_LIMIT=GPU-0=12288M",
        "NVIDIA_VISIBLE_DEVICES=void",
    ]
    options = ["rw", "nosuid", "nodev", "rbind"]
    assert edits.mounts == [
        Mount(host_path=f"{SEAT}/GPU-0/pipe", container_path="/tmp/nvidia-mps", options=options),
        Mount(host_path=f"{SEAT}/GPU-0/shm", container_path="/dev/shm", options=options),
    ]
    assert [node.path for node in edits.device_nodes][:2] == ["/dev/nvidia0", "/dev/nvidiactl"]
    assert site.daemon(0) == Daemon("GPU-0", ["-d"], LIMITS)
    assert site.running == ["GPU-0"]
    assert await site.modes() == ["EXCLUSIVE_PROCESS", "DEFAULT"]
    assert {str(path): size for path, size in site.node.files.mounts.items()} == {
        f"{SEAT}/GPU-0/shm": 4 * GI
    }


async def test_the_daemon_lives_as_long_as_its_last_device() -> None:
    """Prepared twice, by two agents, one daemon; after the last device nothing is left."""
    site = Site()
    first = await site.prepare(A)
    site.plugin = MPS()  # the agent starts anew
    assert await site.prepare(A) == first
    await site.prepare(B)
    starts = [argv for argv, _ in site.node.programs.calls if "-d" in argv]
    assert len(starts) == 1
    await site.unprepare(A)
    await site.unprepare(A)
    assert site.daemon(0) == Daemon("GPU-0", ["-d"], LIMITS)
    assert await site.modes() == ["EXCLUSIVE_PROCESS", "DEFAULT"]
    await site.unprepare(B)
    await site.unprepare(B)
    assert site.running == []
    assert await site.modes() == ["DEFAULT", "DEFAULT"]
    assert (site.node.files.mounts, site.node.files.left()) == ({}, [])


async def test_the_daemon_allows_the_largest_share() -> None:
    """Defaults for servers to come, and for the next clients of one that runs."""
    site = Site()
    await site.prepare(SMALL)
    daemon = site.daemon(0)
    daemon.servers = [77]
    env = await site.prepare(A)
    assert "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE=50" in env
    of_server = {
        "active_thread_percentage 77": "50.0",
        "device_pinned_mem_limit 77 GPU-0": "12288M",
    }
    assert daemon.limits == LIMITS | of_server
    assert "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE=20" in await site.prepare(SMALL)
    assert daemon.limits == LIMITS | of_server
    await site.unprepare(A)
    await site.prepare(device("other", part(0, 10, GI)))
    assert daemon.limits["default_active_thread_percentage"] == "20.0"


async def test_no_core_is_all_of_it() -> None:
    """Where only memory is stated, processes share all of the compute."""
    site = Site()
    env = await site.prepare(device("a", part(0, 0, 4 * GI)))
    assert "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE=100" in env


async def test_a_set_of_cards() -> None:
    """One daemon over all of them, its limits by card."""
    site = Site()
    both = [part(0, 100, 24 * GI), part(1, 100, 24 * GI)]
    pair = device("pair", *both, core="25", memory=f"{6 * GI},{5 * GI}")
    env = await site.prepare(pair)
    assert "CUDA_MPS_PINNED_DEVICE_MEM_LIMIT=GPU-0=6144M,GPU-1=5120M" in env
    daemon = site.daemon(0)
    assert daemon.visible == "GPU-0,GPU-1"
    assert daemon.limits == {
        "default_active_thread_percentage": "25.0",
        "default_device_pinned_mem_limit GPU-0": "6144M",
        "default_device_pinned_mem_limit GPU-1": "5120M",
    }
    assert await site.modes() == ["EXCLUSIVE_PROCESS"] * 2
    await site.unprepare(pair)
    assert await site.modes() == ["DEFAULT"] * 2


async def test_a_set_made_ahead() -> None:
    """Without attributes the limits are what it holds; what others could share is refused."""
    site = Site()
    both = [part(0, 100, 24 * GI), part(1, 100, 24 * GI)]
    env = await site.prepare(device("pair", *both))
    assert "CUDA_MPS_PINNED_DEVICE_MEM_LIMIT=GPU-0=24576M,GPU-1=24576M" in env
    with pytest.raises(Refused, match="the device holds them whole"):
        await site.prepare(device("half-pair", part(0, 50, GI), part(1, 50, GI)))


async def test_options_of_the_class() -> None:
    """A multi-user server and the size of /dev/shm; others of another class wait."""
    site = Site()
    written = {"multiUser": "true", "shmSize": "1Gi"}
    many = device("many", part(0, 20, 4 * GI), written=written)
    await site.prepare(many)
    daemon = site.daemon(0)
    assert daemon.options == ["-d", "-multiuser-server"]
    assert list(site.node.files.mounts.values()) == [GI]
    with pytest.raises(Retry, match="options, multiUser true and shmSize 1Gi, for many: it waits"):
        await site.prepare(A)
    await site.unprepare(many)
    assert site.running == []
    await site.prepare(A)
    daemon = site.daemon(0)
    assert daemon.options == ["-d"]


async def test_a_card_that_is_in_use() -> None:
    """A new daemon waits for processes of others; one that died is started beside its own."""
    site = Site()

    async def busy(gpu: str) -> list[int]:
        return [4711]

    vacant, site.node.nvml.processes = site.node.nvml.processes, busy  # type: ignore[method-assign]
    with pytest.raises(Retry, match="MPS needs c0 to itself, and processes compute on it: 4711"):
        await site.prepare(A)
    assert await site.modes() == ["DEFAULT", "DEFAULT"]
    site.node.nvml.processes = vacant  # type: ignore[method-assign]
    await site.prepare(A)
    site.node.nvml.processes = busy  # type: ignore[method-assign]
    site.control.daemons.clear()
    await site.prepare(B)
    assert site.running == ["GPU-0"]


async def test_hanging_and_failing() -> None:
    """It is said, nothing is handed out, and another card's daemon does not notice."""
    site = Site()
    elsewhere = device("elsewhere", part(1, 50, 12 * GI))
    site.hangs = {"GPU-0"}
    with pytest.raises(Retry, match="did not end in 5 s and was killed"):
        await site.prepare(A)
    await site.prepare(elsewhere)
    site.hangs, site.fails = set(), {"GPU-0"}
    with pytest.raises(Retry, match=r"daemon of c0 does not start: out of order; see /run/.*/log"):
        await site.prepare(A)
    site.fails = set()
    await site.prepare(A)
    site.hangs = {"GPU-0"}
    with pytest.raises(Retry, match="did not end"):
        await site.unprepare(A)
    await site.unprepare(elsewhere)
    assert site.running == ["GPU-0"]
    site.hangs, site.quits = set(), False
    with pytest.raises(Retry, match="still runs after it was told to quit"):
        await site.unprepare(A)
    assert await site.modes() == ["EXCLUSIVE_PROCESS", "DEFAULT"]
    site.quits = True
    await site.unprepare(A)
    assert await site.modes() == ["DEFAULT", "DEFAULT"]


async def test_a_limit_that_is_not_kept() -> None:
    """What the daemon answers is compared with what it was told."""
    site = Site()
    site.control.daemons[f"{SEAT}/GPU-0/pipe"] = Daemon("GPU-0", deaf=True)
    with pytest.raises(
        Refused, match=r"was told default_active_thread_percentage 50 and has 100\.0"
    ):
        await site.prepare(A)


async def test_without_the_program() -> None:
    """A node that lacks it says so, and has nothing to undo but its files."""
    site = Site()
    del site.node.programs.known["nvidia-cuda-mps-control"]
    with pytest.raises(Refused, match="nvidia-cuda-mps-control cannot be run"):
        await site.prepare(A)
    await site.unprepare(A)
    assert site.node.files.left() == []
    assert await site.modes() == ["DEFAULT", "DEFAULT"]


async def test_a_card_that_is_gone() -> None:
    """It cannot be prepared; what was on it can be undone."""
    site = Site()
    await site.prepare(A)
    site.node.cards = {"c1": card(1)}
    with pytest.raises(Refused, match="node-a has no card c0"):
        await site.prepare(B)
    await site.unprepare(A)
    assert (site.running, site.node.files.left()) == ([], [])


async def test_a_card_that_is_no_card() -> None:
    """Whatever stands for a uuid in a device, nothing but its own folder is ever removed."""
    site = Site()
    await site.prepare(A)
    for path in ("..", "../elasticgpu.io_vcuda", "/run", "."):
        made_up = CardSlice(gpu="c9", uuid=path, core=50, memory=GI)
        await site.unprepare(device("x", made_up))
    assert site.running == ["GPU-0"]
    assert Path(f"{SEAT}/GPU-0/devices") in site.node.files.left()


async def test_less_than_is_counted() -> None:
    """Nobody knows what no memory at all is to a daemon: it is not told so."""
    with pytest.raises(Refused, match="at least 1Mi of each card"):
        MPS().place(Demand(memory=1 << 20, count=2), PAIR)
    with pytest.raises(Refused, match="x: MPS limits memory by the MiB, and here is less than 1Mi"):
        await Site().prepare(device("x", part(0, 50, (1 << 20) - 1)))


async def test_many_at_once() -> None:
    """Devices of one card come and go at the same time: those that stayed have their daemon."""
    site = Site()
    devices = [device(f"d{n}", part(0, 10, GI)) for n in range(8)]
    await asyncio.gather(*map(site.prepare, devices[:4]))
    await asyncio.gather(
        *map(site.unprepare, devices[:4]), *map(site.prepare, devices[4:]), site.prepare(A)
    )
    daemon = site.daemon(0)
    assert daemon.limits == LIMITS
    await asyncio.gather(*map(site.unprepare, [*devices[4:], A]))
    assert site.running == []


async def test_four_cards_of_eight() -> None:
    """In a node of 8, 4 cards serve MPS and 4 are exclusive, and neither disturbs the other."""
    cards = [card(n, modes=(MPS.name if n < 4 else Whole.name,)) for n in range(8)]
    ledger, site = Ledger(cards), Site(8)
    halves, wholes = mps(replicas="2"), Whole()
    made = []
    for n in range(8):
        found = place(Wish(Demand()), halves, ledger)
        assert isinstance(found, Placed)
        made.append(device(f"half-{n}", *found.place.devices, written={"replicas": "2"}))
        ledger.set_device(made[-1])
    for n in range(4):
        found = place(Wish(Demand(gpus=1)), wholes, ledger)
        assert isinstance(found, Placed)
        whole = device(f"whole-{n}", *found.place.devices)
        whole = whole.but(spec=whole.spec.but(source=whole.spec.source.but(driver=Whole.name)))
        ledger.set_device(whole)
        edits = await wholes.prepare(whole, site.node.host(Whole.name))
        assert edits.mounts == []
    assert isinstance(place(Wish(Demand()), halves, ledger), Nowhere)
    assert isinstance(place(Wish(Demand(gpus=1)), wholes, ledger), Nowhere)
    on = {view.name: view.mode for view in ledger.node("node-a").cards}
    assert list(on.values()) == [MPS.name] * 4 + [Whole.name] * 4
    for one in made:
        await site.prepare(one)
    assert site.running == [f"GPU-{n}" for n in range(4)]
    assert await site.modes() == ["EXCLUSIVE_PROCESS"] * 4 + ["DEFAULT"] * 4
    site.hangs = {"GPU-0"}
    for one in made[2:]:
        await site.unprepare(one)
    assert await site.modes() == ["EXCLUSIVE_PROCESS"] + ["DEFAULT"] * 7


def test_example_classes() -> None:
    """Those of class.yaml are classes, with parameters that this provisioner knows."""
    found = yaml.safe_load_all(Path(__file__).parents[1].joinpath("class.yaml").read_text())
    specs = [ElasticGPUClass.model_validate(one).spec for one in found]
    assert [spec.provisioner for spec in specs] == [MPS.name] * 2
    assert [mps(**spec.parameters).parameters for spec in specs] == [
        MPSParameters(replicas=2),
        MPSParameters(),
    ]


def test_is_installed() -> None:
    """It is found under the name that classes write."""
    assert isinstance(discover()["elasticgpu.io/mps"], MPS)
