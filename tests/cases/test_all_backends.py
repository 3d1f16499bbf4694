"""Every backend on one real node at once, and what each container sees of it.

The commands of `examples/03-all-backends` are run as its README has them. While all pods run, each
container is looked into and compared, without remainder, with what the backend promises
(`promises`); then everything is deleted, and the node searched. The cards, the MPS daemon and the
library of vCUDA are stand-ins (`standins`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.auditor import number
from tests.cases.case import OURS, Case, assert_quiet
from tests.cases.ours import Ours
from tests.cases.promises import PROMISES, Given, promised
from tests.cases.seen import Seen, look
from tests.cases.table import PROPERTY, Row
from tests.cluster.api import wait_for
from tests.cluster.leftovers import mounts_below

Object = dict[str, Any]
EXAMPLE = Path(__file__).parents[2] / "examples" / "03-all-backends"
LABEL, APPLY, WAIT, GET, DELETE = (
    line.removeprefix("kubectl ").replace("NODE", "node-0").replace("-f .", f"-f {EXAMPLE}").split()
    for line in (EXAMPLE / "README.md").read_text().splitlines()
    if line.startswith("kubectl ") and not line.startswith("kubectl exec")
)
"""The README's five commands."""
TWO = {"left": "two-mps", "right": "two-vcuda"}
"""Containers of the one pod, and their claims."""


@dataclass(frozen=True)
class World:
    """What the API server said and what was seen in the containers while all pods ran."""

    claims: Mapping[str, Object]
    devices: Mapping[str, Object]
    cards: Mapping[str, Object]
    seen: Mapping[tuple[str, str], Seen]
    """By pod and container."""
    promised: Mapping[tuple[str, str], Seen]
    told: list[str]
    """What the stand-in of the MPS daemon was told."""
    shown: str
    """What `kubectl get` printed."""

    def device(self, claim: str) -> Object:
        """The device of a claim."""
        return self.devices[self.claims[claim]["spec"]["elasticGPUName"]]


@pytest.fixture(scope="module")
def case(ours: Ours) -> Iterator[Case]:
    """One namespace for all; node-0 is the one that the pods ask for."""
    ours.cluster.kubectl(*LABEL)
    yield Case(ours, "all-backends")
    ours.cluster.kubectl("label", "node", "node-0", "example-")


@pytest.fixture(scope="module")
def world(case: Case) -> Iterator[World]:
    """The example applied, all pods running, and looked at; deleted at the end."""
    do(case, APPLY)
    try:
        do(case, WAIT)
        yield observed(case, do(case, GET))
    finally:
        delete(case)
        case.remove()


def do(case: Case, words: list[str], *more: str) -> str:
    """Run a command of the README in the case's namespace; its output."""
    return case.cluster.kubectl(*words, "-n", case.namespace, *more, timeout=150)


def delete(case: Case) -> None:
    """As the README says; what is deleted already is no error."""
    do(case, DELETE, "--ignore-not-found")


def served(case: Case) -> dict[str, Object]:
    """The cards, once each that is held shows the backend that has it. Before, the auditor."""
    case.settled()

    def check() -> dict[str, Object]:
        cards = {o["metadata"]["name"]: o for o in case.api.list(f"{OURS}/gpus")}
        late = [n for n, o in cards.items() if held(o) and not o["status"].get("mode")]
        assert not late, late
        return cards

    return wait_for(check, 30, "each card's mode shown")


def held(card: Object) -> list[Object]:
    """Who holds what of a card."""
    rows: list[Object] = card["status"].get("allocated", [])
    return rows


def observed(case: Case, shown: str) -> World:
    """Look at everything once."""
    pods = {pod["metadata"]["name"]: pod for pod in case.api.list(case.pod_path())}
    claims = {o["metadata"]["name"]: o for o in case.api.list(case.claim_path())}
    devices = {o["metadata"]["name"]: o for o in case.api.list(f"{OURS}/elasticgpus")}
    cards = served(case)
    seen = {
        (name, container["name"]): look_into(case, name, container["name"])
        for name, pod in pods.items()
        for container in pod["spec"]["containers"]
    }

    def promise(claim: str, tag: int = 0) -> Seen:
        device = devices[claims[claim]["spec"]["elasticGPUName"]]
        parts = device["spec"]["source"]["devices"]
        run_dir = case.ours.root / "agent-node-0" / "run"
        given = Given(device, tuple(cards[part["gpu"]] for part in parts), run_dir)
        row = PROMISES[claim.removeprefix("two-")]
        return promised(given, row, f"{case.namespace}/{claim}", tag)

    expected = {(name, "main"): promise(name) for name in PROMISES}
    expected |= {("two-in-one-pod", c): promise(name, n) for n, (c, name) in enumerate(TWO.items())}
    told = case.ours.stand_ins.told.read_text().splitlines()
    return World(claims, devices, cards, seen, expected, told, shown)


def look_into(case: Case, pod: str, container: str) -> Seen:
    """What one container sees."""
    words = ("exec", "-n", case.namespace, pod, "-c", container, "--", "sh", "-c")
    return look(lambda script: case.cluster.kubectl(*words, script))


