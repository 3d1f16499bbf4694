"""The provisioner's page: what it builds by default, and how plugins are found or refused."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

import pytest
from pydantic import Field

from elasticgpu.api.claim import ClaimSpec, ElasticGPUClaim
from elasticgpu.api.elasticgpu import CardSlice, ReclaimPolicy
from elasticgpu.api.gpuclass import ClassSpec, ElasticGPUClass
from elasticgpu.api.meta import ObjectMeta, ObjectReference
from elasticgpu.api.names import (
    BOUND_BY_CONTROLLER,
    DEVICE_PROTECTION,
    PROVISIONED_BY,
    device_name,
)
from elasticgpu.api.vocabulary import CORE, MEMORY, Demand
from elasticgpu.errors import Refused
from elasticgpu.provisioner import (
    ContainerEdits,
    ElasticGPU,
    Host,
    NodeView,
    Parameters,
    Provisioner,
    Request,
    Slice,
    discover,
    overrides,
)
from elasticgpu.rules.ledger import Ledger, holds
from elasticgpu.rules.requests import build, capacity

GI = 1 << 30
T = TypeVar("T")


class Plain(Provisioner):
    """A provisioner with the two required methods only."""

    name = "example.com/plain"

    def place(self, want: Demand, node: NodeView) -> Slice | None:
        return None

    async def prepare(self, device: ElasticGPU, host: Host) -> ContainerEdits:
        return ContainerEdits()


def request(policy: ReclaimPolicy = "Delete") -> Request:
    return Request(
        claim=ElasticGPUClaim(
            metadata=ObjectMeta(namespace="team", name="train", uid="3f2a"), spec=ClaimSpec()
        ),
        gpu_class=ElasticGPUClass(
            metadata=ObjectMeta(name="gold"),
            spec=ClassSpec(provisioner=Plain.name, reclaim_policy=policy),
        ),
        want=Demand(core=30, memory=3 * GI),
        node="node-a",
        place=Slice(
            (CardSlice(gpu="c0", core=10, memory=GI), CardSlice(gpu="c1", core=20, memory="2Gi")),
            {"pipe": "/run/x"},
        ),
    )


def test_build() -> None:
    """The device belongs to the claim from its first moment, and says who made it of what."""
    made = build(Plain.name, request())
    assert made.name == "egpu-3f2a" == device_name("3f2a")
    assert made.metadata.annotations == {PROVISIONED_BY: Plain.name, BOUND_BY_CONTROLLER: "yes"}
    assert made.metadata.finalizers == [DEVICE_PROTECTION]
    assert made.spec.claim_ref == ObjectReference(namespace="team", name="train", uid="3f2a")
    assert made.spec.capacity == {CORE: 30, MEMORY: "3Gi"}
    assert (made.spec.elastic_gpu_class_name, made.spec.node_name) == ("gold", "node-a")
    assert made.spec.source.driver == Plain.name
    assert made.spec.source.handle == made.name
    assert tuple(made.spec.source.devices) == request().place.devices
    assert made.spec.source.attributes == {"pipe": "/run/x"}
    assert ElasticGPU.model_validate(made.wire()).wire() == made.wire()


@pytest.mark.parametrize("policy", ["Delete", "Retain"])
def test_build_takes_the_class_policy(policy: ReclaimPolicy) -> None:
    """What becomes of the device is the class's word at the moment it was made."""
    assert build(Plain.name, request(policy)).spec.reclaim_policy == policy


def test_build_holds_room_at_once() -> None:
    """The ledger counts the device before anybody has written a status."""
    made = build(Plain.name, request())
    assert holds(made)
    assert [row.core for row in Ledger(devices=[made]).held("c1")] == [20]


CAPACITY: list[tuple[str, tuple[CardSlice, ...], dict[str, int | str]]] = [
    ("nothing", (), {}),
    ("core-only", (CardSlice(gpu="c0", core=10),), {CORE: 10}),
    ("memory-only", (CardSlice(gpu="c0", memory="1536Mi"),), {MEMORY: "1536Mi"}),
    (
        "two-cards",
        (CardSlice(gpu="c0", core=50, memory="1Gi"), CardSlice(gpu="c1", core=50, memory=GI)),
        {CORE: 100, MEMORY: "2Gi"},
    ),
]


