"""Models → CustomResourceDefinitions: `python -m elasticgpu.api.schema crds/` writes them."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import yaml

from .claim import ElasticGPUClaim, ElasticGPUClaimTemplate
from .crd_columns import CATEGORY, COLUMNS, SELECTABLE, Column
from .elasticgpu import ElasticGPU
from .gpu import GPU
from .gpuclass import ElasticGPUClass
from .meta import GROUP, KubeObject
from .structural import structural

KINDS: tuple[type[KubeObject], ...] = (
    GPU,
    ElasticGPU,
    ElasticGPUClaim,
    ElasticGPUClaimTemplate,
    ElasticGPUClass,
)
HEADER = (
    "# Generated from elasticgpu/api; do not edit, run: python -m elasticgpu.api.schema crds/\n"
)
Json = dict[str, Any]


def crd(kind: type[KubeObject]) -> Json:
    """The CustomResourceDefinition of one kind."""
    what = kind.resource
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{what.plural}.{what.group}"},
        "spec": {
            "group": what.group,
            "names": _names(kind),
            "scope": "Namespaced" if what.namespaced else "Cluster",
            "versions": [_version(kind)],
        },
    }


def render(kind: type[KubeObject]) -> str:
    """The kind's CRD as YAML, the same text for the same models."""
    return HEADER + dump(crd(kind))


def dump(*documents: Json) -> str:
    """YAML in which everything is written out where it stands, without anchors."""
    return yaml.dump_all(documents, Dumper=_Plain, sort_keys=False, width=100)


def write(folder: Path) -> list[Path]:
    """Write one file a kind into `folder` and name the files."""
    folder.mkdir(parents=True, exist_ok=True)
    files = []
    for kind in KINDS:
        path = folder / f"{GROUP}_{kind.resource.plural}.yaml"
        path.write_text(render(kind), encoding="utf-8")
        files.append(path)
    return files


def _names(kind: type[KubeObject]) -> Json:
    what = kind.resource
    return {
        "kind": what.kind,
        "listKind": f"{what.kind}List",
        "plural": what.plural,
        "singular": what.kind.lower(),
        "shortNames": [what.short],
        "categories": [CATEGORY],
    }


def _version(kind: type[KubeObject]) -> Json:
    name = kind.resource.kind
    version: Json = {
        "name": kind.resource.version,
        "served": True,
        "storage": True,
        "additionalPrinterColumns": [_column(column) for column in COLUMNS[name]],
        "schema": {"openAPIV3Schema": structural(kind)},
    }
    if "status" in kind.model_fields:
        version["subresources"] = {"status": {}}
    if name in SELECTABLE:
        version["selectableFields"] = [{"jsonPath": path} for path in SELECTABLE[name]]
    return version


def _column(column: Column) -> Json:
    priority = {"priority": 1} if column.wide else {}
    return {"name": column.name, "type": column.type, "jsonPath": column.path, **priority}


class _Plain(yaml.SafeDumper):
    def ignore_aliases(self, data: Any) -> bool:
        return True


if __name__ == "__main__":
    for folder in sys.argv[1:] or ["crds"]:
        write(Path(folder))
