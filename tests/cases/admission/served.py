"""Annotated pods, and what each has once it is stored."""

from __future__ import annotations

from typing import NamedTuple

from elasticgpu.api.names import PODS_LABEL

from .pods import LARGEST, USES, Object, claim, container, old, pod, template


def with_claims(name: str, *claims: str) -> Object:
    """A container that refers to these entries by itself."""
    return {"name": name, "resources": {"claims": [{"name": one} for one in claims]}}


class Served(NamedTuple):
    """A pod as people write it, and what it then has."""

    why: str
    pod: Object
    entries: dict[str, str]  # of the pod: name → ResourceClaimTemplate, or ResourceClaim
    containers: dict[str, list[str]]  # container → entries that it refers to
    labels: dict[str, str] = USES


SIDECAR: Object = {"name": "side", "restartPolicy": "Always"}
LONG = "a-container-name-of-sixty-three-characters-is-as-long-as-it-gets"[:63]
SERVED = [
    Served("no annotation: left alone", pod({}), {}, {"test": []}, {}),
    Served(
        "annotations of somebody else, though alike",
        pod({"elasticgpu.example/egpuc-test": "a", "my.elasticgpu.io/note": "b"}),
        {},
        {"test": []},
        {},
    ),
    Served("one claim", pod({claim("test"): "a"}), {"egpu-0": "egpuc-a"}, {"test": ["egpu-0"]}),
    Served(
        "a pod whose name is still to come",
        pod({claim("test"): "a"}, generate="trial-"),
        {"egpu-0": "egpuc-a"},
        {"test": ["egpu-0"]},
    ),
    Served(
        "a claim from a template",
        pod({template("test"): "t"}),
        {"egpu-0": "egpuct-t"},
        {"test": ["egpu-0"]},
    ),
    Served(
        "the older form",
        pod({old("test"): "a"}),
        {"egpu-0": "egpuc-a"},
        {"test": ["egpu-0"]},
    ),
    Served(
        "the older form serves the longest container names",
        pod({old(LONG): "a"}, [LONG]),
        {"egpu-0": "egpuc-a"},
        {LONG: ["egpu-0"]},
    ),
    Served(
        "the longest claim name",
        pod({claim("test"): LARGEST}),
        {"egpu-0": f"egpuc-{LARGEST}"},
        {"test": ["egpu-0"]},
    ),
    Served(
        "one of two containers",
        pod({claim("test"): "a"}, ["plain", "test"]),
        {"egpu-0": "egpuc-a"},
        {"plain": [], "test": ["egpu-0"]},
    ),
    Served(
        "two containers on one claim: one entry",
        pod({claim("left"): "a", claim("right"): "a"}, ["left", "right"]),
        {"egpu-0": "egpuc-a"},
        {"left": ["egpu-0"], "right": ["egpu-0"]},
    ),
    Served(
        "two containers, a claim each",
        pod({claim("left"): "z", claim("right"): "a"}, ["left", "right"]),
        {"egpu-0": "egpuc-a", "egpu-1": "egpuc-z"},
        {"left": ["egpu-1"], "right": ["egpu-0"]},
    ),
    Served(
        "two claims in one container, with spaces, in one order",
        pod({claim("test"): " b ,a "}),
        {"egpu-0": "egpuc-a", "egpu-1": "egpuc-b"},
        {"test": ["egpu-0", "egpu-1"]},
    ),
    Served(
        "the same claim three times",
        pod({claim("test"): "a,a", old("test"): "a"}),
        {"egpu-0": "egpuc-a"},
        {"test": ["egpu-0"]},
    ),
    Served(
        "all forms at once",
        pod({claim("test"): "a", old("test"): "b", template("test"): "a"}),
        {"egpu-0": "egpuc-a", "egpu-1": "egpuc-b", "egpu-2": "egpuct-a"},
        {"test": ["egpu-0", "egpu-1", "egpu-2"]},
    ),
    Served(
        "init container and sidecar",
        pod(
            {claim("init"): "a", template("side"): "t", claim("test"): "a"},
            initContainers=[container("init"), container(SIDECAR)],
        ),
        {"egpu-0": "egpuc-a", "egpu-1": "egpuct-t"},
        {"init": ["egpu-0"], "side": ["egpu-1"], "test": ["egpu-0"]},
    ),
    Served(
        "claims of the user's own stay",
        pod(
            {claim("test"): "a"},
            [with_claims("test", "mine"), with_claims("other", "mine")],
            resourceClaims=[{"name": "mine", "resourceClaimName": "net"}],
        ),
        {"mine": "net", "egpu-0": "egpuc-a"},
        {"test": ["mine", "egpu-0"], "other": ["mine"]},
    ),
    Served(
        "a name that is taken is passed over",
        pod(
            {claim("test"): "a,b"},
            [with_claims("test", "egpu-1")],
            resourceClaims=[{"name": "egpu-1", "resourceClaimName": "net"}],
        ),
        {"egpu-1": "net", "egpu-0": "egpuc-a", "egpu-2": "egpuc-b"},
        {"test": ["egpu-1", "egpu-0", "egpu-2"]},
    ),
    Served(
        "an entry for the same claim is used, whatever its name",
        pod(
            {claim("test"): "a"},
            resourceClaims=[{"name": "gpu", "resourceClaimTemplateName": "egpuc-a"}],
        ),
        {"gpu": "egpuc-a"},
        {"test": ["gpu"]},
    ),
    Served(
        "a pod created anew from what `kubectl get` printed",
        pod(
            {claim("test"): "a"},
            [with_claims("test", "egpu-0")],
            labels=USES,
            resourceClaims=[{"name": "egpu-0", "resourceClaimTemplateName": "egpuc-a"}],
        ),
        {"egpu-0": "egpuc-a"},
        {"test": ["egpu-0"]},
    ),
    Served(
        "claims written by hand",
        pod(
            {},
            [with_claims("test", "gpu")],
            resourceClaims=[{"name": "gpu", "resourceClaimTemplateName": "egpuc-a"}],
        ),
        {"gpu": "egpuc-a"},
        {"test": ["gpu"]},
        {},
    ),
    Served(
        "the label set to something else",
        pod({claim("test"): "a"}, labels={PODS_LABEL: "false", "app": "x"}),
        {"egpu-0": "egpuc-a"},
        {"test": ["egpu-0"]},
        {**USES, "app": "x"},
    ),
    Served(
        "a mirror of a static pod is left alone",
        pod(
            {claim("test"): "a", "kubernetes.io/config.mirror": "x"},
            nodeName="node-1",
            schedulingGates=[],
        ),
        {},
        {"test": []},
        {},
    ),
]