def compare(world: World, pod: str, container: str) -> Seen:
    """Assert that it sees what is promised and nothing else; what it saw."""
    expected = world.promised[pod, container]
    plain = world.seen["two-in-one-pod", "plain"]
    seen = world.seen[pod, container].beside(plain, expected.mounts)
    assert seen.env == expected.env
    assert seen.devices == expected.devices
    assert seen.mounts == expected.mounts
    return seen


@pytest.mark.parametrize("backend", PROMISES)
def test_container_sees_its_device(
    world: World, backend: str, record_property: Callable[[str, object], None]
) -> None:
    """Environment, device files and mounts are those promised for this very device."""
    seen = compare(world, backend, "main")
    device = world.device(backend)
    record_property(PROPERTY, Row.of(device, world.cards, seen).plain())


def test_two_backends_in_one_pod(world: World) -> None:
    """Each of two containers sees its own claim's device; the third sees nothing of either."""
    for container in TWO:
        compare(world, "two-in-one-pod", container)
    plain = world.seen["two-in-one-pod", "plain"]
    assert [name for name in plain.env if name.startswith(("ELASTICGPU", "NVIDIA", "CUDA"))] == []
    assert [path for path in plain.devices if "nvidia" in path] == []


def test_one_ledger(world: World) -> None:
    """Each backend has a card of the node to itself, which shows whose it is and who holds what."""
    modes: dict[str, str] = {}
    assert all(claim in world.shown for claim in world.claims)
    for claim in (*PROMISES, *TWO.values()):
        source = world.device(claim)["spec"]["source"]
        for part in source["devices"]:
            card = world.cards[part["gpu"]]
            assert card["spec"]["nodeName"] == "node-0"
            assert card["status"]["mode"] == source["driver"]
            mine = {
                "claim": f"all-backends/{claim}",
                "elasticGPU": world.device(claim)["metadata"]["name"],
            }
            (row,) = (row for row in held(card) if mine.items() <= row.items())
            assert row.get("core") == part.get("core")
            assert number(row.get("memory", 0)) == number(part.get("memory", 0))
            modes[part["gpu"]] = source["driver"]
    assert set(modes.values()) == {
        world.device(name)["spec"]["source"]["driver"] for name in PROMISES
    }


def test_the_daemon_has_the_limits(world: World) -> None:
    """Those of the largest share of its card, and it is a daemon of that card alone."""
    parts = [world.device(name)["spec"]["source"]["devices"] for name in ("mps", "two-mps")]
    ((one,), (two,)) = parts
    assert one["uuid"] == two["uuid"], "a card serves several"
    core, memory = (max(number(part[n]) for part in (one, two)) for n in ("core", "memory"))
    assert [line for line in world.told if line.startswith("start")] == [f"start {one['uuid']}"]
    limits = [line.split() for line in world.told if line.startswith("set_")]
    kept = {tuple(words[:-1]): words[-1] for words in limits}
    assert kept == {
        ("set_default_active_thread_percentage",): str(core),
        ("set_default_device_pinned_mem_limit", one["uuid"]): f"{memory >> 20}M",
    }


def test_memory_grows_under_the_process(case: Case, world: World) -> None:
    """A claim asks for more: its container reads the new limit in the file it has mapped."""
    name = world.device("vcuda")["metadata"]["name"]
    assert limit(case) == 8 << 30
    more = {"spec": {"resources": {"requests": {"elasticgpu.io/gpu-memory": "10Gi"}}}}
    case.api.patch(case.claim_path("vcuda"), more)

    def done() -> bool:
        device, claim = case.api.get(case.device_path(name)), case.api.get(case.claim_path("vcuda"))
        assert device["status"]["preparedMemory"] == "10Gi", device["status"]
        assert claim["status"]["capacity"]["elasticgpu.io/gpu-memory"] == "10Gi"
        assert "Resized" not in [c["type"] for c in claim["status"]["conditions"]]
        return True

    wait_for(done, 30, "more memory for the pod")
    assert limit(case) == 10 << 30


def limit(case: Case) -> int:
    """The first card's, as the library would read it in the container."""
    read = "dd if=/tmp/cudevshr.cache bs=8 skip=200 count=1 2>/dev/null | od -An -v -tx1"
    words = ("exec", "-n", case.namespace, "vcuda", "--", "sh", "-c", read)
    return int.from_bytes(bytes.fromhex(case.cluster.kubectl(*words)), "little")


def test_nothing_is_left(case: Case, world: World) -> None:
    """After the pods and claims no card has a mode, and the node no file, mount or daemon."""
    delete(case)
    case.remove()
    case.settled()
    home = case.ours.root / "agent-node-0"
    assert files(home / "run") + files(home / "state" / "plugins") == []
    assert mounts_below(home) == []
    assert list(case.cluster.cdi_dir.glob("*elasticgpu*")) == []

    def idle() -> bool:
        busy = [o["status"] for o in case.api.list(f"{OURS}/gpus") if o["status"].get("mode")]
        assert not busy, busy
        return True

    wait_for(idle, 30, "no card in a mode")
    told = case.ours.stand_ins.told.read_text().splitlines()
    starts = sum(line.startswith("start ") for line in told)
    assert told.count("quit") == starts
    assert_quiet(case.cluster)


def files(folder: Path) -> list[Path]:
    """All files below it, whatever they are."""
    return [path for path in folder.rglob("*") if not path.is_dir()]
