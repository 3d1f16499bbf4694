"""What a node is good for: new devices, the ones it has, or none of them any more.

Three answers, from the mildest: a node that is *closed* gets nothing new; one that is *not ready*
keeps what it has, for its containers may run on unheard; one that is *lost* will never undo what it
prepared, so that others may do so in its place.

A node is known by its name, as pods and volumes know it: an object of the same name made anew is
the same place. What is really there its agent knows, from its ledger and its cards.
"""

from __future__ import annotations

from elasticgpu.api.core import Node

OUT_OF_SERVICE = "node.kubernetes.io/out-of-service"
"""Taint by which an admin says that the node's machine is off and stays so (in Kubernetes' words: a
non-graceful node shutdown)."""


def ready(node: Node) -> bool:
    """Whether the node's kubelet is heard of and says that all is well."""
    return any(c.type == "Ready" and c.status == "True" for c in node.status.conditions)


def out_of_service(node: Node) -> bool:
    """Whether an admin said that the node is off."""
    return any(taint.key == OUT_OF_SERVICE for taint in node.spec.taints)


def closed(name: str, node: Node | None) -> str | None:
    """Why nothing new is placed on the node of this name, in words; None if it may be."""
    if node is None:
        return f"node {name} does not exist"
    if node.terminating:
        return f"node {name} is being deleted"
    if out_of_service(node):
        return f"node {name} is out of service"
    if node.spec.unschedulable:
        return f"node {name} is cordoned"
    return None if ready(node) else f"node {name} is not ready"


def lost(name: str, node: Node | None) -> str | None:
    """Why nothing on the node of this name will ever be undone by it, in words; None if it may.

    Like Kubernetes, that forces pods off a node only then, the taint is believed once the node is
    not heard of any more: as long as it is, it undoes what it has by itself.
    """
    if node is None:
        return f"node {name} is gone"
    if out_of_service(node) and not ready(node):
        return f"node {name} is out of service"
    return None
