"""What entries make of cards: which backend has each, which devices, what is noted and refused."""

from __future__ import annotations

import re

import pytest
from pydantic import ValidationError

from elasticgpu.api.gpu import GPU
from elasticgpu.api.names import SERVES_ANNOTATION
from elasticgpu.errors import Refused
from elasticgpu.rules.importing import Choice, Entry, choices, translate

from .cases import cards, classes, devices, imported, modes, parted, plugin

T4S = cards("T4")
A100S = cards("A100-80GB", 2)
H100S = cards("H100-80GB", 2)
SHARED = {SERVES_ANNOTATION: "nvidia.com/gpu.shared"}
WHOLE = {SERVES_ANNOTATION: "nvidia.com/gpu"}


def mps(devices: str, replicas: int = 2, more: str = "") -> Entry:
    """MPS over these cards."""
    return plugin(
        f"sharing: {{mps: {{renameByDefault: true, {more}resources: "
        f"[{{name: nvidia.com/gpu, devices: {devices}, replicas: {replicas}}}]}}}}"
    )


SHARES: list[tuple[str, Entry, dict[int, list[str]]]] = [
    ("nothing", plugin(""), {n: ["whole"] for n in range(4)}),
    ("all", mps("all"), {n: ["mps"] for n in range(4)}),
    ("indexes", mps("['0', 1]"), {0: ["mps"], 1: ["mps"], 2: ["whole"], 3: ["whole"]}),
    ("count", mps("1"), {0: ["mps"], 1: ["whole"], 2: ["whole"], 3: ["whole"]}),
    (
        "uuid",
        mps(f"[{T4S[3].status.uuid}]"),
        {0: ["whole"], 1: ["whole"], 2: ["whole"], 3: ["mps"]},
    ),
    ("mixed", plugin("flags: {migStrategy: mixed}"), {n: ["whole", "mig"] for n in range(4)}),
    (
        "time-slices",
        plugin(
            "sharing: {timeSlicing: {resources: [{name: nvidia.com/gpu, devices: 1, replicas: 9}]}}"
        ),
        {0: ["gpushare"], 1: ["whole"], 2: ["whole"], 3: ["whole"]},
    ),
    (
        "card-by-card",
        plugin(
            """
            sharing:
              timeSlicing: {resources: [{name: nvidia.com/gpu, devices: [0, 1], replicas: 9}]}
              mps: {resources: [{name: nvidia.com/gpu, devices: [1, 2], replicas: 9}]}
            """
        ),
        {0: ["gpushare"], 1: ["mps"], 2: ["mps"], 3: ["whole"]},
    ),
]


@pytest.mark.parametrize(
    ("entry", "expected"), [pytest.param(*row, id=name) for name, *row in SHARES]
)
def test_modes(entry: Entry, expected: dict[int, list[str]]) -> None:
    """Exactly the cards that are meant get the backend; all others are whole."""
    found = imported(T4S, entry)
    assert modes(found) == expected
    assert {one.obj.name for one in found.made if isinstance(one.obj, GPU)} == {
        card.name for card in T4S
    }


def test_classes() -> None:
    """One for each way of sharing, with the name by which pods ask for it."""
    own = plugin("sharing: {mps: {resources: [{name: nvidia.com/gpu, rename: a/b, replicas: 2}]}}")
    assert classes(imported(T4S, mps("all"))) == {"mps-2": {"replicas": "2", **SHARED}}
    assert classes(translate([mps("all"), own], [], [])) == {
        "mps-2": {"replicas": "2", SERVES_ANNOTATION: "nvidia.com/gpu.shared,a/b"}
    }
    assert classes(imported(T4S, mps("1"))) == {
        "mps-2": {"replicas": "2", **SHARED},
        "whole": WHOLE,
    }
    assert classes(imported(T4S, SHARES[6][1])) == {"gpushare": {}, "whole": WHOLE}


