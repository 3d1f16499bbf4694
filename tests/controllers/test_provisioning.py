"""Provisioning by a plugin that asks somebody else, over an API server in memory."""

from __future__ import annotations

from elasticgpu.api.names import CLAIM_PROTECTION, PROVISIONING

from .stage import Stage


async def test_success(stage: Stage) -> None:
    """The request is on the claim before the backend is asked; four writes later it is Bound."""
    await stage.start()
    claim = stage.ask()
    await stage.until(stage.bound)
    name = f"egpu-{claim.uid}"
    assert stage.server.writes == [
        "replace elasticgpuclaims train",
        "replace elasticgpuclaims/status train",
        f"create elasticgpus {name}",
        f"replace elasticgpus/status {name}",
        "replace elasticgpuclaims train",
        "replace elasticgpuclaims/status train",
    ]
    bound = stage.claim()
    assert bound is not None
    assert bound.metadata.finalizers == [CLAIM_PROTECTION]
    assert bound.status.provisioning is None
    assert stage.events() == []
    assert list(stage.backend.assets) == [name]
    assert len(stage.backend.requests) == 1
    (device,) = stage.devices()
    assert device.spec.source.handle == f"asset-of-{name}"
    assert device.spec.source.attributes == {"cut": "card-a"}
    assert PROVISIONING not in bound.metadata.finalizers
