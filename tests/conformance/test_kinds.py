"""Kubernetes' own kinds: the manners of those that somebody here relies on."""

from __future__ import annotations

from .api import Api, Object
from .objects import config, pod

EVENTS = "/apis/events.k8s.io/v1/namespaces"
LEASE: Object = {
    "metadata": {"name": "l"},
    "spec": {
        "holderIdentity": "me",
        "leaseDurationSeconds": 15,
        "acquireTime": "2026-01-01T00:00:00.000000Z",
        "renewTime": "2026-01-01T00:00:00.123456Z",
        "leaseTransitions": 1,
    },
}


def event(name: str, about: str) -> Object:
    """An event as controllers write it now."""
    return {
        "metadata": {"name": name},
        "regarding": {"kind": "Pod", "namespace": about, "name": "p", "apiVersion": "v1"},
        "reason": "Waiting",
        "note": "no room",
        "type": "Warning",
        "action": "Bind",
        "reportingController": "example.com/controller",
        "reportingInstance": "one",
        "eventTime": "2026-01-01T00:00:00.000000Z",
    }


def claim(name: str = "a") -> Object:
    """A ResourceClaim."""
    request = {"name": "r", "exactly": {"deviceClassName": "any"}}
    return {"metadata": {"name": name}, "spec": {"devices": {"requests": [request]}}}


async def test_a_lease_is_created_by_put(api: Api) -> None:
    made = await api.replace(api.path("leases", "l"), LEASE)
    assert (made.code, made.body["spec"]) == (201, LEASE["spec"])


async def test_a_lease_is_a_compare_and_swap(api: Api) -> None:
    path = api.path("leases", "l")
    made = (await api.create(api.path("leases"), LEASE)).made()
    refused = await api.replace(path, {**LEASE, "spec": {"holderIdentity": "you"}})
    assert (refused.code, refused.reason) == (422, "Invalid")
    assert "must be specified for an update" in refused.message
    taken = {**made, "spec": {**made["spec"], "holderIdentity": "you"}}
    assert (await api.replace(path, taken)).code == 200
    late = {**made, "spec": {**made["spec"], "holderIdentity": "third"}}
    assert (await api.replace(path, late)).reason == "Conflict"


async def test_an_event_has_two_faces(api: Api) -> None:
    root = f"{EVENTS}/{api.namespace}/events"
    made = await api.create(root, event("e", api.namespace))
    assert (made.code, made.body["apiVersion"]) == (201, "events.k8s.io/v1")
    assert made.body["deprecatedSource"] == {}
    core = (await api.get(api.path("events", "e"))).body
    assert (core["apiVersion"], core["message"], core["reason"]) == ("v1", "no room", "Waiting")
    assert core["involvedObject"]["name"] == "p"
    assert core["reportingComponent"] == "example.com/controller"
    assert core["metadata"]["resourceVersion"] == made.version


async def test_events_are_found_by_what_they_are_about(api: Api) -> None:
    root = f"{EVENTS}/{api.namespace}/events"
    (await api.create(root, event("e", api.namespace))).made()
    assert (await api.get(root, fieldSelector="regarding.name=p")).names == ["e"]
    path = api.path("events")
    about = (
        f"involvedObject.kind=Pod,involvedObject.name=p,involvedObject.namespace={api.namespace}"
    )
    assert (await api.get(path, fieldSelector=about)).names == ["e"]
    assert (await api.get(path, fieldSelector="type=Normal")).names == []


async def test_an_event_counts_in_series(api: Api) -> None:
    root = f"{EVENTS}/{api.namespace}/events"
    (await api.create(root, event("e", api.namespace))).made()
    series = {"count": 2, "lastObservedTime": "2026-01-01T00:01:00.000000Z"}
    changed = await api.patch(f"{root}/e", {"series": series})
    assert (changed.code, changed.body["series"]) == (200, series)


async def test_a_new_pod_is_pending(api: Api) -> None:
    made = (await api.create(api.path("pods"), pod())).made()
    assert made["status"]["phase"] == "Pending"
    assert made["metadata"]["generation"] == 1
    assert made["spec"]["restartPolicy"] == "Always"
    assert made["spec"]["terminationGracePeriodSeconds"] == 30


async def test_a_pod_without_containers_is_422(api: Api) -> None:
    refused = await api.create(api.path("pods"), pod("a", {"containers": []}))
    assert (refused.code, refused.reason) == (422, "Invalid")
    assert "spec.containers: Required value" in refused.message


