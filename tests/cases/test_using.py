"""Containers and claims in every constellation, and what people do to them while they run."""

from __future__ import annotations

import pytest

from tests.cases.case import DRA, STAY, Case
from tests.cluster.api import ApiError, wait_for


def test_shared_claim(case: Case) -> None:
    """Two pods use a shared claim at once and see the same device."""
    case.claim("both", shared=True)
    case.pod("one", {"test": "both"})
    case.pod("two", {"test": "both"})
    case.running("one")
    case.running("two")
    assert sorted(case.users("both")) == ["one", "two"]
    first, second = case.env("one"), case.env("two")
    assert first["ELASTICGPU_0_DEVICE"] == second["ELASTICGPU_0_DEVICE"]


def test_two_containers_on_one_claim(case: Case) -> None:
    """Both containers of a pod see the one device; a third, not named, does not."""
    case.claim("share")
    names = ({"name": "left"}, {"name": "right"}, {"name": "plain"})
    case.pod("pair", {"left": "share", "right": "share"}, containers=names)
    case.running("pair")
    left, right = case.env("pair", "left"), case.env("pair", "right")
    assert left["ELASTICGPU_0_DEVICE"] == right["ELASTICGPU_0_DEVICE"]
    assert not any(name.startswith("ELASTICGPU") for name in case.env("pair", "plain"))


def test_two_claims_in_one_pod(case: Case) -> None:
    """One container sees both of its claims; another only its own."""
    case.claim("small", core=10)
    case.claim("large", core=40, memory="4Gi")
    case.pod(
        "greedy",
        {"test": "small, large", "other": "large"},
        containers=({"name": "test"}, {"name": "other"}),
    )
    case.running("greedy")
    both, one = case.env("greedy"), case.env("greedy", "other")
    claims = {value for name, value in both.items() if name.endswith("_CLAIM")}
    assert claims == {f"{case.namespace}/small", f"{case.namespace}/large"}
    cores = {value for name, value in both.items() if name.endswith("_CORE")}
    assert cores == {"10", "40"}
    assert [v for k, v in one.items() if k.endswith("_CLAIM")] == [f"{case.namespace}/large"]


def test_init_container_and_sidecar(case: Case) -> None:
    """An init container and a sidecar see their claim as an ordinary container does."""
    case.claim("share")
    init = {"name": "init", "image": "localhost/busybox:1", "imagePullPolicy": "Never"}
    case.pod(
        "staged",
        {"init": "share", "side": "share", "test": "share"},
        initContainers=[
            {**init, "command": ["sh", "-c", "env"]},
            {**init, "name": "side", "restartPolicy": "Always", "command": ["sh", "-c", STAY]},
        ],
    )
    case.running("staged")
    device = case.device("share")["metadata"]["name"]
    log = case.cluster.kubectl("logs", "-n", case.namespace, "staged", "-c", "init")
    assert f"ELASTICGPU_0_DEVICE={device}" in log
    for name in ("side", "test"):
        assert case.env("staged", name)["ELASTICGPU_0_DEVICE"] == device


def test_container_restart(case: Case) -> None:
    """A container that dies comes back with the same device."""
    case.claim("share")
    case.pod("phoenix", {"test": "share"})
    case.running("phoenix")
    before = case.env("phoenix")
    kill = ("phoenix", "--", "sh", "-c", "kill -TERM 1")
    case.cluster.kubectl("exec", "-n", case.namespace, *kill, check=False)  # it may die with it

    def restarted() -> bool:
        (status,) = case.api.get(case.pod_path("phoenix"))["status"]["containerStatuses"]
        return bool(status["restartCount"] >= 1 and status["ready"])

    wait_for(restarted, 60, "the container's second life")
    after = case.env("phoenix")
    assert {k: v for k, v in after.items() if k.startswith("ELASTICGPU")} == {
        k: v for k, v in before.items() if k.startswith("ELASTICGPU")
    }


def test_claim_deleted_while_its_pod_runs(case: Case) -> None:
    """The claim stays until the pod has ended; then claim and device go."""
    case.claim("share")
    case.pod("user", {"test": "share"})
    case.running("user")
    device = case.device("share")["metadata"]["name"]
    case.api.delete(case.claim_path("share"))
    claim = case.api.get(case.claim_path("share"))
    assert claim["metadata"]["deletionTimestamp"]
    case.settled()
    assert case.running("user")
    case.pod("newcomer", {"test": "share"})
    case.told("newcomer", "is being deleted")
    case.delete_pod("newcomer")
    case.delete_pod("user")
    case.gone(case.claim_path("share"))
    case.gone(case.device_path(device))


