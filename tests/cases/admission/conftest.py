"""The chart's policies at work on a real API server; nobody else takes part."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.cases.ours import Ours
from tests.cluster.api import ApiClient, ApiError, wait_for
from tests.cluster.cluster import Cluster

from .pods import HERE, PODS, TRIAL, annotate, claim, pod, remove


@pytest.fixture(scope="package")
def api(cluster: Cluster) -> Iterator[ApiClient]:
    """The admin's client; the chart is installed and its policies act; a namespace is there."""
    Ours(cluster).install()
    admin = cluster.api
    admin.create("/api/v1/namespaces", {"metadata": {"name": HERE}})
    account = f"/api/v1/namespaces/{HERE}/serviceaccounts/default"
    wait_for(lambda: admin.exists(account), 20, "the namespace's ServiceAccount")
    wait_for(lambda: put_in(admin) and refused_edit(admin), 30, "the policies at work")
    yield admin
    for one in admin.list(PODS):
        remove(admin, f"{PODS}/{one['metadata']['name']}")
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
