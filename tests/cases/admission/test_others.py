"""Pods that somebody else makes or changes: Deployments, another policy."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from elasticgpu.api.names import PODS_LABEL
from tests.cluster.api import ApiClient, wait_for

from .pods import HERE, PODS, TRIAL, Object, claim, entries_of, pod, references_of, remove, template

DEPLOYMENTS = f"/apis/apps/v1/namespaces/{HERE}/deployments"
POLICIES = "/apis/admissionregistration.k8s.io/v1"


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
