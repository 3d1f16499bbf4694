"""vCUDA: whose share is cut of which cards, and what a container gets of it."""

from __future__ import annotations

from collections.abc import Coroutine
from dataclasses import replace
from mmap import mmap
from pathlib import Path
from typing import TypeVar

import pytest
import yaml
from elasticgpu_vcuda import VCUDA
from elasticgpu_vcuda.region import Region, memory_limit

from elasticgpu.agent.local import LocalFiles
from elasticgpu.api.elasticgpu import DeviceSource, ElasticGPUSpec
from elasticgpu.api.gpu import GPU, GPUSpec, GPUStatus
from elasticgpu.api.gpuclass import ElasticGPUClass
from elasticgpu.api.meta import ObjectMeta
from elasticgpu.api.vocabulary import demand
from elasticgpu.provisioner import (
    CardSlice,
    CardView,
    ContainerEdits,
    Demand,
    ElasticGPU,
    Held,
    NodeView,
    Refused,
    discover,
)
from elasticgpu.testing.host import FakeNode

MI, GI = 1 << 20, 1 << 30
T = TypeVar("T")
LIBRARY = Path("/usr/local/vgpu/libvgpu.so")
CLASS = Path(__file__).parents[1] / "class.yaml"
OWN = Path("/run/elasticgpu/elasticgpu.io_vcuda")


def card(name: str, *, bus: str = "", gib: int = 80) -> GPU:
    """A card of so many GiB at this place of the PCI bus."""
    status = GPUStatus(
        uuid=f"GPU-{name}", memory=f"{gib}Gi", minor=int(name[1:]), pci_bus_id=bus, tflops=1000
    )
    return GPU(metadata=ObjectMeta(name=name), spec=GPUSpec(node_name="node-a"), status=status)


def view(name: str, core: int = 100, gib: int = 80, held: int = 0) -> CardView:
    """A card with so much free, in so many other hands."""
    rows = tuple(Held(f"egpu-{n}", VCUDA.name, 0, GI) for n in range(held))
    return CardView(card(name), core, gib * GI, held=rows)


def cut(want: Demand, *cards: CardView, **parameters: str) -> list[tuple[str, int, int]]:
    """Of which cards, percent and MiB, it would be cut by a class with these parameters."""
    found = VCUDA().tuned(parameters).place(want, NodeView("node-a", cards))
    return [(p.gpu, p.core, p.memory_bytes // MI) for p in found.devices] if found else []


PLACES: list[tuple[str, Demand, dict[str, str], list[tuple[str, int, int]]]] = [
    ("as-asked", Demand(core=30, memory=3000 * MI), {}, [("c0", 30, 3000)]),
    ("half-of-the-memory", Demand(core=30, memory_percentage=50), {}, [("c0", 30, 40960)]),
    ("default-memory", Demand(core=30), {}, [("c0", 30, 5000)]),
    ("no-default-is-all", Demand(core=30), {"defaultMem": "0"}, [("c0", 30, 81920)]),
    ("default-core", Demand(memory=GI), {"defaultCores": "20"}, [("c0", 20, 1024)]),
    ("core-is-open", Demand(memory=GI), {}, [("c0", 0, 1024)]),
    ("teraflops-are-core", Demand(tflops=250), {"defaultCores": "20"}, [("c0", 25, 5000)]),
    (
        "two-cards",
        Demand(core=40, memory=8 * GI, count=2),
        {},
        [("c0", 20, 4096), ("c1", 20, 4096)],
    ),
    ("two-defaults", Demand(count=2), {"defaultCores": "5"}, [("c0", 5, 5000), ("c1", 5, 5000)]),
    ("three-cards", Demand(count=3), {}, []),
    ("all-of-a-card", Demand(core=100, memory_percentage=100), {}, [("c0", 100, 81920)]),
]


@pytest.mark.parametrize(
    ("want", "parameters", "parts"), [pytest.param(*row, id=name) for name, *row in PLACES]
)
def test_place(want: Demand, parameters: dict[str, str], parts: list[tuple[str, int, int]]) -> None:
    """Core, memory and cards; what a claim leaves open its class says."""
    assert cut(want, view("c0"), view("c1"), **parameters) == parts


def test_a_card_is_cut_into_so_many() -> None:
    """Ten by default; whoever else has the card counts, however much is free of it."""
    want = Demand(memory=GI)
    assert cut(want, view("c0", held=9)) == [("c0", 0, 1024)]
    assert cut(want, view("c0", held=10), view("c1")) == [("c1", 0, 1024)]
    assert cut(want, view("c0", held=2), deviceSplitCount="2") == []
    assert cut(replace(want, count=2), view("c0", held=10), view("c1")) == []


def test_priority_is_remembered() -> None:
    """Only one that was named, for a device that somebody else made has none."""
    hami = {"nvidia.com/gpu": 1, "nvidia.com/gpumem": 3000, "nvidia.com/gpucores": 30}
    for more, attributes in ({"nvidia.com/priority": 0}, {"priority": "0"}), ({}, {}):
        found = VCUDA().place(demand(hami | more), NodeView("node-a", (view("c0"),)))
        assert found
        assert found.attributes == attributes


@pytest.mark.parametrize(
    ("want", "said"),
    [
        (Demand(gpus=1), "whole ones never get its library.*elasticgpu.io/whole"),
        (Demand(mig="1g.10gb"), "elasticgpu.io/mig"),
        (Demand(memory=MI, count=2), "ask for at least 1Mi of each card"),
        (Demand(memory=GI, priority=2), "priority 2 is not known: write 0"),
    ],
)
def test_refuses(want: Demand, said: str) -> None:
    """Also where there is no room, with the way out."""
    with pytest.raises(Refused, match=said):
        cut(want)


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("deviceMemoryScaling", "1.5", "1.5 is not served, only 1: .* sells each byte once"),
        ("deviceMemoryScaling", "0.5", "only 1"),
        ("deviceSplitCount", "0", "greater than or equal to 1"),
        ("defaultCores", "101", "less than or equal to 100"),
        ("gpuCoreUtilizationPolicy", "FORCE", "'default', 'force' or 'disable'"),
        ("logLevel", "5", "less than or equal to 4"),
        ("library", "libvgpu.so", "begins with /"),
        ("defaultMemory", "1", "is no parameter of it"),
    ],
)
def test_bad_parameters(name: str, value: str, said: str) -> None:
    """Named, and why."""
    with pytest.raises(Refused, match=f"parameters of elasticgpu.io/vcuda: {name}: .*{said}"):
        VCUDA().tuned({name: value})


