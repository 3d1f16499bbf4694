"""Which nodes a pod may run on: each reason in words, and an oracle written another way."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from elasticgpu.api.core import Node, Pod
from elasticgpu.api.gpuclass import Topology
from elasticgpu.rules.consumer import Consumer, outside, unsuited

Wire = dict[str, Any]


def node(name: str = "node-a", **labels: str) -> Node:
    return Node.model_validate(
        {
            "metadata": {"name": name, "labels": {"zone": "east", "gpus": "8", **labels}},
            "status": {"allocatable": {"cpu": "8", "memory": "16Gi", "pods": "2"}},
        }
    )


def tainted(*taints: str, cordoned: bool = False) -> Node:
    """A node with taints written `key=value:effect`."""
    rows = []
    for taint in taints:
        pair, effect = taint.split(":")
        key, _, value = pair.partition("=")
        rows.append({"key": key, "value": value, "effect": effect})
    spec = {"taints": rows, "unschedulable": cordoned}
    return node().but(spec=Node.model_validate({"spec": spec}).spec)


def pod(cpu: str = "", **spec: object) -> Pod:
    box = {"name": "c", "resources": {"requests": {"cpu": cpu} if cpu else {}}}
    whole = {"containers": [box], **spec}
    return Pod.model_validate({"metadata": {"name": "p"}, "spec": whole})


def requiring(*terms: Wire) -> Wire:
    """A pod spec's affinity with these required terms."""
    required = {"nodeSelectorTerms": list(terms)}
    key = "requiredDuringSchedulingIgnoredDuringExecution"
    return {"affinity": {"nodeAffinity": {key: required}}}


def labelled(key: str, operator: str, *values: str) -> Wire:
    return {"matchExpressions": [{"key": key, "operator": operator, "values": list(values)}]}


def named(operator: str, *values: str) -> Wire:
    field = {"key": "metadata.name", "operator": operator, "values": list(values)}
    return {"matchFields": [field]}


def tolerating(**toleration: str) -> Wire:
    return {"tolerations": [toleration]}