NOTED: list[tuple[str, Entry, str]] = [
    ("flags", plugin("flags: {failOnInitError: true}"), "flags.failOnInitError is about NVIDIA's"),
    (
        "plugin",
        plugin("flags: {plugin: {passDeviceSpecs: true}}"),
        "flags.plugin is about NVIDIA's",
    ),
    ("resources", plugin("resources: {gpus: []}"), "resources is not read by NVIDIA's plugin"),
    ("imex", plugin("imex: {channelIDs: [0]}"), r"imex \(channels between nodes\)"),
    ("single", plugin("flags: {migStrategy: single}"), "single calls MIG instances nvidia.com/gpu"),
    ("several", mps("all", more="failRequestsGreaterThanOne: true, "), "gets so many claims"),
    ("replicas", SHARES[6][1], "timeSlicing.replicas is not imported"),
    ("not-renamed", SHARES[7][1], "leaves nvidia.com/gpu its name"),
    ("both", SHARES[7][1], "card 1 is under mps and timeSlicing: mps wins"),
    (
        "two-classes",
        plugin(
            "sharing: {mps: {resources: [{name: nvidia.com/gpu, devices: [0], replicas: 2}, "
            "{name: nvidia.com/gpu, devices: [1], replicas: 4}]}}"
        ),
        "mps-2 and mps-4 may take the same cards",
    ),
]


@pytest.mark.parametrize(("entry", "said"), [pytest.param(*row, id=name) for name, *row in NOTED])
def test_notes(entry: Entry, said: str) -> None:
    """What is not honoured is said, with the place."""
    notes = imported(T4S, entry).notes
    where = "^a.yaml: ConfigMap ops/plugin, config1.*"
    assert [note for note in notes if re.search(where + said, note)], notes


def test_nothing_is_noted_of_what_is_honoured() -> None:
    """No note where all is imported as it is written."""
    assert imported(T4S, mps("[0, 1]")).notes == ()
    assert imported(T4S, plugin("flags: {migStrategy: none}")).notes == ()
    assert imported(H100S, parted("[{devices: all, mig-enabled: true}]")).notes == ()


def test_capable() -> None:
    """A node without NVIDIA's own label for MPS is served all the same, and that is said."""
    capable = {"nvidia.com/mps.capable": "true"}
    assert imported(T4S, mps("all"), **capable).notes == ()
    (note,) = imported(T4S, mps("all"), other="label").notes
    assert note.startswith("node node-a has no label nvidia.com/mps.capable=true")
    assert imported(T4S, plugin(""), other="label").notes == ()


REFUSED: list[tuple[str, Entry, str]] = [
    ("49-replicas", mps("all", 49), "nvidia.com/gpu: replicas is 49, MPS has at most 48"),
    ("5-of-4", mps("5"), "sharing.mps.devices: 5 of its 4 cards"),
    ("none", mps("0"), "sharing.mps.devices: 0 of its 4 cards"),
    ("no-such-index", mps("[0, 4]"), r"the node has no card 4, but 0 \(GPU-.*\), 1 \(GPU"),
    ("no-such-uuid", mps("[GPU-1]"), "the node has no card GPU-1"),
    ("an-instance", mps("['0:1']"), "the node has no card 0:1"),
    (
        "mig",
        plugin("sharing: {mps: {resources: [{name: nvidia.com/mig-1g.5gb, replicas: 2}]}}"),
        "sharing.mps.resources, nvidia.com/mig-1g.5gb: only nvidia.com/gpu can be shared",
    ),
    (
        "twice",
        plugin(
            "sharing: {mps: {resources: [{name: nvidia.com/gpu, devices: [0], replicas: 2}, "
            "{name: nvidia.com/gpu, devices: [0], replicas: 4}]}}"
        ),
        "card 0 is in two entries of mps",
    ),
]


@pytest.mark.parametrize(("entry", "said"), [pytest.param(*row, id=name) for name, *row in REFUSED])
def test_refused(entry: Entry, said: str) -> None:
    """What makes no sense is refused with file, ConfigMap and entry."""
    with pytest.raises(Refused, match=f"^a.yaml: ConfigMap ops/plugin, config1.*{said}"):
        imported(T4S, entry)


def test_a_uuid_of_another_node() -> None:
    """One entry may name cards of several nodes."""
    others = cards("T4", 1, "node-b")
    entry = mps(f"[{others[0].status.uuid}, {T4S[0].status.uuid}]")
    found = translate([entry], [Choice("node-a", entry), Choice("node-b", entry)], [*others, *T4S])
    shared = [one.obj.name for one in found.made if "mps-2 by" in one.why]
    assert shared == [T4S[0].name, others[0].name]


@pytest.mark.parametrize(
    ("text", "field"),
    [
        ("sharing: {mps: {resources: [{name: a, replicas: 1}]}}", "replicas"),
        ("sharing: {mps: {resources: [{name: a, replicas: 2, device: all}]}}", "device"),
        ("sharing: {MPS: {}}", "MPS"),
        ("flags: {migStrategie: none}", "migStrategie"),
        ("version: v2", "version"),
    ],
)
def test_no_such_field(text: str, field: str) -> None:
    """A misspelt field is an error, named."""
    with pytest.raises(ValidationError) as refused:
        plugin(text)
    assert refused.value.errors()[0]["loc"][-1] == field


