"""What the API server itself does to pods and refuses to agents: the chart's policies, for real.

Nobody else takes part: no controller, no agent. The tables are the contract of
`helm/elasticgpu/templates/admission-*.yaml`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import pytest

from elasticgpu.api.names import (
    CLAIM_ANNOTATION,
    NODE_FINALIZER,
    OLD_CLAIM_ANNOTATION,
    PODS_LABEL,
    TEMPLATE_ANNOTATION,
)
from tests.cases.ours import NAMESPACE, Ours
from tests.cluster.api import ApiClient, ApiError, wait_for
from tests.cluster.cluster import Cluster

Object = dict[str, Any]

HERE = "admission"
PODS = f"/api/v1/namespaces/{HERE}/pods"
TRIAL = f"{PODS}?dryRun=All"
DEPLOYMENTS = f"/apis/apps/v1/namespaces/{HERE}/deployments"
POLICIES = "/apis/admissionregistration.k8s.io/v1"
OURS = "/apis/elasticgpu.io/v1alpha1"
NODES = ("admission-a", "admission-b")
USES = {PODS_LABEL: "true"}


def claim(container: str) -> str:
    """Key of the annotation that gives this container a claim."""
    return CLAIM_ANNOTATION + container


def old(container: str) -> str:
    """The same in its older form."""
    return OLD_CLAIM_ANNOTATION + container


def template(container: str) -> str:
    """Key of the annotation that gives this container a claim made from a template."""
    return TEMPLATE_ANNOTATION + container


@pytest.fixture(scope="module")
def api(cluster: Cluster) -> Iterator[ApiClient]:
    """The admin's client; the chart is installed and its policies act; a namespace is there."""
    Ours(cluster).install()
    admin = cluster.api
    admin.create("/api/v1/namespaces", {"metadata": {"name": HERE}})
    account = f"/api/v1/namespaces/{HERE}/serviceaccounts/default"
    wait_for(lambda: admin.exists(account), 20, "the namespace's ServiceAccount")
    wait_for(lambda: put_in(admin) and refused_edit(admin), 30, "the policies at work")
    yield admin
    for pod in admin.list(PODS):
        remove(admin, f"{PODS}/{pod['metadata']['name']}")
    remove(admin, f"/api/v1/namespaces/{HERE}")


def put_in(admin: ApiClient) -> bool:
    """Whether annotations already have their effect."""
    return bool(admin.create(TRIAL, pod({claim("test"): "a"}))["spec"].get("resourceClaims"))


def refused_edit(admin: ApiClient) -> bool:
    """Whether annotations are already fixed."""
    name = admin.create(PODS, pod({}, generate="probe-"))["metadata"]["name"]
    try:
        admin.patch(f"{PODS}/{name}?dryRun=All", annotate({claim("test"): "a"}))
    except ApiError:
        return True
    finally:
        remove(admin, f"{PODS}/{name}")
    return False


def remove(admin: ApiClient, path: str) -> None:
    """Delete at once and wait until it is gone; gone already is well."""
    if admin.exists(path):
        admin.delete(path, grace=0)
    wait_for(lambda: not admin.exists(path), 60, f"{path} gone")


# -- what a new pod gets --------------------------------------------------------------------


def pod(
    annotations: dict[str, str],
    containers: Sequence[str | Object] = ("test",),
    *,
    generate: str = "",
    labels: dict[str, str] | None = None,
    **spec: Any,
) -> Object:
    """A manifest; nobody runs it."""
    name = {"generateName": generate} if generate else {"name": "trial"}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {**name, "annotations": annotations, "labels": labels or {}},
        "spec": {
            "schedulingGates": [{"name": "tests/hold"}],
            "containers": [container(one) for one in containers],
            **spec,
        },
    }


def container(what: str | Object, **more: Any) -> Object:
    """A container of that name, or of these fields."""
    given: Object = {"name": what} if isinstance(what, str) else what
    return {"image": "localhost/busybox:1", "imagePullPolicy": "Never", **given, **more}


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
LARGEST = "a" * 240

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


@pytest.mark.parametrize("row", SERVED, ids=lambda row: row.why)
def test_served(api: ApiClient, row: Served) -> None:
    """The pod has one entry a distinct claim, its containers refer to them, and nothing else."""
    made = api.create(TRIAL, row.pod)
    assert entries_of(made) == row.entries
    assert references_of(made) == row.containers
    assert made["metadata"].get("labels", {}) == row.labels
    assert made["metadata"].get("annotations", {}) == row.pod["metadata"]["annotations"]