def test_the_class_says_the_defaults() -> None:
    """The example's parameters are what a class without any has."""
    written = ElasticGPUClass.model_validate(yaml.safe_load(CLASS.read_text())).spec.parameters
    assert VCUDA().tuned(written).parameters == VCUDA().parameters
    assert len(written) == len(type(VCUDA().parameters).model_fields)


def finish(coroutine: Coroutine[object, None, T]) -> T:
    """What it returns; it has nothing to wait for."""
    with pytest.raises(StopIteration) as done:
        coroutine.send(None)
    answer: T = done.value.value
    return answer


def node(*cards: GPU, library: Path | None = LIBRARY) -> FakeNode:
    """A node with these cards, and with the library if that has a place."""
    made = FakeNode.of(cards)
    if library is not None:
        made.files.directory(library.parent)
        made.files.write(library, b"")
    return made


def device(*parts: CardSlice, priority: str = "") -> ElasticGPU:
    """A device of these parts."""
    attributes = {"priority": priority} if priority else {}
    source = DeviceSource(driver=VCUDA.name, devices=list(parts), attributes=attributes)
    return ElasticGPU(metadata=ObjectMeta(name="egpu-1"), spec=ElasticGPUSpec(source=source))


def part(name: str, core: int, mib: int) -> CardSlice:
    """So much of a card."""
    return CardSlice(gpu=name, core=core, memory=mib * MI)


def prepared(of: ElasticGPU, on: FakeNode, **parameters: str) -> ContainerEdits:
    """What a container gets, by a class with these parameters."""
    plugin = VCUDA().tuned(parameters)
    return finish(plugin.prepare(of, on.host(VCUDA.name)))


def env(edits: ContainerEdits) -> dict[str, str]:
    """The variables by name."""
    return dict(line.split("=", 1) for line in edits.env)


SHARE = device(part("c0", 30, 3000))


