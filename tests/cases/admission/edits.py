"""Changes of pods that are there, and the sentence that refuses them."""

from __future__ import annotations

from elasticgpu.api.names import PODS_LABEL

from .pods import Object, annotate, claim, old, template


def label(value: str | None) -> Object:
    """A merge patch of our label."""
    return {"metadata": {"labels": {PODS_LABEL: value}}}


def fixed(key: str) -> str:
    """What a person reads who edits an annotation."""
    return f"{key} is fixed when the pod is created: delete the pod and create it anew"


STAYS = (
    f'label {PODS_LABEL} stays "true" while the pod lives: by it the controller finds the pods '
    "that use claims"
)
EDITS = [
    ("using", annotate({claim("test"): "b"}), fixed(claim("test"))),
    ("using", annotate({claim("test"): None}), fixed(claim("test"))),
    ("using", annotate({template("test"): "t"}), fixed(template("test"))),
    ("using", annotate({old("test"): "a"}), fixed(old("test"))),
    ("using", annotate({claim("test"): "b", old("test"): "a"}), fixed(old("test"))),
    ("using", annotate({"note": "x"}), ""),
    ("using", label(None), STAYS),
    ("using", label("false"), STAYS),
    ("using", {"metadata": {"labels": {"app": "x"}}}, ""),
    ("plain", annotate({claim("test"): "a"}), fixed(claim("test"))),
    ("plain", annotate({"note": "x"}), ""),
    ("unmet", annotate({claim("test"): None}), fixed(claim("test"))),
    ("unmet", label("true"), ""),
]