def entries_of(made: Object) -> dict[str, str]:
    """The pod's entries and what each leads to."""
    return {
        one["name"]: one.get("resourceClaimTemplateName") or one["resourceClaimName"]
        for one in made["spec"].get("resourceClaims", [])
    }


def references_of(made: Object) -> dict[str, list[str]]:
    """Per container, the entries that it refers to."""
    spec = made["spec"]
    return {
        one["name"]: [ref["name"] for ref in one["resources"].get("claims", [])]
        for one in [*spec.get("initContainers", []), *spec["containers"]]
    }


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


# -- what is refused ------------------------------------------------------------------------

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


@pytest.mark.parametrize(("body", "sentence"), REFUSED, ids=[s[:60] for _, s in REFUSED])
def test_refused(api: ApiClient, body: Object, sentence: str) -> None:
    """The pod is not created, and the person reads which annotation is wrong and why."""
    with pytest.raises(ApiError) as refusal:
        api.create(TRIAL, body)
    assert refusal.value.message.endswith(f"denied request: {sentence}")


# -- what happens afterwards ----------------------------------------------------------------


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


def annotate(values: dict[str, str | None]) -> Object:
    """A merge patch of annotations."""
    return {"metadata": {"annotations": values}}


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


def deployment(name: str, annotations: dict[str, str]) -> Object:
    """A Deployment of two such pods."""
    body = pod(annotations)
    body["metadata"] = {"labels": {"app": name}, "annotations": annotations}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name},
        "spec": {
            "replicas": 2,
            "selector": {"matchLabels": {"app": name}},
            "template": {"metadata": body["metadata"], "spec": body["spec"]},
        },
    }


def test_deployment(api: ApiClient) -> None:
    """Pods that a Deployment makes are served like those that people make."""
    api.create(DEPLOYMENTS, deployment("good", {claim("test"): "a", template("test"): "t"}))
    chosen = f"app=good,{PODS_LABEL}=true"
    wait_for(lambda: len(api.list(PODS, labelSelector=chosen)) == 2, 30, "two pods")
    for one in api.list(PODS, labelSelector=chosen):
        assert entries_of(one) == {"egpu-0": "egpuc-a", "egpu-1": "egpuct-t"}
        assert references_of(one) == {"test": ["egpu-0", "egpu-1"]}
    remove(api, f"{DEPLOYMENTS}/good")


def test_deployment_with_a_mistake(api: ApiClient) -> None:
    """The refusal stands in the Deployment's conditions."""
    api.create(DEPLOYMENTS, deployment("bad", {claim("tset"): "a"}))

    def told() -> str:
        conditions = api.get(f"{DEPLOYMENTS}/bad").get("status", {}).get("conditions", [])
        return next((str(c["message"]) for c in conditions if c["type"] == "ReplicaFailure"), "")

    assert 'names container "tset", but the pod has test' in wait_for(told, 30, "the refusal")
    remove(api, f"{DEPLOYMENTS}/bad")


@pytest.fixture
def injector(api: ApiClient) -> Iterator[None]:
    """Somebody else's policy, which adds a container to pods with the label `inject`."""
    head = {"apiVersion": "admissionregistration.k8s.io/v1", "metadata": {"name": "injector"}}
    policy = {
        "failurePolicy": "Fail",
        "reinvocationPolicy": "Never",
        "matchConstraints": {
            "resourceRules": [
                {
                    "apiGroups": [""],
                    "apiVersions": ["v1"],
                    "operations": ["CREATE"],
                    "resources": ["pods"],
                }
            ]
        },
        "matchConditions": [
            {"name": "asked", "expression": "'inject' in object.metadata.?labels.orValue({})"}
        ],
        "mutations": [
            {
                "patchType": "ApplyConfiguration",
                "applyConfiguration": {
                    "expression": "Object{spec: Object.spec{containers: [Object.spec.containers{"
                    "name: 'proxy', image: 'localhost/busybox:1'}]}}"
                },
            }
        ],
    }
    kinds = {
        "mutatingadmissionpolicies": {**head, "kind": "MutatingAdmissionPolicy", "spec": policy},
        "mutatingadmissionpolicybindings": {
            **head,
            "kind": "MutatingAdmissionPolicyBinding",
            "spec": {"policyName": "injector"},
        },
    }
    for plural, body in kinds.items():
        api.create(f"{POLICIES}/{plural}", body)
    probe = pod({}, labels={"inject": "yes"})
    wait_for(lambda: "proxy" in references_of(api.create(TRIAL, probe)), 30, "the injector at work")
    yield
    for plural in kinds:
        api.delete(f"{POLICIES}/{plural}/injector")


