"""Answers that are not what was asked for."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from elasticgpu.api.elasticgpu import CardSlice, ElasticGPU, ElasticGPUSpec
from elasticgpu.api.meta import OwnerReference
from elasticgpu.api.names import PROVISIONED_BY
from elasticgpu.provisioner import Slice
from tests.controllers.plugins import answers
from tests.controllers.stage import TEAM, Stage

from .work import STRANGER, meta, source, spec, unmarked

OTHER_CARD = [CardSlice(gpu="card-b", core=10, memory="10Gi")]
SMALLER = [CardSlice(gpu="card-a", core=5, memory="10Gi")]
OWNER = OwnerReference(api_version="v1", kind="Pod", name="p", uid="u")
NONSENSE: list[tuple[str, Callable[[ElasticGPU], object], str]] = [
    ("nothing", lambda _: None, "a NoneType, not an ElasticGPU"),
    ("a-dict", lambda d: d.wire(), "a dict, not an ElasticGPU"),
    ("wrong-name", meta(name="egpu-other"), "name is (egpu-other), not (egpu-"),
    ("too-long-name", meta(name="e" * 300), "name is (eeee"),
    ("a-namespace", meta(namespace=TEAM), "namespace is (team), not ()"),
    ("other-cards", source(devices=OTHER_CARD), "source.devices is ("),
    ("undersized-part", source(devices=SMALLER), "source.devices is ("),
    ("undersized", spec(capacity={}), "capacity is ({}), not ("),
    ("another-class", spec(elastic_gpu_class_name="gold"), "class is (gold), not (backend)"),
    ("another-policy", spec(reclaim_policy="Retain"), "reclaimPolicy is (Retain), not (Delete)"),
    ("another-claim", spec(claim_ref=STRANGER), "claimRef is ("),
    ("no-claim", spec(claim_ref=None), "claimRef is (None), not ("),
    ("another-node", spec(node_name="node-b"), "nodeName is (node-b), not (node-a)"),
    ("another-driver", source(driver="example.com/x"), "source.driver is (example.com/x)"),
    ("no-protection", meta(finalizers=[]), "finalizers is ([]), not ("),
    ("an-owner", meta(owner_references=[OWNER]), "ownerReferences is ("),
    ("a-status", lambda d: d.with_status(phase="Available"), "status is ("),
    ("long-handle", source(handle="h" * 300), "source.handle: String should have at most 256"),
    ("long-attribute", source(attributes={"a": "b" * 300}), "attributes.a: String should have"),
    ("no-spec", lambda d: d.but(spec="none"), "not a valid ElasticGPU: spec"),
    ("not-a-spec", lambda d: d.but(spec=ElasticGPUSpec), "not a valid ElasticGPU: "),
]


@pytest.mark.parametrize(
    ("change", "said"), [pytest.param(change, said, id=name) for name, change, said in NONSENSE]
)
async def test_nonsense(stage: Stage, change: Callable[[ElasticGPU], object], said: str) -> None:
    """An answer that is not what was asked for is refused in words, and released again."""
    stage.backend.script = [answers(change)]
    await stage.start()
    stage.ask()
    await stage.until(lambda: stage.says("ProvisioningFailed") and unmarked(stage))
    assert said in stage.says("ProvisioningFailed")
    assert (stage.devices(), stage.backend.assets) == ([], {})
    await stage.told("ProvisioningFailed")


async def test_what_an_answer_may_add(stage: Stage) -> None:
    """A handle, attributes, labels and annotations; ours among them stay as they are."""

    def more(device: ElasticGPU) -> ElasticGPU:
        changed = source(handle="h-1", attributes={"a": "b"})(device)
        return changed.with_metadata(labels={"l": "1"}, annotations={"n": "2", PROVISIONED_BY: "x"})

    stage.backend.script = [answers(more)]
    await stage.start()
    stage.ask()
    await stage.until(stage.bound)
    (device,) = stage.devices()
    assert device.spec.source.handle == "h-1"
    assert device.spec.source.attributes == {"a": "b"}
    assert device.metadata.labels == {"l": "1"}
    assert device.metadata.annotations["n"] == "2"
    assert device.metadata.annotations[PROVISIONED_BY] == stage.backend.name


async def test_place_that_is_none(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a provisioner's `place` answers can be nonsense too."""
    monkeypatch.setattr(
        stage.backend, "place", lambda want, node: Slice((), {"x": "y" * 300}), raising=False
    )
    await stage.start()
    stage.ask()
    assert "a place that is none" in await stage.until(lambda: stage.says("ProvisioningFailed"))
    assert stage.backend.requests == []