CUT = parted(
    "[{devices: [0], mig-enabled: true, mig-devices: {3g.40gb: 1, 1g.10gb: 2, 2g.20gb: 1}}]"
)
ON_ALL = "[{devices: all, mig-enabled: %s, mig-devices: {%s}}]"


def test_cut() -> None:
    """The card's mode, and the devices with profile, start and size; the other card is left out."""
    found = imported(A100S, CUT)
    assert modes(found) == {0: ["mig"]}
    assert classes(found) == {"mig": {}}
    head = A100S[0].name
    parts = {one.name: one.spec.source.devices[0] for one in devices(found)}
    assert {name: (of.mig_profile, of.mig_start, of.core) for name, of in parts.items()} == {
        f"{head}-2g-20gb-0": ("2g.20gb", 0, 28),
        f"{head}-1g-10gb-2": ("1g.10gb", 2, 14),
        f"{head}-1g-10gb-3": ("1g.10gb", 3, 14),
        f"{head}-3g-40gb-4": ("3g.40gb", 4, 42),
    }
    assert {one.spec.elastic_gpu_class_name for one in devices(found)} == {"mig"}
    assert devices(found)[0].spec.capacity == {
        "elasticgpu.io/gpu-core": 28,
        "elasticgpu.io/gpu-memory": "19968Mi",
    }
    assert found.notes == (
        "b.yaml: ConfigMap ops/parted, layout, node node-a: card 0 is not in MIG mode, which on "
        "this card only a reset changes",
    )


def test_enabled_and_disabled() -> None:
    """Without devices they are cut as claims come; what is not enabled is whole."""
    assert modes(imported(H100S, parted(ON_ALL % ("true", "")))) == {0: ["mig"], 1: ["mig"]}
    off = imported(H100S, parted(ON_ALL % ("false", "")))
    assert (modes(off), classes(off)) == ({0: ["whole"], 1: ["whole"]}, {"whole": WHOLE})


def test_both_kinds() -> None:
    """One card by MPS, one by MIG; a card cannot be both, one that is not cut stays shared."""
    one = parted("[{devices: [1], mig-enabled: true}]")
    assert modes(imported(H100S, one, mps("[0]"))) == {0: ["mps"], 1: ["mig"]}
    mixed = plugin("flags: {migStrategy: mixed}")
    off = parted("[{devices: [1], mig-enabled: false}]")
    assert modes(imported(H100S, off, mixed)) == {0: ["whole", "mig"], 1: ["whole"]}
    assert modes(imported(H100S, off, mps("all"))) == {0: ["mps"], 1: ["mps"]}
    with pytest.raises(
        Refused, match=r"card 1 is to be cut, and by its labels is elasticgpu\.io/mps"
    ):
        imported(H100S, one, mps("all"))


def test_filter() -> None:
    """Each card takes the part whose filter has its device id; others are left out."""
    node = [
        *cards("A30", 1),
        *(card.but(status=card.status.but(index=1)) for card in cards("T4", 1)),
    ]
    layout = """
        - {device-filter: "0x20B710DE", devices: all, mig-enabled: true, mig-devices: {2g.12gb: 2}}
        - {device-filter: [0x233010DE, "0x233110DE"], devices: all, mig-enabled: true}
        """
    assert modes(imported(node, parted(layout))) == {0: ["mig"]}
    mute = [node[0].but(status=node[0].status.but(pci_device_id=""))]
    with pytest.raises(Refused, match="card 0 does not tell its PCI device id"):
        imported(mute, parted(layout))


UNCUT: list[tuple[str, list[GPU], str, str]] = [
    ("no-mig", T4S, ON_ALL % ("true", ""), "card 0, Tesla T4, cannot be cut by MIG"),
    ("no-such-profile", H100S, ON_ALL % ("true", "1g.5gb: 1"), "NVIDIA H100 .*there is no profile"),
    ("too-many", H100S, ON_ALL % ("true", "1g.10gb: 8"), "cannot hold 8 of 1g.10gb"),
    ("not-beside", H100S, ON_ALL % ("true", "4g.40gb: 1, 3g.40gb: 2"), "cannot hold 1 of 4g.40gb"),
    ("not-enabled", H100S, ON_ALL % ("false", "1g.10gb: 1"), "cards that are not mig-enabled"),
    ("no-such-card", H100S, "[{devices: [0, 2, 3], mig-enabled: true}]", "has no card 2, 3"),
    (
        "twice",
        H100S,
        "[{devices: [0], mig-enabled: true}, {devices: all, mig-enabled: true}]",
        "card 0 is in 2 parts of it",
    ),
]


