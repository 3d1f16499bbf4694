"""What a claim may ask for, in a claim and in a template alike."""

from __future__ import annotations

import random
from functools import partial

import pytest

from elasticgpu.api.vocabulary import demand
from tests.api.asks import ASKS, CORE, COUNT, GPU, MEMORY, MIG, SHARE, TFLOPS, UNCHECKED, Ask
from tests.cluster.cluster import Cluster

from .asking import PATHS, Object, new, refusal, words


def creation(server: Cluster, kind: str, spec: Object, errors: tuple[str, ...]) -> None:
    """A new object of that spec is refused in exactly these words, or made if there are none."""
    body = new(kind, spec)
    said = refusal(partial(server.api.create, PATHS[kind], body))
    assert said == words(kind, body["metadata"]["name"], errors)


@pytest.mark.parametrize("ask", ASKS, ids=[ask.what for ask in ASKS])
def test_what_may_be_asked_for(bare: Cluster, ask: Ask) -> None:
    """A claim and a template say the same, each at its own place."""
    spec = {"resources": {"requests": ask.requests}}
    for kind, whole, place in (
        ("ElasticGPUClaim", spec, "spec."),
        ("ElasticGPUClaimTemplate", {"spec": spec}, "spec.spec."),
    ):
        at = (error if error is UNCHECKED else place + error for error in ask.errors)
        creation(bare, kind, whole, tuple(at))


AMOUNTS = [1, 2, 3, 10, 60, 100, 101, 200, 1000, "3k", 4096, "4Gi", "0.5", 0, "1500m", "x"]


def test_server_and_vocabulary_agree(bare: Cluster) -> None:
    """Of four hundred sets of canonical requests, drawn at random, each accepts the same."""
    draw = random.Random(4)
    for _ in range(400):
        names = draw.sample([GPU, CORE, MEMORY, SHARE, COUNT, TFLOPS, MIG], draw.randint(1, 3))
        requests = {name: draw.choice(AMOUNTS) for name in names}
        body = new("ElasticGPUClaim", {"resources": {"requests": requests}})
        path = f"{PATHS['ElasticGPUClaim']}?dryRun=All"
        said = refusal(partial(bare.api.create, path, body))
        assert bool(said) == bool(understood(requests)), (requests, said, understood(requests))


def understood(requests: Object) -> str:
    """What the vocabulary says against the requests, or nothing."""
    try:
        demand(requests)
    except ValueError as error:
        return str(error)
    return ""
