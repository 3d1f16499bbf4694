"""Every backend on one real node at once, and what each container sees of it.

The commands of `examples/03-all-backends` are run as its README has them; beside them a stranger's
provisioner of `examples/02-own-provisioner` serves. While all pods run, each container is looked
into and compared, without remainder, with what the backend promises (`promises`); then everything
is deleted, and the node searched. The cards, the MPS daemon and the library of vCUDA are stand-ins.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.auditor import number
from tests.cases.backends import stranger
from tests.cases.backends.example import APPLY, DELETE, LABEL, WAIT, World, do, held, observed
from tests.cases.backends.promises import ALONE, TOGETHER, Use
from tests.cases.backends.table import PROPERTY, Row
from tests.cases.case import OURS, Case, assert_quiet
from tests.cases.ours import Ours
from tests.cluster.api import wait_for
from tests.cluster.leftovers import mounts_below

THEIRS = stranger.manifests(LABEL[-1])


@pytest.fixture(scope="module")
def case(ours: Ours, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Case]:
    """One namespace for all; node-0 is the one that the pods ask for."""
    ours.cluster.kubectl(*LABEL)
    with stranger.installed(ours, tmp_path_factory.mktemp("installed")):
        yield Case(ours, "all-backends")
    ours.cluster.kubectl("label", "node", "node-0", "example-")


@pytest.fixture(scope="module")
def world(case: Case) -> Iterator[World]:
    """The examples applied, all pods running, and looked at; deleted at the end."""
    do(case, APPLY)
    case.cluster.kubectl("apply", "-n", case.namespace, "-f", "-", input=THEIRS)
    try:
        do(case, WAIT)
        yield observed(case)
    finally:
        delete(case)


def delete(case: Case) -> None:
    """As the README says; what is deleted already is no error."""
    do(case, DELETE, "--ignore-not-found")
    words = ["delete", "-f", "-", "--grace-period=1", "--ignore-not-found", "-n", case.namespace]
    case.cluster.kubectl(*words, input=THEIRS, timeout=60)
    case.remove()


@pytest.mark.parametrize("use", ALONE.values(), ids=ALONE)
def test_container_sees_its_device(
    world: World, use: Use, record_property: Callable[[str, object], None]
) -> None:
    """Environment, device files and mounts are those promised for this very device."""
    seen = world.compare(use)
    record_property(PROPERTY, Row.of(world.device(use.claim), world.cards, seen).plain())


def test_no_provisioner_failed(world: World) -> None:
    """Not even once, to be tried again: all pods came at the same time."""
    assert [text for text in world.events if "provisioner" in text and "failed" in text] == []


def test_two_backends_in_one_pod(world: World) -> None:
    """Each of two containers sees its own claim's device; the third sees nothing of either."""
    for use in TOGETHER:
        world.compare(use)
    plain = world.seen["two-in-one-pod", "plain"]
    assert [name for name in plain.env if name.startswith(("ELASTICGPU", "NVIDIA", "CUDA"))] == []
    assert [path for path in plain.devices if "nvidia" in path] == []


def test_one_ledger(world: World) -> None:
    """Each backend has a card of the node to itself, which shows whose it is and who holds what;
    only that of a pool outside the cluster is on no node."""
    assert all(claim in world.shown for claim in world.claims)
    assert not world.device("remote")["spec"].get("nodeName")
    local = [use for use in (*ALONE.values(), *TOGETHER) if use.claim != "remote"]
    modes: dict[str, str] = {}
    for use in local:
        device = world.device(use.claim)
        for part in device["spec"]["source"]["devices"]:
            card = world.cards[part["gpu"]]
            assert card["spec"]["nodeName"] == "node-0"
            modes[part["gpu"]] = card["status"]["mode"]
            assert modes[part["gpu"]] == device["spec"]["source"]["driver"]
            (row,) = (r for r in held(card) if r["elasticGPU"] == device["metadata"]["name"])
            assert row["claim"] == f"all-backends/{use.claim}"
            assert row.get("core") == part.get("core")
            assert number(row.get("memory", 0)) == number(part.get("memory", 0))
    assert len(modes) == len({*modes.values()}) == len(ALONE) - 1, "a card each"


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
    assert told.count("quit") == sum(line.startswith("start ") for line in told)
    assert_quiet(case.cluster)


def files(folder: Path) -> list[Path]:
    """All files below it, whatever they are."""
    return [path for path in folder.rglob("*") if not path.is_dir()]