MISFIT = "it does not fit the pod's node affinity"
KEY = "node.kubernetes.io/unschedulable"
LACK = "the pod does not tolerate its taint gpu=only:NoSchedule"
ROWS: list[tuple[str, Pod, Node | None, str | None]] = [
    ("anything", pod(), node(), None),
    ("no-such-node", pod(), None, "there is no such node"),
    ("on-it-already", pod(nodeName="node-a"), tainted("x:NoSchedule"), None),
    ("on-another", pod(nodeName="node-b"), node(), "the pod is on node-b"),
    ("selected", pod(nodeSelector={"zone": "east"}), node(), None),
    ("not-selected", pod(nodeSelector={"zone": "west"}), node(), "it is not labelled zone=west"),
    ("in", pod(**requiring(labelled("zone", "In", "west", "east"))), node(), None),
    ("not-in", pod(**requiring(labelled("zone", "NotIn", "east"))), node(), MISFIT),
    ("not-in-absent", pod(**requiring(labelled("rack", "NotIn", "1"))), node(), None),
    ("exists", pod(**requiring(labelled("zone", "Exists"))), node(), None),
    ("exists-absent", pod(**requiring(labelled("rack", "Exists"))), node(), MISFIT),
    ("does-not-exist", pod(**requiring(labelled("zone", "DoesNotExist"))), node(), MISFIT),
    ("more", pod(**requiring(labelled("gpus", "Gt", "7"))), node(), None),
    ("not-more", pod(**requiring(labelled("gpus", "Gt", "8"))), node(), MISFIT),
    ("less", pod(**requiring(labelled("gpus", "Lt", "+9"))), node(), None),
    ("less-than-no-number", pod(**requiring(labelled("zone", "Lt", "9"))), node(), MISFIT),
    ("more-than-absent", pod(**requiring(labelled("rack", "Gt", "0"))), node(), MISFIT),
    ("more-than-64-bits", pod(**requiring(labelled("gpus", "Lt", "9" * 30))), node(), MISFIT),
    ("unknown-operator", pod(**requiring(labelled("zone", "Like", "east"))), node(), MISFIT),
    ("by-name", pod(**requiring(named("In", "node-a"))), node(), None),
    ("by-another-name", pod(**requiring(named("NotIn", "node-a"))), node(), MISFIT),
    ("no-term", pod(**requiring()), node(), MISFIT),
    ("empty-term", pod(**requiring({})), node(), MISFIT),
    (
        "one-of-two-terms",
        pod(**requiring(labelled("zone", "In", "west"), named("In", "node-a"))),
        node(),
        None,
    ),
    (
        "all-of-one-term",
        pod(**requiring({**labelled("zone", "In", "west"), **named("In", "node-a")})),
        node(),
        MISFIT,
    ),
    ("cordoned", pod(), tainted(cordoned=True), "it is cordoned"),
    (
        "cordoned-and-tolerated",
        pod(**tolerating(key=KEY, operator="Exists")),
        tainted(cordoned=True),
        None,
    ),
    ("tainted", pod(), tainted("gpu=only:NoSchedule"), LACK),
    (
        "tainted-without-value",
        pod(),
        tainted("down:NoExecute"),
        "the pod does not tolerate its taint down:NoExecute",
    ),
    ("taint-that-only-prefers", pod(), tainted("gpu=only:PreferNoSchedule"), None),
    ("tolerated", pod(**tolerating(key="gpu", value="only")), tainted("gpu=only:NoSchedule"), None),
    (
        "tolerated-equal",
        pod(**tolerating(key="gpu", operator="Equal", value="only", effect="NoSchedule")),
        tainted("gpu=only:NoSchedule"),
        None,
    ),
    (
        "another-value",
        pod(**tolerating(key="gpu", value="some")),
        tainted("gpu=only:NoSchedule"),
        LACK,
    ),
    (
        "another-effect",
        pod(**tolerating(key="gpu", operator="Exists", effect="NoExecute")),
        tainted("gpu=only:NoSchedule"),
        LACK,
    ),
    (
        "tolerates-anything",
        pod(**tolerating(operator="Exists")),
        tainted("gpu=only:NoSchedule", "x:NoExecute", cordoned=True),
        None,
    ),
    (
        "unknown-toleration",
        pod(**tolerating(key="gpu", operator="Lt", value="only")),
        tainted("gpu=only:NoSchedule"),
        LACK,
    ),
    (
        "one-of-two-taints",
        pod(**tolerating(key="x", operator="Exists")),
        tainted("x:NoSchedule", "gpu=only:NoSchedule"),
        LACK,
    ),
    ("cpu-left", pod("6"), node(), None),
    ("cpu-gone", pod("6.001"), node(), "6000m cpu free, 6001m wanted"),
    (
        "memory-gone",
        Pod.model_validate(
            {"spec": {"containers": [{"name": "c", "resources": {"requests": {"memory": "16Gi"}}}]}}
        ),
        node(),
        "15Gi memory free, 16Gi wanted",
    ),
]
TAKEN = {"cpu": 2000, "memory": 1 << 30, "pods": 1}


@pytest.mark.parametrize(
    ("of", "where", "want"), [pytest.param(p, n, w, id=i) for i, p, n, w in ROWS]
)
def test_reason(of: Pod, where: Node | None, want: str | None) -> None:
    """What speaks against the node, in words; None if nothing does."""
    assert unsuited(Consumer.of(of), "node-a", where, TAKEN) == want


def test_as_many_pods_as_the_node_takes() -> None:
    """The number of pods is a room like any other."""
    full = {"pods": 2}
    assert unsuited(Consumer.of(pod()), "node-a", node(), full) == "0 pods free, 1 wanted"


def test_resources_of_others() -> None:
    """A device plugin's resource counts where the node has it; elsewhere the scheduler judges."""
    asks = pod()
    box = asks.spec.containers[0]
    box = box.but(resources=box.resources.but(requests={"example.com/nic": 1}))
    consumer = Consumer.of(asks.but(spec=asks.spec.but(containers=[box])))
    assert unsuited(consumer, "node-a", node(), {}) is None
    has = node().but(status=node().status.but(allocatable={"example.com/nic": "1", "pods": 9}))
    assert unsuited(consumer, "node-a", has, {}) is None
    said = "0 example.com/nic free, 1 wanted"
    assert unsuited(consumer, "node-a", has, {"example.com/nic": 1}) == said


