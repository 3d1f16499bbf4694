"""Fleet files: the cards they make up, and how they say what is wrong."""

from __future__ import annotations

from pathlib import Path

import pytest

from elasticgpu.agent import fleet
from elasticgpu.agent.models import MODELS, known
from elasticgpu.api.quantity import to_int
from elasticgpu.errors import Refused


def written(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "fleet.yaml"
    path.write_text(text)
    return path


def test_known_model(tmp_path: Path) -> None:
    """A known model needs its name only, short or NVML's, in any case."""
    file = written(tmp_path, "nodes: {a: [h200, NVIDIA H200]}")
    one, two = fleet.load(file).cards("a")
    assert one.status.model == two.status.model == "NVIDIA H200"
    assert one.memory == 143771 << 20
    assert (one.status.architecture, one.status.compute_capability) == ("hopper", "9.0")
    assert (one.status.tflops, one.status.health, one.status.simulated) == (989, "Healthy", True)
    assert [card.status.index for card in (one, two)] == [0, 1]
    assert [card.spec.node_name for card in (one, two)] == ["a", "a"]


def test_same_at_every_start(tmp_path: Path) -> None:
    """A node has the same cards after every start, and no two nodes share one."""
    file = written(tmp_path, "nodes: {'*': [{model: T4, count: 8}]}")
    first = [card.status.uuid for card in fleet.load(file).cards("a")]
    again = [card.status.uuid for card in fleet.load(file).cards("a")]
    other = [card.status.uuid for card in fleet.load(file).cards("b")]
    assert first == again
    assert len({*first, *other}) == 16


def test_name(tmp_path: Path) -> None:
    """A card is named by its node and the first 8 digits of its uuid, wherever it is plugged."""
    row = "{model: T4, uuid: GPU-0A1B2C3D-5e6f-7081-92a3-b4c5d6e7f809}"
    file = written(tmp_path, f"nodes: {{Node.a: [{row}, T4], b: [T4, {row}]}}")
    found = fleet.load(file)
    assert found.cards("Node.a")[0].name == "node.a-0a1b2c3d"
    assert found.cards("b")[1].name == "b-0a1b2c3d"


def test_any_node(tmp_path: Path) -> None:
    """`*` means every node that is not named; without it such a node has no cards."""
    file = written(tmp_path, "nodes: {a: [], '*': [T4]}")
    assert fleet.load(file).cards("a") == []
    assert len(fleet.load(file).cards("b")) == 1
    assert fleet.load(written(tmp_path, "nodes: {a: [T4]}")).cards("b") == []


def test_own_model(tmp_path: Path) -> None:
    """A model of one's own has what the row says; memory follows the one unit rule."""
    file = written(tmp_path, "nodes: {a: [{model: Mine, memory: 3000, numaNode: 1, tflops: 7}]}")
    (card,) = fleet.load(file).cards("a")
    assert (card.status.model, card.memory) == ("Mine", 3000 << 20)
    assert (card.status.numa_node, card.status.tflops) == (1, 7)


def test_links(tmp_path: Path) -> None:
    """`links` connects every card of a row with every other one, and with no card besides."""
    row = "{model: H200, count: 3, links: {kind: NVSwitch, bandwidth: 450000}}"
    *linked, alone = fleet.load(written(tmp_path, f"nodes: {{a: [{row}, H200]}}")).cards("a")
    names = {card.name for card in linked}
    for card in linked:
        assert {link.peer for link in card.status.links} == names - {card.name}
        assert {(link.kind, link.bandwidth) for link in card.status.links} == {("NVSwitch", 450000)}
    assert alone.status.links == []


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("nodes: [", "is no YAML"),
        ("", "the file: Input should be a valid dictionary"),
        ("node: {}", "node: Extra inputs are not permitted"),
        ("nodes: {a: [H2000]}", "nodes.a.0: model 'H2000' is not known, so give its memory"),
        ("nodes: {a: [H2000]}", "known are A100-40GB, "),
        ("nodes: {a: [T4, {model: T4, count: 0}]}", "nodes.a.1.count"),
        ("nodes: {a: [{model: T4, memroy: 1}]}", "nodes.a.0.memroy: Extra inputs"),
        ("nodes: {a: [{model: X, memory: much}]}", "nodes.a.0.memory: 'much' is not a quantity"),
        ("nodes: {a: [{model: X, memory: -1}]}", "memory is more than 0 bytes"),
        ("nodes: {a: [{model: T4, count: 2, uuid: x}]}", "one uuid cannot be that of several"),
        (
            "nodes: {a: [{model: T4, uuid: GPU-00000000-1}, {model: T4, uuid: GPU-00000000-2}]}",
            "nodes.a: 2 cards would be called a-00000000",
        ),
    ],
)
def test_errors(tmp_path: Path, text: str, said: str) -> None:
    """An error names the file, the place in it, and what is wrong there."""
    file = written(tmp_path, text)
    with pytest.raises(Refused) as refused:
        fleet.load(file)
    assert str(file) in refused.value.reason
    assert said in refused.value.reason


def test_no_file(tmp_path: Path) -> None:
    """A file that is not there is said to be so."""
    with pytest.raises(Refused, match=r"nowhere\.yaml cannot be read: No such file"):
        fleet.load(tmp_path / "nowhere.yaml")


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.short)
def test_table(model: object) -> None:
    """Every model of the table is found by both its names and has all its figures."""
    assert model in MODELS
    row = next(m for m in MODELS if m is model)
    assert known(row.short) is known(row.name) is row
    assert min(row.memory_mib, row.tflops) > 0
    assert to_int(row.memory_mib) < 1 << 20