@pytest.mark.usefixtures("injector")
def test_a_container_that_somebody_injects(api: ApiClient) -> None:
    """It may have a claim too, in whichever order the two policies come: theirs or ours first."""
    annotations = {claim("proxy"): "a", claim("test"): "b"}
    made = api.create(TRIAL, pod(annotations, labels={"inject": "yes"}))
    entries = entries_of(made)
    assert set(entries) == {"egpu-0", "egpu-1"}
    leads = {name: [entries[ref] for ref in refs] for name, refs in references_of(made).items()}
    assert leads == {"test": ["egpuc-b"], "proxy": ["egpuc-a"]}


# -- what agents may write ------------------------------------------------------------------


class Nodes(NamedTuple):
    """The clients of one account: bound to the first node, to nothing, to a pod on that node."""

    agent: ApiClient
    unbound: ApiClient
    in_pod: ApiClient


@pytest.fixture(scope="module")
def nodes(api: ApiClient, cluster: Cluster) -> Iterator[Nodes]:
    """Two nodes with a card and a device each, and the agent of the first."""
    for name in NODES:
        body: Object = {"metadata": {"name": name}, "spec": {"unschedulable": True}}
        api.create("/api/v1/nodes", {"apiVersion": "v1", "kind": "Node", **body})
        api.create(f"{OURS}/gpus", gpu(f"{name}-0", name))
        api.create(f"{OURS}/elasticgpus", device(f"{name}-device", name))
    api.create(f"{OURS}/elasticgpus", device("admission-remote", ""))
    first = api.get(f"/api/v1/nodes/{NODES[0]}")
    runner = pod({}, serviceAccountName="elasticgpu-agent", nodeName=NODES[0], schedulingGates=[])
    agents_pod = f"/api/v1/namespaces/{NAMESPACE}/pods"
    running = api.create(agents_pod, runner)
    yield Nodes(
        cluster.client(token(api, "Node", first)),
        cluster.client(token(api)),
        cluster.client(token(api, "Pod", running)),
    )
    remove(api, f"{agents_pod}/{running['metadata']['name']}")
    for name in ("admission-remote", *(f"{name}-device" for name in NODES)):
        api.patch(f"{OURS}/elasticgpus/{name}", {"metadata": {"finalizers": None}})
        remove(api, f"{OURS}/elasticgpus/{name}")
    for name in NODES:
        remove(api, f"{OURS}/gpus/{name}-0")
        remove(api, f"/api/v1/nodes/{name}")


def token(api: ApiClient, kind: str = "", owner: Object | None = None) -> str:
    """A token of the agent's account, bound to that node or pod."""
    spec: Object = {}
    if owner:
        identity = {key: owner["metadata"][key] for key in ("name", "uid")}
        spec["boundObjectRef"] = {"apiVersion": "v1", "kind": kind, **identity}
    path = f"/api/v1/namespaces/{NAMESPACE}/serviceaccounts/elasticgpu-agent/token"
    body = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": spec}
    return str(api.create(path, body)["status"]["token"])


def gpu(name: str, node: str) -> Object:
    """A card."""
    head = {"apiVersion": "elasticgpu.io/v1alpha1", "kind": "GPU"}
    return {**head, "metadata": {"name": name}, "spec": {"nodeName": node}}


def device(name: str, node: str) -> Object:
    """A device that nobody uses."""
    return {
        "apiVersion": "elasticgpu.io/v1alpha1",
        "kind": "ElasticGPU",
        "metadata": {"name": name, "finalizers": ["tests/keep"]},
        "spec": {
            **({"nodeName": node} if node else {}),
            "capacity": {"elasticgpu.io/gpu-core": 10},
            "source": {"driver": "elasticgpu.io/qgpu"},
        },
    }


class Write(NamedTuple):
    """What an agent tries, and the sentence it reads if that is refused."""

    why: str
    path: str
    change: Object
    sentence: str = ""