def test_pod_force_deleted_while_its_container_runs(case: Case) -> None:
    """The next pod waits until the node has undone the device, though the first is gone."""
    case.claim("share")
    case.pod("ghost", {"test": "share"})
    uid = case.running("ghost")["metadata"]["uid"]
    case.ours.pause("kubelet")
    try:
        case.api.delete(case.pod_path("ghost"), grace=0)
        case.gone(case.pod_path("ghost"))
        case.pod("heir", {"test": "share"})
        case.told("heir", "is held by pod ghost")
        assert case.device("share")["status"]["preparedFor"] == [uid]
        assert case.users("share") == ["ghost"]
    finally:
        case.ours.resume("kubelet")
    heir = case.running("heir")
    assert case.device("share")["status"]["preparedFor"] == [heir["metadata"]["uid"]]


def test_annotation_edited_later(case: Case) -> None:
    """Changing or removing the annotation of a pod is refused in words."""
    case.claim("share")
    case.claim("other")
    case.pod("fixed", {"test": "share"})
    for value in ("other", None):
        body = {"metadata": {"annotations": {"elasticgpu.io/egpuc-test": value}}}
        with pytest.raises(ApiError, match="delete the pod and create it anew"):
            case.api.patch(case.pod_path("fixed"), body)
    case.running("fixed")
    assert case.users("share") == ["fixed"]


def test_resource_claim_and_template_edited(case: Case) -> None:
    """A deleted template, a relabelled ResourceClaim: repaired, and nothing is doubled."""
    case.pod("steady", {"test": "share"})
    template = f"{DRA}/namespaces/{case.namespace}/resourceclaimtemplates/egpuc-share"
    (made,) = wait_for(lambda: case.resource_claims("steady"), 30, "the ResourceClaim")
    case.api.delete(template)
    wait_for(lambda: case.api.exists(template), 30, "the template made anew")
    bare = {"metadata": {"labels": None, "annotations": {"mine": "now"}}}
    case.api.patch(case.resource_claim_path(made), bare)
    case.claim("share")
    case.running("steady")
    assert case.users("share") == ["steady"]
    assert len(case.resource_claims("steady")) == 1


@pytest.mark.parametrize("when", ["waiting", "running"])
def test_resource_claim_deleted(case: Case, when: str) -> None:
    """Deleting the ResourceClaim of a living pod is refused in words; it goes with its pod."""
    case.pod("user", {"test": "share"})
    (made,) = wait_for(lambda: case.resource_claims("user"), 30, "the ResourceClaim")
    if when == "running":
        case.claim("share")
        case.running("user")
    with pytest.raises(ApiError, match="was made for pod user: delete the pod"):
        case.api.delete(case.resource_claim_path(made))
    case.delete_pod("user")
    case.gone(case.resource_claim_path(made))


def test_foreign_template(case: Case) -> None:
    """A template of our name that is not ours is refused on the pod, and never used."""
    foreign = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaimTemplate",
        "metadata": {"name": "egpuc-share"},
        "spec": {
            "spec": {
                "devices": {
                    "requests": [{"name": "x", "exactly": {"deviceClassName": "elasticgpu.io"}}]
                }
            }
        },
    }
    path = f"{DRA}/namespaces/{case.namespace}/resourceclaimtemplates"
    case.api.create(path, foreign)
    case.claim("share")
    case.pod("wary", {"test": "share"})
    case.told("wary", "ResourceClaimTemplate egpuc-share is not elasticgpu's")
    case.delete_pod("wary")
    case.api.delete(f"{path}/egpuc-share")


def test_claim_in_a_namespace_being_deleted(case: Case) -> None:
    """Everything goes, in whatever order the namespace is emptied."""
    case.claim("share")
    case.claim("idle")
    case.pod("user", {"test": "share"})
    case.running("user")
    device = case.device("share")["metadata"]["name"]
    case.api.delete(f"/api/v1/namespaces/{case.namespace}")
    case.gone(f"/api/v1/namespaces/{case.namespace}", 90)
    case.gone(case.device_path(device))


def test_pod_made_before_the_policy(case: Case) -> None:
    """A pod that admission never saw is told so, and what to do; it holds nothing."""
    policies = "/apis/admissionregistration.k8s.io/v1"
    paths = [
        f"{policies}/mutatingadmissionpolicybindings/elasticgpu-pods",
        f"{policies}/validatingadmissionpolicybindings/elasticgpu-new-pods",
    ]
    bindings = [case.api.get(path) for path in paths]
    for path in paths:
        case.api.delete(path)
    case.claim("share")
    try:
        wait_for(lambda: not case.ours.policies_act(), 30, "the policies gone")
        case.pod("old", {"test": "share"})
    finally:
        for path, binding in zip(paths, bindings, strict=True):
            binding["metadata"].pop("resourceVersion")
            case.api.create(path.rsplit("/", 1)[0], binding)
        wait_for(case.ours.policies_act, 30, "the policies back")
    case.ours.restart("controller")  # it looks at its start, then every ten minutes
    case.told("old", "delete it and create it anew", 60)
    assert case.users("share") == []


