"""What a new pod gets, when it is refused, and what may change later."""

from __future__ import annotations

import pytest

from tests.cluster.api import ApiClient, ApiError

from .edits import EDITS
from .pods import PODS, TRIAL, Object, claim, entries_of, pod, references_of
from .refused import REFUSED
from .served import SERVED, Served


@pytest.mark.parametrize("row", SERVED, ids=lambda row: row.why)
def test_served(api: ApiClient, row: Served) -> None:
    """The pod has one entry a distinct claim, its containers refer to them, and nothing else."""
    made = api.create(TRIAL, row.pod)
    assert entries_of(made) == row.entries
    assert references_of(made) == row.containers
    assert made["metadata"].get("labels", {}) == row.labels
    assert made["metadata"].get("annotations", {}) == row.pod["metadata"]["annotations"]


def test_the_rest_of_the_pod_stays(api: ApiClient) -> None:
    """Order, repeated environment names and ports, and limits are as they were written."""
    twice = [{"name": "A", "value": "1"}, {"name": "A", "value": "2"}]
    ports = [{"containerPort": 53, "protocol": kind} for kind in ("UDP", "TCP")]
    limits = {"cpu": "1", "memory": "1Gi"}
    rich: Object = {"name": "b", "env": twice, "ports": ports, "resources": {"limits": limits}}
    annotations = {claim("b"): "x", claim("a"): "y"}
    made = api.create(TRIAL, pod(annotations, ["c", rich, "a"]))
    assert list(references_of(made)) == ["c", "b", "a"]
    found = made["spec"]["containers"][1]
    assert (found["env"], found["ports"], found["resources"]["limits"]) == (twice, ports, limits)


def test_many_containers_and_claims(api: ApiClient) -> None:
    """Eight containers of four claims each stay within what a policy may cost."""
    names = [f"c{i}" for i in range(8)]
    made = api.create(TRIAL, pod({claim(n): f"{n}-a,{n}-b,{n}-c,{n}-d" for n in names}, names))
    assert len(entries_of(made)) == 32
    assert all(len(refs) == 4 for refs in references_of(made).values())


@pytest.mark.parametrize(("body", "sentence"), REFUSED, ids=[s[:60] for _, s in REFUSED])
def test_refused(api: ApiClient, body: Object, sentence: str) -> None:
    """The pod is not created, and the person reads which annotation is wrong and why."""
    with pytest.raises(ApiError) as refusal:
        api.create(TRIAL, body)
    assert refusal.value.message.endswith(f"denied request: {sentence}")


@pytest.fixture(scope="module")
def using(api: ApiClient) -> str:
    """Path of a pod that uses a claim."""
    body = pod({claim("test"): "a"}, generate="using-")
    return str(f"{PODS}/{api.create(PODS, body)['metadata']['name']}")


@pytest.fixture(scope="module")
def plain(api: ApiClient) -> str:
    """Path of a pod that uses none."""
    return str(f"{PODS}/{api.create(PODS, pod({}, generate='plain-'))['metadata']['name']}")


@pytest.fixture(scope="module")
def unmet(api: ApiClient) -> str:
    """Path of an annotated pod that the policies have not met."""
    annotations = {claim("test"): "a", "kubernetes.io/config.mirror": "x"}
    body = pod(annotations, generate="unmet-", nodeName="node-1", schedulingGates=[])
    return str(f"{PODS}/{api.create(PODS, body)['metadata']['name']}")


@pytest.mark.parametrize(("which", "patch", "sentence"), EDITS)
def test_edits(
    api: ApiClient, request: pytest.FixtureRequest, which: str, patch: Object, sentence: str
) -> None:
    """Annotations stay as they were created, the label stays; all else is free."""
    path = f"{request.getfixturevalue(which)}?dryRun=All"
    if not sentence:
        api.patch(path, patch)
        return
    with pytest.raises(ApiError) as refusal:
        api.patch(path, patch)
    assert refusal.value.message.endswith(f"denied request: {sentence}")