@pytest.mark.parametrize(
    ("parts", "want"), [pytest.param(parts, want, id=name) for name, parts, want in CAPACITY]
)
def test_capacity(parts: tuple[CardSlice, ...], want: dict[str, int | str]) -> None:
    """The parts add up; a dimension of which there is nothing is left out."""
    assert capacity(parts) == want


def finish(coroutine: Coroutine[object, None, T]) -> T:
    """What it returns; it has nothing to wait for."""
    with pytest.raises(StopIteration) as done:
        coroutine.send(None)
    answer: T = done.value.value
    return answer


def test_defaults() -> None:
    """Provisioning is building, again and again the same; there is nothing else to free or undo."""
    plain, asked = Plain(), request()
    made = finish(plain.provision(asked))
    assert made == build(Plain.name, asked) == finish(plain.provision(asked))
    finish(plain.release(made))
    finish(plain.unprepare(made, host=None))  # type: ignore[arg-type] # it is not looked at


def test_a_request_builds_its_device() -> None:
    """An author adds a handle and attributes; the rest is as it was asked for."""
    asked = request()
    made = asked.device(handle="h-1", attributes={"k": "v"})
    assert made.spec.source.handle == "h-1"
    assert made.spec.source.attributes == {"pipe": "/run/x", "k": "v"}
    assert asked.device() == build(Plain.name, asked)
    source = made.spec.source.but(handle=asked.name, attributes={"pipe": "/run/x"})
    assert made.but(spec=made.spec.but(source=source)) == asked.device()


class Sizes(Parameters):
    most_devices: int = Field(default=4, ge=2)
    fast: bool = False


class Sized(Plain):
    """One that its classes tell something."""

    parameters: Sizes = Sizes()


def test_tuned() -> None:
    """Parameters are read as they are written, names in camelCase; the original stays as it is."""
    plain = Sized()
    one = plain.tuned({"mostDevices": "7", "fast": "true"})
    assert (one.parameters, plain.parameters) == (Sizes(most_devices=7, fast=True), Sizes())
    assert plain.tuned({}).parameters == Sizes()
    assert one.tuned({}).parameters == Sizes()


WRONG: list[tuple[str, dict[str, str], str]] = [
    (
        "a-word",
        {"mostDevices": "many"},
        r"^parameters of example.com/plain: mostDevices: .*integer",
    ),
    ("out-of-range", {"mostDevices": "1"}, "mostDevices: .*greater than or equal to 2"),
    ("two", {"mostDevices": "1", "fast": "maybe"}, "mostDevices: .*; fast: "),
    (
        "unknown",
        {"mostdevices": "7"},
        "mostdevices: is no parameter of it; there are mostDevices, fa",
    ),
]


@pytest.mark.parametrize(
    ("written", "said"), [pytest.param(written, said, id=name) for name, written, said in WRONG]
)
def test_parameters_that_are_wrong(written: dict[str, str], said: str) -> None:
    """They are refused with each field's name."""
    with pytest.raises(Refused, match=said):
        Sized().tuned(written)


def test_parameters_go_with_the_device() -> None:
    """What the class told is on the device: its node needs no class."""
    asked = request()
    spec = asked.gpu_class.spec.but(parameters={"mostDevices": "7"})
    made = replace(asked, gpu_class=asked.gpu_class.but(spec=spec)).device()
    assert made.spec.source.parameters == {"mostDevices": "7"}


def test_of_a_device() -> None:
    """By what it was made with; an admin's may have none, and then the plugin's own hold."""
    asked, plain = request(), Sized()
    spec = asked.gpu_class.spec.but(parameters={"mostDevices": "7"})
    made = replace(asked, gpu_class=asked.gpu_class.but(spec=spec)).device()
    assert plain.of(made).parameters == Sizes(most_devices=7)
    assert plain.of(asked.device()) is plain


class Asks(Plain):
    """One that asks somebody else for its devices."""

    async def provision(self, request: Request) -> ElasticGPU:
        return request.device()


class AsksToo(Asks):
    """One that inherits from it."""


def test_overrides() -> None:
    """The default asks nobody, and is known without being called."""
    assert not overrides(Plain(), "provision")
    assert overrides(Asks(), "provision")
    assert overrides(AsksToo(), "provision")
    assert not overrides(AsksToo(), "release")


def test_place_and_prepare_are_required() -> None:
    """A provisioner without them is told so when it is made."""

    class Lazy(Provisioner):
        name = "example.com/lazy"

    with pytest.raises(TypeError, match=r"place.*prepare"):
        Lazy()  # type: ignore[abstract]