def test_what_a_container_gets() -> None:
    """Everything the library reads, and not CUDA_VISIBLE_DEVICES."""
    edits = prepared(SHARE, node(card("c0")))
    region = "/usr/local/vgpu/egpu-1.cache"
    assert env(edits) == {
        "ELASTICGPU_0_UUID": "GPU-c0",
        "NVIDIA_VISIBLE_DEVICES": "void",
        "CUDA_DEVICE_ORDER": "PCI_BUS_ID",
        "CUDA_DEVICE_MEMORY_LIMIT_0": "3000m",
        "CUDA_DEVICE_MEMORY_LIMIT": "1",
        "CUDA_DEVICE_SM_LIMIT_0": "30",
        "CUDA_DEVICE_MEMORY_SHARED_CACHE": region,
        "GPU_CORE_UTILIZATION_POLICY": "default",
        "CUDA_TASK_PRIORITY": "1",
        "ACTIVE_OOM_KILLER": "true",
        "LIBCUDA_LOG_LEVEL": "0",
    }
    mine = OWN / "egpu-1"
    assert {m.container_path: (m.host_path, m.options[0]) for m in edits.mounts} == {
        "/usr/local/vgpu/libvgpu.so": (str(LIBRARY), "ro"),
        "/etc/ld.so.preload": (f"{mine}/ld.so.preload", "ro"),
        region: (f"{mine}/egpu-1.cache", "rw"),
        "/tmp/cudevshr.cache": (f"{mine}/egpu-1.cache", "rw"),
        "/tmp/vgpulock": (f"{OWN}/.vgpulock", "rw"),
    }
    assert [one.path for one in edits.device_nodes][:2] == ["/dev/nvidia0", "/dev/nvidiactl"]


def test_what_is_on_the_node() -> None:
    """Every mount has its file; the region says what the variables say; anybody may write."""
    where = node(card("c0"))
    edits = prepared(device(part("c0", 30, 3000), priority="0"), where)
    assert all(where.files.exists(Path(mount.host_path)) for mount in edits.mounts)
    region = OWN / "egpu-1" / "egpu-1.cache"
    content = where.files.read(region)
    assert content is not None
    assert Region.decode(content, 1) == Region((3000 * MI,), (30,), 0)
    assert where.files.modes[region] == 0o666
    assert where.files.modes[OWN / ".vgpulock"] == 0o777
    assert where.files.read(OWN / "egpu-1" / "ld.so.preload") == b"/usr/local/vgpu/libvgpu.so\n"
    assert env(edits)["CUDA_TASK_PRIORITY"] == "0"


def test_a_device_called_as_the_lock_is() -> None:
    """Whatever devices are called, none takes away what all of the node share."""
    where = node(card("c0"))
    prepared(SHARE, where)
    other = SHARE.with_metadata(name="vgpulock")
    edits = prepared(other, where)
    finish(VCUDA().unprepare(other, where.host(VCUDA.name)))
    (lock,) = (one for one in edits.mounts if one.container_path == "/tmp/vgpulock")
    assert where.files.exists(Path(lock.host_path))


def test_cards_are_counted_as_cuda_counts_them() -> None:
    """By place on the bus, whatever their order in the device; each with its own limits."""
    where = node(card("c0", bus="00000000:C1:00.0"), card("c1", bus="00000000:3b:00.0"))
    said = env(prepared(device(part("c0", 30, 3000), part("c1", 0, 2000)), where))
    assert said["ELASTICGPU_0_UUID"] == "GPU-c1,GPU-c0"
    assert [said[f"CUDA_DEVICE_MEMORY_LIMIT_{n}"] for n in (0, 1)] == ["2000m", "3000m"]
    assert [said[f"CUDA_DEVICE_SM_LIMIT_{n}"] for n in (0, 1)] == ["100", "30"]
    content = where.files.read(OWN / "egpu-1" / "egpu-1.cache") or b""
    assert Region.decode(content, 2) == Region((2000 * MI, 3000 * MI), (100, 30))


@pytest.mark.parametrize(
    ("parameters", "name", "value"),
    [
        ({"disablecorelimit": "true"}, "GPU_CORE_UTILIZATION_POLICY", "disable"),
        ({"gpuCoreUtilizationPolicy": "force"}, "GPU_CORE_UTILIZATION_POLICY", "force"),
        ({"activeOomKiller": "false"}, "ACTIVE_OOM_KILLER", "false"),
        ({"logLevel": "3"}, "LIBCUDA_LOG_LEVEL", "3"),
    ],
)
def test_parameters_of_the_class(parameters: dict[str, str], name: str, value: str) -> None:
    """They reach the container."""
    assert env(prepared(SHARE, node(card("c0")), **parameters))[name] == value