@pytest.mark.parametrize(
    ("here", "text", "said"), [pytest.param(*row, id=name) for name, *row in UNCUT]
)
def test_uncut(here: list[GPU], text: str, said: str) -> None:
    """What the cards cannot be is refused with file, ConfigMap, entry, node and card."""
    with pytest.raises(
        Refused, match=f"^b.yaml: ConfigMap ops/parted, layout, node node-a: .*{said}"
    ):
        imported(here, parted(text))


@pytest.mark.parametrize(
    "text",
    [
        "{devices: all}",
        "{devices: some, mig-enabled: true}",
        "{devices: all, mig-enabled: true, mig: {}}",
        "{devices: all, mig-enabled: true, device-filter: [A100]}",
        "{devices: all, mig-enabled: true, device-filter: {}}",
        "{devices: all, mig-enabled: true, mig-devices: {1g.5gb: 0}}",
    ],
)
def test_no_such_part(text: str) -> None:
    """A misspelt or impossible field is an error."""
    with pytest.raises(ValidationError):
        parted(f"[{text}]")


def test_a_name_that_is_too_long() -> None:
    """A device's name is a DNS label: of a card with a long one a digest, the same each time."""
    node = "a-node.of-a-large.data-center.of-a-very-large-company.example"
    here = [
        card.but(spec=card.spec.but(node_name="node-a")) for card in cards("A100-80GB", 1, node)
    ]
    names = [one.name for one in devices(imported(here, CUT))]
    assert names == [one.name for one in devices(imported(here, CUT))]
    assert len(set(names)) == 4
    assert all(len(name) <= 63 and "." not in name for name in names)


ENTRIES = [mps("all"), plugin("", "config0"), parted("[]", "config0"), parted("[]")]
NODES = {
    "one": {"nvidia.com/device-plugin.config": "config0"},
    "two": {"nvidia.com/device-plugin.config": "config1", "nvidia.com/mig.config": "layout"},
    "none": {"other": "label"},
}


def test_choices_by_label() -> None:
    """Each label chooses among the entries of its kind."""
    found, notes = choices(ENTRIES, NODES, [])
    assert [(one.node, one.entry.path) for one in found] == [
        ("one", "ops/plugin/config0"),
        ("two", "ops/plugin/config1"),
        ("two", "ops/parted/layout"),
    ]
    assert [one.labels for one in found] == [NODES["one"], NODES["two"], NODES["two"]]
    assert notes == []
    assert choices(ENTRIES[:1], {"two": NODES["two"]}, [])[1] == [
        "node two: label nvidia.com/mig.config=layout: no configuration of that kind was given"
    ]


def test_choices_by_hand() -> None:
    """What is said of a node is before its label of that kind; the other counts."""
    found, _ = choices(ENTRIES, NODES, [("two", "plugin/config0"), ("new", "config1")])
    assert [(one.node, one.entry.path, one.labels is None) for one in found] == [
        ("two", "ops/plugin/config0", True),
        ("new", "ops/plugin/config1", True),
        ("one", "ops/plugin/config0", False),
        ("two", "ops/parted/layout", False),
    ]


@pytest.mark.parametrize(
    ("by_hand", "said"),
    [
        (
            [("one", "config0")],
            "ops/plugin/config0 and ops/parted/config0: say --node NODE=ops/plu",
        ),
        ([("one", "config7")], "--node one=config7: there is no such entry; there are: ops/plugin"),
        ([("one", "config1"), ("one", "plugin/config0")], "takes one entry of a kind, not two"),
    ],
)
def test_choices_refused(by_hand: list[tuple[str, str]], said: str) -> None:
    """What is not there, there twice, or said twice."""
    with pytest.raises(Refused, match=said):
        choices(ENTRIES, {}, by_hand)


def test_no_entries() -> None:
    """Nothing to choose from is said so."""
    with pytest.raises(Refused, match="there are: none"):
        choices([], {}, [("one", "config0")])


def test_a_node_without_cards() -> None:
    """Where no agent has published cards, nothing can be said of them."""
    with pytest.raises(Refused, match="node node-a has no GPU objects: is its agent running"):
        imported([], plugin(""))
