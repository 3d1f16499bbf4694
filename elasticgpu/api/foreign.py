"""Whether the kinds that a cluster serves under our names are ours: asked before a process works.

The older elastic-ai/elastic-gpu has CRDs of the same group, version and names with other fields.
Objects of theirs would be read as nonsense and ours be pruned by their schema.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .meta import GROUP
from .schema import KINDS


def strangers(served: Mapping[str, Any]) -> str:
    """The sentence that refuses what is served, or nothing if that is ours.

    `served` is the APIResourceList of our group and version. Ours have short names, theirs none.
    """
    known = {row["name"]: row.get("shortNames") or [] for row in served.get("resources", ())}
    found = [
        kind.resource.plural
        for kind in KINDS
        if kind.resource.short not in known.get(kind.resource.plural, [kind.resource.short])
    ]
    if not found:
        return ""
    names, crds = ",".join(found), " ".join(f"{name}.{GROUP}" for name in found)
    return (
        f"this cluster has CRDs of our names that are somebody else's ({crds}; elastic-ai/"
        f"elastic-gpu has such ones): keep their objects with `kubectl get -A -o yaml {names}`, "
        f"delete them with `kubectl delete crd {crds}`, which deletes the objects too, and install "
        "ours with `elasticgpu crds | kubectl apply --server-side -f -`"
    )