A, B = NODES
FOREIGN = f'the agent of node "{A}" may not write'
ONLY = f"an agent may change only finalizer {NODE_FINALIZER}"
SPEC = "that is for admins and the controller"
WRITES = [
    Write("its card's label", f"gpus/{A}-0", {"metadata": {"labels": {"model": "h200"}}}),
    Write("its card's status", f"gpus/{A}-0/status", {"status": {"model": "H200"}}),
    Write(
        "what the controller writes of its card",
        f"gpus/{A}-0/status",
        {"status": {"allocated": [{"elasticGPU": "x"}]}},
        f"an agent may not change status.allocated of GPU {A}-0, which only the controller writes",
    ),
    Write(
        "what the admin writes of its card",
        f"gpus/{A}-0",
        {"spec": {"unschedulable": True}},
        f"an agent may not change the spec of GPU {A}-0: {SPEC}",
    ),
    Write(
        "another node's card",
        f"gpus/{B}-0",
        {"metadata": {"labels": {"model": "h200"}}},
        f'{FOREIGN} GPU {B}-0, which is on node "{B}"',
    ),
    Write(
        "another node's card's status",
        f"gpus/{B}-0/status",
        {"status": {"health": "Unhealthy"}},
        f'{FOREIGN} GPU {B}-0, which is on node "{B}"',
    ),
    Write(
        "its device's finalizer",
        f"elasticgpus/{A}-device",
        {"metadata": {"finalizers": ["tests/keep", NODE_FINALIZER]}},
    ),
    Write(
        "its device's status", f"elasticgpus/{A}-device/status", {"status": {"preparedFor": ["u"]}}
    ),
    Write(
        "another finalizer of its device",
        f"elasticgpus/{A}-device",
        {"metadata": {"finalizers": [NODE_FINALIZER]}},
        f"of the metadata of ElasticGPU {A}-device {ONLY}",
    ),
    Write(
        "its device's labels",
        f"elasticgpus/{A}-device",
        {"metadata": {"labels": {"a": "b"}}},
        f"of the metadata of ElasticGPU {A}-device {ONLY}",
    ),
    Write(
        "whose its device is",
        f"elasticgpus/{A}-device",
        {"spec": {"claimRef": {"namespace": "x", "name": "y"}}},
        f"an agent may not change the spec of ElasticGPU {A}-device: {SPEC}",
    ),
    Write(
        "another node's device",
        f"elasticgpus/{B}-device",
        {"metadata": {"finalizers": ["tests/keep", NODE_FINALIZER]}},
        f'{FOREIGN} ElasticGPU {B}-device, which is on node "{B}"',
    ),
    Write(
        "another node's device's status",
        f"elasticgpus/{B}-device/status",
        {"status": {"phase": "Failed"}},
        f'{FOREIGN} ElasticGPU {B}-device, which is on node "{B}"',
    ),
    Write(
        "a device on no node",
        "elasticgpus/admission-remote/status",
        {"status": {"phase": "Failed"}},
        f"{FOREIGN} ElasticGPU admission-remote, which is on no node",
    ),
]


@pytest.mark.parametrize("row", WRITES, ids=lambda row: row.why)
def test_agent_writes(nodes: Nodes, row: Write) -> None:
    """An agent writes its own node's objects, and of those only its own fields."""
    path = f"{OURS}/{row.path}"
    changed = merged(nodes.agent.get(path.removesuffix("/status")), row.change)
    if not row.sentence:
        nodes.agent.replace(f"{path}?dryRun=All", changed)
        return
    with pytest.raises(ApiError) as refusal:
        nodes.agent.replace(f"{path}?dryRun=All", changed)
    assert refusal.value.message.endswith(f"denied request: {row.sentence}")


def merged(before: Object, change: Object) -> Object:
    """`before` with the change in it, mapping by mapping."""
    both = {**before, **change}
    for key in before.keys() & change.keys():
        if isinstance(before[key], dict) and isinstance(change[key], dict):
            both[key] = merged(before[key], change[key])
    return both


def test_agents_publish_their_own_cards_only(nodes: Nodes) -> None:
    """Create, server-side apply and delete: each on its own node only."""
    cards = f"{OURS}/gpus"
    nodes.agent.create(f"{cards}?dryRun=All", gpu("new", A))
    nodes.agent.patch(f"{cards}/new?dryRun=All", gpu("new", A), kind="apply")
    nodes.agent.delete(f"{cards}/{A}-0?dryRun=All")
    words = f'{FOREIGN} GPU .*, which is on node "{B}"'
    with pytest.raises(ApiError, match=words):
        nodes.agent.create(f"{cards}?dryRun=All", gpu("new", B))
    with pytest.raises(ApiError, match=words):
        nodes.agent.patch(f"{cards}/new?dryRun=All", gpu("new", B), kind="apply")
    with pytest.raises(ApiError, match=words):
        nodes.agent.delete(f"{cards}/{B}-0?dryRun=All")


