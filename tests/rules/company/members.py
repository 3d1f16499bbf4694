"""Claims with the pods that use them, and the cards that their company is placed on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from elasticgpu.api.claim import ElasticGPUClaim
from elasticgpu.api.core import Node, Pod
from elasticgpu.api.elasticgpu import ElasticGPU
from elasticgpu.api.names import BOUND_BY_CONTROLLER
from elasticgpu.api.vocabulary import Demand
from elasticgpu.rules.company import CompanyDecision
from elasticgpu.rules.consumer import Consumer
from elasticgpu.rules.decisions import Bind, ClaimView, Provision
from elasticgpu.rules.fleet import NodeView
from elasticgpu.rules.ledger import Slice
from elasticgpu.rules.seeking import CompanyView, Part
from tests.rules.build import GI, Share, card, claim, device, free, gpu_class, part, pod, ref, seen

WAITS = gpu_class(egpu_binding_mode="WaitForFirstConsumer")
AT_ONCE = gpu_class()
CHOSEN = {BOUND_BY_CONTROLLER: "yes"}


def node(name: str = "node-a", *, cpu: str = "8", **labels: str) -> Node:
    meta = {"name": name, "labels": labels}
    return Node.model_validate(
        {"metadata": meta, "status": {"allocatable": {"cpu": cpu, "pods": "110"}}}
    )


def cards(**cores: int) -> list[NodeView]:
    """Nodes with one card each, of which so much is free."""
    names = {key: f"node-{key}" for key in cores}
    return [
        NodeView(names[key], (free(card(f"card-{key}", names[key]), core),))
        for key, core in cores.items()
    ]


FLEET = cards(a=100, b=100)
NODES = {"node-a": node("node-a"), "node-b": node("node-b")}


def member(
    of: ElasticGPUClaim, *devices: ElasticGPU, waits: bool = True, **more: object
) -> ClaimView:
    facts: dict[str, Any] = {
        "gpu_class": WAITS if waits else AT_ONCE,
        "placer": Share(),
        "nodes": FLEET,
        "company": True,
        **more,
    }
    return seen(of, *devices, **facts)


def with_pods(
    members: Sequence[ClaimView],
    *pods: Pod,
    nodes: Mapping[str, Node] = NODES,
    taken: Mapping[str, int] | None = None,
    **more: Any,
) -> CompanyView:
    return CompanyView(
        tuple(members),
        consumers=tuple(Consumer.of(one) for one in pods),
        node=nodes.get,
        taken=lambda name, uid: taken or {},
        **more,
    )


def new(on: str, view: ClaimView, core: int = 10) -> Part:
    """The claim gets a new slice of the node's card."""
    cut = Slice((part(f"card-{on[-1]}", core, 10 * GI),))
    assert view.gpu_class is not None
    return Part(view, Provision(view.gpu_class, Demand(core=core, memory=10 * GI), on, cut))


def old(view: ClaimView, found: ElasticGPU) -> Part:
    return Part(view, Bind(found))


def locked(of: ElasticGPUClaim, on: str = "node-a", **more: Any) -> ElasticGPU:
    """A device of which only the lock is written."""
    name = f"egpu-{of.uid}"
    return device(name, of=ref(of), phase="Available", node=on, annotations=CHOSEN, **more)


def bound(of: ElasticGPUClaim, on: str = "node-a") -> ClaimView:
    """A member that has its device, all four writes done."""
    has = device(f"egpu-{of.name}", of=ref(of), phase="Bound", node=on)
    done = claim(of.name, named=has.name, completed=True).with_status(phase="Bound")
    return member(done, has)


TRAIN, EVAL = claim("train"), claim("eval", core=20)
POD = pod(claims=["train"])
ONE, TWO = member(TRAIN), member(EVAL)
SMALL_A = device("egpu-small", node="node-a")
FITS_B = device("egpu-fits", core=20, node="node-b")


def asking(cpu: str) -> Pod:
    box = POD.spec.containers[0]
    box = box.but(resources=box.resources.but(requests={"cpu": cpu}))
    return POD.but(spec=POD.spec.but(containers=[box]))


class Row(NamedTuple):
    """A company, and the decision it leads to."""

    id: str
    view: CompanyView
    want: CompanyDecision


def excluded(of: ElasticGPUClaim, *nodes: str, for_pod: str = "") -> ElasticGPUClaim:
    """The claim after these nodes were tried for it, the last one for the pod of this uid."""
    pods = [for_pod or POD.uid]
    return of.with_status(phase="Pending", excluded_nodes=list(nodes), excluded_for=pods)


NEITHER = member(excluded(TRAIN, "node-a", "node-b"))