PLUGIN = """
from elasticgpu.provisioner import ContainerEdits, Provisioner

class Plugin(Provisioner):
    name = "example.com/plugin"
    def place(self, want, node): return None
    async def prepare(self, device, host): return ContainerEdits()

class Nameless(Provisioner):
    def place(self, want, node): return None
    async def prepare(self, device, host): return ContainerEdits()

class Unfinished(Provisioner):
    name = "example.com/unfinished"

class Nobody(Plugin):
    concurrency = 0

class Never(Plugin):
    timeout = 0

class Raises(Plugin):
    def __init__(self): raise RuntimeError("no driver")

def stranger(): return object()
"""


Publish = Callable[..., None]


@pytest.fixture
def publish(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Publish:
    """Install strangers' distributions: each publishes a name for an object of `PLUGIN`."""
    module = f"plugin_{tmp_path.name}"
    (tmp_path / f"{module}.py").write_text(PLUGIN)

    def install(*points: tuple[str, str]) -> None:
        for name, value in points:
            made = f"{value.lower()}_{len(list(tmp_path.iterdir()))}"
            info = tmp_path / f"{made}-1.0.dist-info"
            info.mkdir()
            (info / "METADATA").write_text(f"Name: {made}\nVersion: 1.0\n")
            entry = f"{name} = {module}:{value}"
            (info / "entry_points.txt").write_text(f"[elasticgpu.provisioners]\n{entry}\n")
        monkeypatch.syspath_prepend(tmp_path)

    return install


def test_discover_finds_the_shipped_ones() -> None:
    """What this project ships is found the way a stranger's is, under its own name."""
    found = discover()
    assert "elasticgpu.io/qgpu" in found
    assert all(plugin.name == name for name, plugin in found.items())


def test_discover_finds_a_strangers(publish: Publish) -> None:
    """An installed distribution is enough, beside what is shipped."""
    publish(("example.com/plugin", "Plugin"))
    assert {"example.com/plugin", "elasticgpu.io/qgpu"} <= set(discover())


BROKEN: list[tuple[str, tuple[str, str], str]] = [
    ("cannot-be-made", ("example.com/plugin", "Raises"), "example.com/plugin .*fails: no driver"),
    ("misses-methods", ("example.com/unfinished", "Unfinished"), "example.com/unfinished .*fails"),
    ("cannot-be-found", ("example.com/plugin", "Missing"), "example.com/plugin .*fails"),
    ("is-none", ("example.com/plugin", "stranger"), "as example.com/plugin but is not"),
    ("has-another-name", ("example.com/other", "Plugin"), "as example.com/other but is not"),
    ("asks-nobody", ("example.com/plugin", "Nobody"), "concurrency and timeout must be positive"),
    ("never-waits", ("example.com/plugin", "Never"), "concurrency and timeout must be positive"),
    ("has-no-name", ("example.com/plugin", "Nameless"), "as example.com/plugin but is not"),
]


@pytest.mark.parametrize(
    ("point", "said"), [pytest.param(point, said, id=name) for name, point, said in BROKEN]
)
def test_discover_refuses(publish: Publish, point: tuple[str, str], said: str) -> None:
    """A provisioner that is not what it says is refused in words, not lost and not a traceback."""
    publish(point)
    with pytest.raises(Refused, match=said):
        discover()


def test_discover_refuses_two_of_a_name(publish: Publish) -> None:
    """Which of the two would serve is nobody's guess: one has to go."""
    publish(("example.com/plugin", "Plugin"), ("example.com/plugin", "Plugin"))
    with pytest.raises(Refused, match=r"two provisioners are called example\.com/plugin"):
        discover()


def test_a_device_in_use_stays_as_large_as_it_is() -> None:
    """Unless the plugin says that its devices grow."""
    device = build(Plain.name, request())
    with pytest.raises(Refused, match="plain cannot give a device more memory"):
        finish(Plain().resize(device, host=None))  # type: ignore[arg-type] # it is not looked at
    assert not Plain.grows


def test_a_pool_is_the_exception() -> None:
    """A plugin cuts the cards of nodes, unless it says that it has cards of its own."""
    pools = {name: plugin.pool() for name, plugin in discover().items()}
    assert [name for name, cards in pools.items() if cards is not None] == ["elasticgpu.io/remote"]