def test_a_token_without_a_node_writes_nothing(nodes: Nodes) -> None:
    """A token of the account that is bound to nothing is refused everywhere."""
    with pytest.raises(ApiError, match="names no node: agents need one that is bound"):
        nodes.unbound.create(f"{OURS}/gpus?dryRun=All", gpu("new", A))


def test_a_pods_token_is_bound_to_its_node(nodes: Nodes) -> None:
    """What the kubelet gives the agent's pod suffices, for that pod's node."""
    nodes.in_pod.create(f"{OURS}/gpus?dryRun=All", gpu("new", A))
    with pytest.raises(ApiError, match="may not write GPU new"):
        nodes.in_pod.create(f"{OURS}/gpus?dryRun=All", gpu("new", B))


def test_others_are_not_asked(api: ApiClient, nodes: Nodes) -> None:
    """The policy is about agents: an admin marks any card."""
    api.patch(f"{OURS}/gpus/{B}-0?dryRun=All", {"spec": {"unschedulable": True}})


# -- roles ----------------------------------------------------------------------------------

MAY = [
    ("controller", "update", "elasticgpu.io", "elasticgpus", ""),
    ("controller", "patch", "elasticgpu.io", "gpus", "status"),
    ("controller", "create", "elasticgpu.io", "elasticgpuclaims", ""),
    ("controller", "patch", "", "pods", ""),
    ("controller", "update", "resource.k8s.io", "resourceclaims", "status"),
    ("controller", "update", "resource.k8s.io", "resourceclaims", "binding"),
    ("controller", "create", "resource.k8s.io", "resourceclaimtemplates", ""),
    ("agent", "create", "elasticgpu.io", "gpus", ""),
    ("agent", "update", "elasticgpu.io", "elasticgpus", "status"),
    ("agent", "get", "resource.k8s.io", "resourceclaims", ""),
]
MAY_NOT = [
    ("controller", "get", "", "secrets", ""),
    ("controller", "delete", "", "pods", ""),
    ("controller", "update", "", "nodes", ""),
    ("controller", "update", "elasticgpu.io", "gpus", ""),
    ("controller", "update", "coordination.k8s.io", "leases", ""),
    ("controller", "update", "elasticgpu.io", "elasticgpuclasses", ""),
    ("agent", "list", "", "pods", ""),
    ("agent", "get", "", "secrets", ""),
    ("agent", "delete", "elasticgpu.io", "elasticgpus", ""),
    ("agent", "update", "elasticgpu.io", "elasticgpuclaims", ""),
    ("agent", "update", "resource.k8s.io", "resourceclaims", "status"),
]


@pytest.mark.parametrize(
    ("row", "allowed"), [*((row, True) for row in MAY), *((row, False) for row in MAY_NOT)]
)
def test_roles(api: ApiClient, row: tuple[str, str, str, str, str], allowed: bool) -> None:
    """Each account may do its work in the whole cluster and nothing beside it."""
    assert may(api, row, namespace="") is allowed


def test_leases_are_the_controllers_in_its_namespace(api: ApiClient) -> None:
    """The lease is taken where the chart is installed and nowhere else."""
    row = ("controller", "update", "coordination.k8s.io", "leases", "")
    assert may(api, row, namespace=NAMESPACE)
    assert not may(api, row, namespace=HERE)


def may(api: ApiClient, row: tuple[str, str, str, str, str], *, namespace: str) -> bool:
    """What the API server's authorizer says."""
    account, verb, group, resource, subresource = row
    asked = {"verb": verb, "group": group, "resource": resource, "subresource": subresource}
    body = {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SubjectAccessReview",
        "spec": {
            "user": f"system:serviceaccount:{NAMESPACE}:elasticgpu-{account}",
            "resourceAttributes": {**asked, "namespace": namespace},
        },
    }
    answer = api.create("/apis/authorization.k8s.io/v1/subjectaccessreviews", body)
    return bool(answer["status"]["allowed"])