def test_unknown_class(case: Case) -> None:
    """The claim says which class it misses, and is served once that exists."""
    case.claim("hopeful", class_name="tomorrow")
    case.told("hopeful", "there is no ElasticGPUClass tomorrow; known classes: ")
    described = case.cluster.kubectl("describe", "egpuc", "-n", case.namespace, "hopeful")
    assert "UnknownClass" in described
    made = {
        "apiVersion": "elasticgpu.io/v1alpha1",
        "kind": "ElasticGPUClass",
        "metadata": {"name": "tomorrow"},
        "spec": {"provisioner": "elasticgpu.io/qgpu"},
    }
    classes = "/apis/elasticgpu.io/v1alpha1/elasticgpuclasses"
    case.api.create(classes, made)
    case.bound("hopeful")
    case.api.delete(f"{classes}/tomorrow")


def test_claim_too_big(case: Case) -> None:
    """`kubectl describe` says which cards were looked at and what each lacks."""
    case.claim("whale", core=10, memory="900Gi", node="")
    cards = case.api.list("/apis/elasticgpu.io/v1alpha1/gpus")
    looked = f"looked at {len(cards)}"
    case.told("whale", f"no card can give 10% core and 900Gi memory; {looked}")
    described = " ".join(
        case.cluster.kubectl("describe", "egpuc", "-n", case.namespace, "whale").split()
    )
    named = [c["metadata"]["name"] for c in cards if c["metadata"]["name"] in described]
    assert len(named) == 8
    assert "memory free, 900Gi wanted" in described
    assert f"and {len(cards) - 8} more cards" in described
    assert case.api.get(case.claim_path("whale"))["status"]["phase"] == "Pending"


def test_pod_names_another_pods_resource_claim(case: Case) -> None:
    """A pod that helps itself to another's ResourceClaim never runs, and hears why."""
    case.claim("share")
    case.pod("owner", {"test": "share"})
    case.running("owner")
    (made,) = case.resource_claims("owner")
    entry = {"name": "mine", "resourceClaimName": made["metadata"]["name"]}
    thief = {"name": "test", "resources": {"claims": [{"name": "mine"}]}}
    case.pod("parasite", {}, containers=(thief,), resourceClaims=[entry])

    def told() -> bool:
        notes = case.events("parasite")
        assert any("serves one pod, not owner and parasite" in note for note in notes), notes
        return True

    wait_for(told, 30, "the scheduler's word on the parasite")
    assert case.users("share") == ["owner"]
    case.delete_pod("parasite")


def test_annotation_misspelt(case: Case) -> None:
    """An annotation of our group that nobody reads is refused: it would mean no device."""
    slip = {"annotations": {"elasticgpu.io/egpc-test": "share"}}
    with pytest.raises(ApiError, match="egpc-test is no annotation elasticgpu knows: write"):
        case.pod("slip", {}, metadata=slip)


def test_claim_template(case: Case) -> None:
    """A pod that names a claim template gets a claim of its own, which goes with it."""
    requests = {"elasticgpu.io/gpu-core": 15, "elasticgpu.io/gpu-memory": "1Gi"}
    template = {
        "apiVersion": "elasticgpu.io/v1alpha1",
        "kind": "ElasticGPUClaimTemplate",
        "metadata": {"name": "each"},
        "spec": {
            "spec": {
                "elasticGPUClassName": "shares",
                "resources": {"requests": requests},
                "gpuSelector": {"nodeName": "node-0"},
            }
        },
    }
    path = case.claim_path().replace("elasticgpuclaims", "elasticgpuclaimtemplates")
    case.api.create(path, template)
    annotations = {"elasticgpu.io/egpuct-test": "each"}
    devices = set()
    for name in ("one", "two"):
        case.pod(name, {}, metadata={"annotations": annotations})
        case.running(name)
        env = case.env(name)
        assert env["ELASTICGPU_0_CLAIM"] == f"{case.namespace}/{name}-egpu-0"
        devices.add(env["ELASTICGPU_0_DEVICE"])
    assert len(devices) == 2
    case.delete_pod("one")
    case.gone(case.claim_path("one-egpu-0"))
    assert case.users("two-egpu-0") == ["two"]