def test_a_library_elsewhere() -> None:
    """It is mounted where processes look for it."""
    there = Path("/opt/hami/libvgpu.so.v2")
    edits = prepared(SHARE, node(card("c0"), library=there), library=str(there))
    assert edits.mounts[0].host_path == str(there)
    assert edits.mounts[0].container_path == str(LIBRARY)
    assert "CUDA_REDIRECT" not in env(edits)


def test_a_node_without_the_library() -> None:
    """Refused, with what to do; nothing is left there."""
    where = node(card("c0"), library=None)
    with pytest.raises(Refused, match=r"node-a has no /usr/local/vgpu/libvgpu.so: put libvgpu.so"):
        prepared(SHARE, where)
    assert where.files.left() == []


@pytest.mark.parametrize("core", [0, 100])
def test_all_of_a_card_needs_no_library(core: int) -> None:
    """Nobody else has room there, so there is nothing to limit, and nothing to break."""
    where = node(card("c0"), library=None)
    edits = prepared(device(part("c0", core, 81920)), where)
    assert env(edits).keys() == {"ELASTICGPU_0_UUID", "NVIDIA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER"}
    assert edits.mounts == []
    assert edits.device_nodes
    assert where.files.left() == []


def test_all_memory_but_not_all_compute() -> None:
    """Somebody asked for a limit."""
    assert prepared(device(part("c0", 30, 81920)), node(card("c0"))).mounts


def test_a_device_without_memory_is_refused() -> None:
    """A limit of 0 would be none."""
    with pytest.raises(Refused, match="egpu-1 needs at least 1Mi memory of c0"):
        prepared(device(part("c0", 30, 0)), node(card("c0")))


def test_prepared_again_for_another_pod() -> None:
    """The region that others have mapped stays the same file; only its limits may be put right."""
    where = node(card("c0"))
    edits = prepared(SHARE, where)
    region = OWN / "egpu-1" / "egpu-1.cache"
    where.files.patch(region, 2000, b"in use")
    assert prepared(SHARE, where) == edits
    prepared(device(part("c0", 30, 4000)), where)
    content = where.files.read(region) or b""
    assert content[2000:2006] == b"in use"
    assert Region.decode(content, 1).memory == (4000 * MI,)


def test_a_region_that_somebody_broke() -> None:
    """Whoever uses it could write anything: said, not repaired under them."""
    where = node(card("c0"))
    prepared(SHARE, where)
    where.files.patch(OWN / "egpu-1" / "egpu-1.cache", 0, bytes(4))
    with pytest.raises(Refused, match=r"egpu-1.cache is no region of version 1.2: end the pods"):
        prepared(SHARE, where)


def test_memory_grows_under_those_who_use_it(tmp_path: Path) -> None:
    """A process that has the region mapped sees the new limit at once, and nothing else changes."""
    where = node(card("c0", bus="2"), card("c1", bus="1"))
    machine = replace(where.machine, files=LocalFiles(), run_dir=tmp_path)
    host = replace(where.host(VCUDA.name), machine=machine)
    plugin = VCUDA().tuned({"library": __file__})
    finish(plugin.prepare(device(part("c0", 30, 3000), part("c1", 20, 2000)), host))
    file = tmp_path / "elasticgpu.io_vcuda" / "egpu-1" / "egpu-1.cache"
    with file.open("r+b") as opened, mmap(opened.fileno(), 0) as mapped:
        before = bytes(mapped)
        for _ in range(2):
            finish(plugin.resize(device(part("c0", 30, 4000), part("c1", 20, 2000)), host))
        at, limit = memory_limit(1, 4000 * MI)
        assert bytes(mapped) == before[:at] + limit + before[at + 8 :]
        assert Region.decode(bytes(mapped), 2).memory == (2000 * MI, 4000 * MI)


def test_there_is_nothing_to_resize() -> None:
    """Whoever has no region has no limit."""
    where = node(card("c0"))
    finish(VCUDA().resize(SHARE, where.host(VCUDA.name)))
    assert where.files.left() == [LIBRARY]


def test_unprepare_leaves_nothing() -> None:
    """But the library, which is not ours; twice, or of what never was, as well."""
    where = node(card("c0"))
    prepared(SHARE, where)
    for _ in range(2):
        finish(VCUDA().unprepare(SHARE, where.host(VCUDA.name)))
        assert where.files.left() == [LIBRARY]


def test_is_installed() -> None:
    """It is found under the name that classes write."""
    assert isinstance(discover()["elasticgpu.io/vcuda"], VCUDA)
