"""`elasticgpu import`: from files as they come to manifests, what is said, and what they serve."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner, Result

from elasticgpu.agent.fleet import Fleet, Row
from elasticgpu.agent.models import MODELS
from elasticgpu.api.core import Node
from elasticgpu.api.elasticgpu import ElasticGPU
from elasticgpu.api.gpu import GPU
from elasticgpu.api.gpuclass import ElasticGPUClass
from elasticgpu.api.meta import ObjectMeta
from elasticgpu.api.vocabulary import Demand, demand
from elasticgpu.cli.configurations import entries, files
from elasticgpu.cli.main import main
from elasticgpu.cluster.client import Client
from elasticgpu.errors import Refused
from elasticgpu.provisioner import Provisioner, discover
from elasticgpu.rules.importing import Choice, translate
from elasticgpu.rules.ledger import Ledger
from elasticgpu.rules.placement import Nowhere, Placed, Wish, place

Object = dict[str, Any]
HERE = Path(__file__).parent
ROOT = HERE.parents[1]
DATA = ROOT / "tests" / "rules" / "importing"
PLUGIN, PARTED = DATA / "device-plugin-config.yaml", DATA / "mig-parted-config.yaml"
CARDS = {
    "node-a": [Row(model="RTX-4090", count=8)],
    "node-b": [Row(model="A100-80GB", count=1, mig_enabled=True), Row(model="A30")],
}
LABELS = {
    "node-a": {"nvidia.com/mps.capable": "true", "nvidia.com/device-plugin.config": "mig-mixed"},
    "node-b": {"nvidia.com/mig.config": "custom-1"},
}


def written(kind: str, obj: GPU) -> Object:
    """The object as `kubectl get -o yaml` has it."""
    return {"apiVersion": obj.resource.api_version, "kind": kind, **obj.wire()}


def fleet(rows: dict[str, list[Row]]) -> list[Object]:
    """Cards of made-up nodes."""
    made = Fleet(nodes=rows)
    return [written("GPU", card) for node in rows for card in made.cards(node)]


Run = Callable[..., Result]


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Runs an import over files, beside the cards and nodes that there are."""

    def imports(*words: str | Path, cards: list[Object] | None = None, stdin: str = "") -> Result:
        nodes = [
            {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": labels}}
            for name, labels in LABELS.items()
        ]
        inventory = tmp_path / "inventory.yaml"
        listed = {"kind": "List", "items": [*nodes, *fleet(CARDS)] if cards is None else cards}
        inventory.write_text(yaml.safe_dump(listed))
        sources = [*map(str, words), str(inventory)]
        return CliRunner().invoke(main, ["import", *sources], input=stdin)

    return imports


def objects(done: Result) -> list[Object]:
    """The manifests that were printed."""
    assert done.exit_code == 0, done.output
    return [one for one in yaml.safe_load_all(done.stdout) if one]


def golden(name: str, said: str) -> None:
    """Compare with what is kept."""
    file = HERE / "imported" / f"{name}.txt"
    shown = said.replace(f"{ROOT}/", "")
    assert file.read_text() == shown


def test_manifests(run: Run) -> None:
    """Both kinds of configuration, nodes by label and by hand: what is printed, word for word."""
    done = run(PLUGIN, PARTED, "--node", "node-a=gpu-operator/device-plugin-config/config1")
    golden("both", f"{done.stderr}{done.stdout}")


def test_a_folder_and_standard_input(run: Run) -> None:
    """The same from a folder, and from a pipe."""
    by_name = run(PLUGIN, PARTED, "--node", "node-a=gpu-operator/device-plugin-config/config1")
    folder = run(DATA, "--node", "node-a=gpu-operator/device-plugin-config/config1")
    assert folder.stdout == by_name.stdout
    words = ("-", PARTED, "--node", "node-a=gpu-operator/device-plugin-config/config1")
    assert run(*words, stdin=PLUGIN.read_text()).stdout == by_name.stdout


def test_without_cards(run: Run) -> None:
    """Classes alone, and that is said."""
    done = run(PLUGIN, cards=[])
    assert [(one["kind"], one["metadata"]["name"]) for one in objects(done)] == [
        ("ElasticGPUClass", "mps-2")
    ]
    assert "no node takes an entry, so there are only classes" in done.stderr


def test_nothing_to_import(run: Run, tmp_path: Path) -> None:
    """What is no configuration is named."""
    other = tmp_path / "pod.yaml"
    other.write_text("kind: Pod\nmetadata: {name: a}\n---\n---\nnothing: here\n")
    done = run(other, cards=[])
    assert done.stdout == ""
    assert f"{other}: Pod is not imported" in done.stderr
    assert f"{other}: something without a kind is not imported" in done.stderr
    assert "no configuration was found" in done.stderr


def config_map(**data: str) -> str:
    """A ConfigMap as a file has it."""
    meta = {"name": "configs", "namespace": "ops"}
    return yaml.safe_dump({"kind": "ConfigMap", "metadata": meta, "data": data})


BOMB = "".join(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]\n" for n in range(1, 20))
MERGES = "".join(f"a{n}: &a{n} {{<<: [{', '.join([f'*a{n - 1}'] * 9)}]}}\n" for n in range(1, 20))
WRONG: list[tuple[str, str, str]] = [
    ("no-yaml", "a: [", "wrong.yaml is no YAML"),
    ("a-list", "- a", "wrong.yaml: a list, not an object of Kubernetes"),
    ("text", config_map(one="version: ["), "ConfigMap ops/configs, one is no YAML"),
    ("field", config_map(one="version: v1\nshare: {}"), "ConfigMap ops/configs, one: share: Extra"),
    ("empty", config_map(one=""), "ConfigMap ops/configs, one: version: Field required"),
    ("scalar", config_map(one="on"), "ConfigMap ops/configs, one: all of it: Input should be"),
    ("version", config_map(one="version: v2"), "ConfigMap ops/configs, one: version: Input should"),
    (
        "layout",
        config_map(**{"config.yaml": "version: v1\nmig-configs: {a: [{devices: all}]}"}),
        "ConfigMap ops/configs, config.yaml: mig-configs.a.0.mig-enabled: Field required",
    ),
    (
        "key-twice",
        config_map(one="version: v1\nversion: v1"),
        "is no YAML: version is there twice",
    ),
    ("kind", "kind: [GPU]", "wrong.yaml: kind is a list"),
    ("items", "kind: List\nitems: [a]", "wrong.yaml: a str, not an object of Kubernetes"),
    ("metadata", "kind: ConfigMap\nmetadata: a", "wrong.yaml: metadata is a str"),
    ("labels", "kind: Node\nmetadata: {name: a, labels: [b]}", "Node a: metadata.labels: Input"),
    ("node", "kind: Node\nmetadata: {name: [a]}", "metadata.name: Input should be a valid string"),
    ("data", "kind: ConfigMap\ndata: [a]", "ConfigMap: data: Input should be a valid dictionary"),
    (
        "number",
        "kind: ConfigMap\ndata: {a: 5}",
        "ConfigMap: data.a: Input should be a",
    ),
    ("date", "a: 2001-99-99", "wrong.yaml is no YAML: month must be in 1..12"),
    ("digits", f"a: {'9' * 5000}", "wrong.yaml is no YAML: Exceeds the limit"),
    ("depth", "[" * 5000, "wrong.yaml: is nested too deep"),
    ("bomb", f"a0: &a0 [x]\n{BOMB}kind: *a19", "wrong.yaml: kind is a list"),
    ("merges", f"a0: &a0 {{x: y}}\n{MERGES}", "wrong.yaml is no YAML: too many keys"),
    ("card", "kind: GPU\nmetadata: {name: c0}", "wrong.yaml: GPU c0: spec: Field required"),
]


@pytest.mark.parametrize(("text", "said"), [pytest.param(*row, id=name) for name, *row in WRONG])
def test_wrong_files(run: Run, tmp_path: Path, text: str, said: str) -> None:
    """What cannot be read is refused with file, ConfigMap and entry, and nothing is printed."""
    wrong = tmp_path / "wrong.yaml"
    wrong.write_text(text)
    done = run(wrong)
    assert (done.exit_code, done.stdout) == (1, "")
    assert said in " ".join(done.stderr.split())


def test_bytes_of_another_world(run: Run, tmp_path: Path) -> None:
    """A file that is no text is refused as such."""
    (tmp_path / "wrong.yaml").write_bytes(b"\xff\xfe\0")
    assert (
        "wrong.yaml is no YAML: it is not written in UTF-8" in run(tmp_path / "wrong.yaml").stderr
    )


def test_what_is_not_honoured_may_have_any_size(run: Run, tmp_path: Path) -> None:
    """Flags of the plugin itself are named, not copied: they may hold themselves."""
    nested = BOMB.replace("\n", "\n  ")
    text = f"version: v1\nflags:\n plugin:\n  a0: &a0 [x]\n  {nested}\n gfd: &me {{me: *me}}\n"
    (tmp_path / "config.yaml").write_text(config_map(one=text))
    done = run(tmp_path / "config.yaml", cards=[])
    assert done.exit_code == 0
    assert [name in done.stderr for name in ("flags.plugin", "flags.gfd")] == [True, True]


def test_a_file_twice(run: Run) -> None:
    """Nodes and cards that were given twice are there once."""
    cards = fleet(CARDS)
    words = (PLUGIN, "--node", "node-a=gpu-operator/device-plugin-config/config1")
    assert run(*words, cards=[*cards, *cards]).stdout == run(*words, cards=cards).stdout


def test_wrong_words(run: Run, tmp_path: Path) -> None:
    """No file, no such file, half an option."""
    done = CliRunner().invoke(main, ["import"])
    assert (done.exit_code, "name files with the ConfigMaps" in done.stderr) == (2, True)
    assert f"{tmp_path / 'none'} cannot be read: No such file" in run(tmp_path / "none").stderr
    assert "--node takes NAME=ENTRY" in run(PLUGIN, "--node", "node-a").stderr


def read(done: Result) -> tuple[list[ElasticGPUClass], list[GPU], list[ElasticGPU]]:
    """The objects that were printed, by kind."""
    made = objects(done)
    return (
        [ElasticGPUClass.model_validate(one) for one in made if one["kind"] == "ElasticGPUClass"],
        [GPU.model_validate(one) for one in made if one["kind"] == "GPU"],
        [ElasticGPU.model_validate(one) for one in made if one["kind"] == "ElasticGPU"],
    )


def applied(cards: Iterable[GPU], patches: Iterable[GPU], devices: Iterable[ElasticGPU]) -> Ledger:
    """A cluster in which it was applied: cards with their modes, devices made ahead admitted."""
    modes = {card.name: card.spec.modes for card in patches}
    ledger = Ledger(card.but(spec=card.spec.but(modes=modes.get(card.name, []))) for card in cards)
    for device in devices:
        assert ledger.lacks(device) is None
        ledger.set_device(device.with_status(phase="Available"))
    return ledger


def fill(ledger: Ledger, placer: Provisioner, want: Demand) -> Iterator[str]:
    """The cards that serve this demand, one after the other, until none does."""
    n = 0
    while not isinstance(found := place(Wish(want), placer, ledger), Nowhere):
        assert isinstance(found, Placed)
        n += 1
        made = ElasticGPU.model_validate(
            {
                "metadata": {"name": f"{placer.name}-{n}"},
                "spec": {"source": {"driver": placer.name, "devices": list(found.place.devices)}},
                "status": {"phase": "Bound"},
            }
        )
        ledger.set_device(made)
        yield from (part.gpu for part in found.place.devices)


def test_what_it_serves(run: Run) -> None:
    """Cards 0 and 1 of 8 hold two shares each, all others are whole."""
    done = run(PLUGIN, "--node", "node-a=gpu-operator/device-plugin-config/config1")
    classes, patches, devices = read(done)
    cards = Fleet(nodes=CARDS).cards("node-a")
    ledger, plugins = applied(cards, patches, devices), discover()
    serving = {
        one.name: plugins[one.spec.provisioner].tuned(one.spec.parameters) for one in classes
    }
    shares = Counter(fill(ledger, serving["mps-2"], demand({"nvidia.com/gpu.shared": 1})))
    assert shares == {card.name: 2 for card in cards[:2]}
    wholes = Counter(fill(ledger, serving["whole"], Demand(gpus=1)))
    assert wholes == {card.name: 1 for card in cards[2:]}


((_, CONFIG_MAP),) = files([str(PARTED)])
LAYOUTS = {entry.path.rpartition("/")[2]: entry for entry in entries("here", CONFIG_MAP)}
WRITTEN = yaml.safe_load(CONFIG_MAP["data"]["config.yaml"])["mig-configs"]


@pytest.mark.parametrize("name", WRITTEN)
def test_every_layout(name: str) -> None:
    """On each model for which it is meant: as many devices of each profile as it says, all with
    room beside each other. It is meant for some."""
    meant, others = [], []
    for model in (model.short for model in MODELS if model.mig):
        cards = Fleet(nodes={"node-a": [Row(model=model, count=2, mig_enabled=True)]}).cards(
            "node-a"
        )
        try:
            found = translate([LAYOUTS[name]], [Choice("node-a", LAYOUTS[name])], cards)
        except Refused as error:
            others.append(error.reason)
            continue
        patches = {one.obj.name: one.obj for one in found.made if isinstance(one.obj, GPU)}
        devices = [one.obj for one in found.made if isinstance(one.obj, ElasticGPU)]
        ledger = applied(cards, patches.values(), devices)
        for card in cards:
            parts = [part for part in WRITTEN[name] if about(part, card)]
            wanted = parts[0].get("mig-devices", {}) if parts else {}
            held = [part for row in ledger.held(card.name) for part in row.parts]
            assert Counter(part.mig_profile for part in held) == wanted
            assert (card.name in patches) is bool(parts)
            if parts:
                mode = "mig" if parts[0]["mig-enabled"] else "whole"
                assert patches[card.name].spec.modes == [f"elasticgpu.io/{mode}"]
                meant.append(model)
    assert meant
    assert all("there is no profile" in reason for reason in others)


def about(part: Object, card: GPU) -> bool:
    """Whether a part of a layout is about this card: mig-parted's own words, read once more."""
    ids = part.get("device-filter", [])
    known = [ids] if isinstance(ids, str) else ids
    return (part["devices"] == "all" or card.status.index in part["devices"]) and (
        not known or card.status.pci_device_id in known
    )


CONFIGS = [
    (f"{one['metadata']['name']}/{name}", yaml.safe_load(text))
    for one in yaml.safe_load_all(PLUGIN.read_text())
    for name, text in one["data"].items()
]


@pytest.mark.parametrize(("name", "says"), CONFIGS, ids=[name for name, _ in CONFIGS])
def test_every_configuration(run: Run, name: str, says: Object) -> None:
    """As many cards share as it says; the rest are whole or, with MIG, may be cut."""
    (sharing,) = says.get("sharing", {}).get("mps", {}).get("resources") or [{"devices": []}]
    shared = 8 if (named := sharing.get("devices", "all")) == "all" else len(named)
    mig = says.get("flags", {}).get("migStrategy", "none") != "none"
    _, patches, _ = read(run(PLUGIN, "--node", f"node-a={name}"))
    rest = ["elasticgpu.io/whole", *(["elasticgpu.io/mig"] if mig else [])]
    assert [one.spec.modes for one in patches if one.spec.node_name == "node-a"] == [
        *([["elasticgpu.io/mps"]] * shared),
        *([rest] * (8 - shared)),
    ]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The kubeconfig of an API server with our kinds."""
    file = str(tmp_path_factory.mktemp("server") / "kubeconfig")
    words = [sys.executable, "-m", "elasticgpu", "apiserver", "--write-kubeconfig", file]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        process.stdout.readline()
        yield file
        process.terminate()
        process.communicate(timeout=30)


async def prepare(kubeconfig: str) -> None:
    """Put nodes, cards and one of the ConfigMaps there, and one that is none."""
    configs = list(yaml.safe_load_all(PLUGIN.read_text()))
    others = {"metadata": {"name": "kube-root-ca.crt"}, "data": {"ca.crt": "-----BEGIN"}}
    async with await Client.connect(kubeconfig=kubeconfig) as client:
        await client.raw("POST", "/api/v1/namespaces", body={"metadata": {"name": "gpu-operator"}})
        path = "/api/v1/namespaces/gpu-operator/configmaps"
        for config_map in (configs[1], CONFIG_MAP, others):
            await client.raw("POST", path, body={**config_map, "apiVersion": "v1"})
        for name, labels in LABELS.items():
            await client.create(Node(metadata=ObjectMeta(name=name, labels=labels)))
            for card in Fleet(nodes=CARDS).cards(name):
                made = await client.create(GPU(metadata=card.metadata, spec=card.spec))
                await client.replace(made.but(status=card.status), "status")


async def everything(kubeconfig: str) -> dict[str, list[str]]:
    """What the server has: cards by their modes, names of the rest."""
    async with await Client.connect(kubeconfig=kubeconfig) as client:
        return {
            "cards": sorted(
                [m.partition("/")[2] async for c in client.list(GPU) for m in c.spec.modes]
            ),
            "classes": sorted([one.name async for one in client.list(ElasticGPUClass)]),
            "devices": sorted([one.name async for one in client.list(ElasticGPU)]),
        }


def test_from_and_into_a_cluster(server: str) -> None:
    """Nodes, cards and configurations are read there; applied twice, it is there once; what others
    have decided stays."""
    asyncio.run(prepare(server))

    def imports(*words: str) -> Result:
        return CliRunner(env={"KUBECONFIG": server}).invoke(main, ["import", *words])

    printed = imports("-n", "gpu-operator")
    by_file = imports(str(PLUGIN), str(PARTED), "--from-cluster", "--node", "node-a=mig-mixed")
    assert [one["metadata"] for one in objects(printed)] == [
        one["metadata"] for one in objects(by_file)
    ]
    assert (asyncio.run(everything(server))["classes"]) == []
    words = ("-n", "gpu-operator", "--node", "node-a=config1", "--apply")
    done = [imports(*words) for _ in range(2)]
    assert [one.exit_code for one in done] == [0, 0], done[0].output
    first, second = (Counter(line.split()[2] for line in one.stdout.splitlines()) for one in done)
    assert (first, second) == ({"created": 7, "configured;": 9}, {"unchanged": 16})
    there = asyncio.run(everything(server))
    assert Counter(there["cards"]) == {"mps": 2, "whole": 6, "mig": 1}
    assert there["classes"] == ["mig", "mps-2", "whole"]
    assert len(there["devices"]) == 4
    asyncio.run(decide(server))
    done = [imports(*words)]
    assert done[0].exit_code == 1
    assert "Error: elasticgpuclass mps-2: there is another one of this name" in done[0].stderr
    assert "gpu node-a-cf362980 configured; it was for elasticgpu.io/vcuda" in done[0].stdout
    assert asyncio.run(everything(server)) == there


async def decide(kubeconfig: str) -> None:
    """Somebody gives a card to another backend, and the class other parameters."""
    async with await Client.connect(kubeconfig=kubeconfig) as client:
        card = await client.get(GPU, ("", "node-a-cf362980"))
        await client.replace(card.but(spec=card.spec.but(modes=["elasticgpu.io/vcuda"])))
        mine = await client.get(ElasticGPUClass, ("", "mps-2"))
        await client.delete(mine)
        spec = mine.spec.but(parameters={"replicas": "4"})
        await client.create(ElasticGPUClass(metadata=ObjectMeta(name="mps-2"), spec=spec))
