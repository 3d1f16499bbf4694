"""How the API server merges, defaults and describes single fields, as data for `schema.py`.

A key names a model, or one of its fields by wire name.
"""

from __future__ import annotations

from typing import Any

LIST_KEYS = {
    "Condition": "type",
    "ClaimUser": "podUid",
    "Holding": "elasticGPU",
    "CardSlice": "gpu",
}
"""Lists of these have one row a key; several writers may each own rows (server-side apply)."""

SETS = {
    "ClaimSpec.colocateWith",
    "ClaimUser.containers",
    "ElasticGPUStatus.preparedFor",
    "GPUSpec.modes",
    "Holding.pods",
}
"""Lists whose order says nothing and whose values are there once."""

DEFAULTS = {
    "ClassSpec.reclaimPolicy",
    "ClassSpec.eGPUBindingMode",
    "ElasticGPUSpec.reclaimPolicy",
}
"""The only defaults the API server writes into objects: policies that must not change under an
object when a later release thinks otherwise. What a user applies stays as it is in all else."""

_TEXTS: dict[str, Any] = {"type": "object", "maxProperties": 64}

OVERRIDES: dict[str, dict[str, Any]] = {
    "ClaimTemplateSpec.metadata": {
        "type": "object",
        "properties": {
            "labels": {
                "description": "Labels of the claims.",
                **_TEXTS,
                "additionalProperties": {"type": "string", "maxLength": 63},
            },
            "annotations": {
                "description": "Annotations of the claims.",
                **_TEXTS,
                "additionalProperties": {"type": "string", "maxLength": 4096},
            },
        },
    },
}
"""Fields whose schema is not that of their model."""