async def test_a_pods_spec_does_not_change(api: Api) -> None:
    (await api.create(api.path("pods"), pod())).made()
    refused = await api.patch(api.path("pods", "a"), {"spec": {"nodeName": "x"}})
    assert (refused.code, refused.reason) == (422, "Invalid")
    assert "spec: Forbidden: pod updates may not change fields other than" in refused.message
    change = [{"op": "replace", "path": "/spec/containers/0/image", "value": "other"}]
    assert (await api.patch(api.path("pods", "a"), change, "json")).code == 200


async def test_a_pod_is_bound_once(api: Api) -> None:
    path = api.path("pods", "a")
    (await api.create(api.path("pods"), pod())).made()
    binding = {"metadata": {"name": "a"}, "target": {"kind": "Node", "name": "nowhere"}}
    done = await api.create(f"{path}/binding", binding)
    assert (done.code, done.body["status"]) == (201, "Success")
    bound = (await api.get(path)).body
    assert bound["spec"]["nodeName"] == "nowhere"
    facts = {one["type"]: one["status"] for one in bound["status"]["conditions"]}
    assert facts["PodScheduled"] == "True"
    refused = await api.create(f"{path}/binding", binding)
    assert (refused.code, refused.reason) == (409, "Conflict")
    assert refused.message == (
        'Operation cannot be fulfilled on pods/binding "a": pod a is already assigned to node '
        '"nowhere"'
    )


async def test_a_pod_is_evicted(api: Api) -> None:
    (await api.create(api.path("pods"), pod())).made()
    body = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "a"}}
    done = await api.create(api.path("pods", "a", "eviction"), body)
    assert (done.code, done.body["status"]) == (201, "Success")
    assert (await api.get(api.path("pods", "a"))).code == 404
    assert (await api.create(api.path("pods", "a", "eviction"), body)).code == 404


async def test_a_nodes_status_write_may_label_it_but_not_cordon_it(api: Api) -> None:
    name = f"{api.namespace}-node"
    (await api.create(api.path("nodes"), {"metadata": {"name": name}})).made()
    change = {
        "metadata": {"labels": {"a": "b"}},
        "spec": {"unschedulable": True},
        "status": {"capacity": {"cpu": "1"}},
    }
    told = await api.patch(api.path("nodes", name, "status"), change)
    assert told.meta["labels"]["a"] == "b"
    assert told.body["status"]["capacity"] == {"cpu": "1"}
    assert "unschedulable" not in told.body["spec"]
    await api.delete(api.path("nodes", name))


async def test_a_resource_claims_spec_never_changes(api: Api) -> None:
    made = (await api.create(api.path("resourceclaims"), claim())).made()
    exactly = made["spec"]["devices"]["requests"][0]["exactly"]
    assert (exactly["allocationMode"], exactly["count"]) == ("ExactCount", 1)
    refused = await api.patch(
        api.path("resourceclaims", "a"), {"spec": {"devices": {"requests": []}}}
    )
    assert (refused.code, refused.reason) == (422, "Invalid")
    assert refused.message.endswith(": field is immutable")


async def test_a_resource_claim_is_reserved_once_it_is_allocated(api: Api) -> None:
    path = api.path("resourceclaims", "a", "status")
    (await api.create(api.path("resourceclaims"), claim())).made()
    reserved = [{"resource": "pods", "name": "p", "uid": "1"}]
    refused = await api.patch(path, {"status": {"reservedFor": reserved}})
    assert (refused.code, refused.reason) == (422, "Invalid")
    result = {"request": "r", "driver": "example.com", "pool": "p", "device": "d"}
    status = {"allocation": {"devices": {"results": [result]}}, "reservedFor": reserved}
    told = await api.patch(path, {"status": status})
    assert (told.code, told.body["status"]["reservedFor"]) == (200, reserved)


async def test_a_resource_claim_template_never_changes(api: Api) -> None:
    body = {"metadata": {"name": "t"}, "spec": {"spec": claim()["spec"]}}
    (await api.create(api.path("resourceclaimtemplates"), body)).made()
    change = {"spec": {"metadata": {"labels": {"a": "b"}}}}
    refused = await api.patch(api.path("resourceclaimtemplates", "t"), change)
    assert (refused.code, refused.reason) == (422, "Invalid")
    assert refused.message.endswith(": field is immutable")


async def test_a_config_map_has_no_status(api: Api) -> None:
    (await api.create(api.path("configmaps"), config())).made()
    assert (await api.get(api.path("configmaps", "a", "status"))).code == 404
