"""Pods that are refused, and the sentence that a person reads."""

from __future__ import annotations

from .pods import LARGEST, claim, container, old, pod, template

RULES = 'names have at most 240 characters, which are lower-case letters, digits, "-" and "."'
REFUSED = [
    (
        pod({"elasticgpu.io/egpucs-test": "a", claim("test"): "a"}),
        "elasticgpu.io/egpucs-test is no annotation elasticgpu knows: write "
        "elasticgpu.io/egpuc-<container> for claims or elasticgpu.io/egpuct-<container> for a "
        "claim template",
    ),
    (
        pod({claim("foo"): "a"}, ["test", "sidecar"]),
        'elasticgpu.io/egpuc-foo names container "foo", but the pod has test, sidecar',
    ),
    (
        pod({old("foo"): "a"}, initContainers=[container("init")]),
        'egpuc.elasticgpu.io/foo names container "foo", but the pod has init, test',
    ),
    (
        pod({template("foo"): "a", claim("test"): "a"}),
        'elasticgpu.io/egpuct-foo names container "foo", but the pod has test',
    ),
    (
        pod({claim("test"): ""}),
        "elasticgpu.io/egpuc-test is empty: write the name of an ElasticGPUClaim there, "
        "or take the annotation away",
    ),
    (
        pod({template("test"): "  "}),
        "elasticgpu.io/egpuct-test is empty: write the name of an ElasticGPUClaimTemplate there, "
        "or take the annotation away",
    ),
    (
        pod({claim("test"): "a,,b"}),
        'elasticgpu.io/egpuc-test is "a,,b", where a name is missing before or after a comma',
    ),
    (
        pod({old("test"): "a,"}),
        'egpuc.elasticgpu.io/test is "a,", where a name is missing before or after a comma',
    ),
    (
        pod({claim("test"): "a, Upper"}),
        f'elasticgpu.io/egpuc-test names "Upper", which no claim can be called: {RULES}',
    ),
    (
        pod({claim("test"): "other-namespace/a"}),
        'elasticgpu.io/egpuc-test names "other-namespace/a", which no claim can be called: '
        f"{RULES}",
    ),
    (
        pod({template("test"): LARGEST + "a"}),
        f'elasticgpu.io/egpuct-test names "{LARGEST}a", which no claim can be called: {RULES}',
    ),
]