def topology(**values: list[str]) -> Topology:
    rows = [{"key": key, "values": allowed} for key, allowed in values.items()]
    return Topology.model_validate({"matchLabelExpressions": rows})


def test_topologies() -> None:
    """One of them has to fit, with all its expressions; none given allows every node."""
    here, elsewhere = topology(zone=["east"], gpus=["4", "8"]), topology(zone=["west"])
    no = "its class does not allow that node"
    cases = [([], None), ([here], None), ([elsewhere], no), ([elsewhere, here], None)]
    assert [outside(allowed, node()) for allowed, _ in cases] == [want for _, want in cases]
    assert outside([topology(zone=["east"], gpus=["4"])], node()) == no
    assert outside([here], None) == no
    assert outside([], None) is None


KEYS, VALUES = ("a", "b"), ("1", "2", "x")
OPERATORS = ("In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt")
EFFECTS = ("NoSchedule", "NoExecute", "PreferNoSchedule")
labels = st.dictionaries(st.sampled_from(KEYS), st.sampled_from(VALUES))
terms = st.lists(
    st.lists(
        st.tuples(
            st.sampled_from(KEYS), st.sampled_from(OPERATORS), st.lists(st.sampled_from(VALUES))
        ),
        max_size=2,
    ),
    max_size=2,
)
taints = st.lists(
    st.tuples(st.sampled_from(KEYS), st.sampled_from(VALUES), st.sampled_from(EFFECTS)), max_size=2
)
tolerations = st.lists(
    st.tuples(
        st.sampled_from(("", *KEYS)),
        st.sampled_from(("Exists", "Equal")),
        st.sampled_from(VALUES),
        st.sampled_from(("", *EFFECTS)),
    ),
    max_size=2,
)


@given(labels, labels, st.none() | terms, taints, tolerations)
def test_nodes_pass_as_the_documentation_says(
    has: dict[str, str],
    selector: dict[str, str],
    wanted: list[list[tuple[str, str, list[str]]]] | None,
    taints: list[tuple[str, str, str]],
    tolerations: list[tuple[str, str, str, str]],
) -> None:
    """Affinity as sets of labels that are allowed, taints as those that are left over."""
    where = Node.model_validate(
        {
            "metadata": {"name": "node-a", "labels": has},
            "spec": {
                "taints": [dict(zip(("key", "value", "effect"), t, strict=True)) for t in taints]
            },
            "status": {"allocatable": {"pods": 1}},
        }
    )
    rows = [dict(zip(("key", "operator", "value", "effect"), t, strict=True)) for t in tolerations]
    spec: Wire = {"nodeSelector": selector, "tolerations": rows}
    if wanted is not None:
        shapes = [
            {"matchExpressions": [{"key": k, "operator": o, "values": v} for k, o, v in term]}
            for term in wanted
        ]
        spec |= requiring(*shapes)
    passes = unsuited(Consumer.of(pod(**spec)), "node-a", where, {}) is None
    assert passes == (
        selector.items() <= has.items()
        and (wanted is None or any(term and all(_holds(has, *e) for e in term) for term in wanted))
        and not any(_repels(taint, tolerations) for taint in taints)
    )


def _holds(has: dict[str, str], key: str, operator: str, values: list[str]) -> bool:
    """By enumeration: the values of the label (None if it is absent) that satisfy it."""
    every = {*VALUES, None}
    numbers = {"1": 1, "2": 2}
    bound = numbers.get(values[0]) if len(values) == 1 else None
    satisfying: dict[str, set[str | None]] = {
        "In": set(values),
        "NotIn": every - set(values),
        "Exists": every - {None},
        "DoesNotExist": {None},
        "Gt": {v for v, n in numbers.items() if bound is not None and n > bound},
        "Lt": {v for v, n in numbers.items() if bound is not None and n < bound},
    }
    return has.get(key) in satisfying[operator]


def _repels(taint: tuple[str, str, str], tolerations: list[tuple[str, str, str, str]]) -> bool:
    key, value, effect = taint
    if effect == "PreferNoSchedule":
        return False
    accepted = {(key, "Exists", None), ("", "Exists", None), (key, "Equal", value)}
    return not any(
        e in ("", effect) and (k, o, v if o == "Equal" else None) in accepted
        for k, o, v, e in tolerations
    )
