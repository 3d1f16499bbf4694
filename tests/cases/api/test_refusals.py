"""What is refused at creation and later, in sentences."""

from __future__ import annotations

import re
from functools import partial

import pytest
import yaml

from tests.api.asks import ASKS, CORE
from tests.cluster.cluster import Cluster

from .asking import PATHS, REQUESTS, new, refusal, words
from .changes import CHANGES, NAMED, Change
from .creations import CREATIONS, Creation


@pytest.mark.parametrize("row", CREATIONS, ids=[row.what for row in CREATIONS])
def test_what_may_be_created(bare: Cluster, row: Creation) -> None:
    """Refused in exactly these words, or created if there are none."""
    kind = row.body["kind"]
    said = refusal(partial(bare.api.create, PATHS[kind], row.body))
    assert said == words(kind, row.body["metadata"]["name"], row.errors)


def test_a_refusal_in_a_terminal(bare: Cluster) -> None:
    """What `kubectl apply` prints is the sentence, with the place before it."""
    text = yaml.safe_dump(new("ElasticGPUClaim", {"resources": {"requests": {CORE: 150}}}, "mine"))
    with pytest.raises(RuntimeError) as refused:
        bare.kubectl("apply", "-f", "-", input=text)
    assert str(refused.value).splitlines()[-1] == (
        'The ElasticGPUClaim "mine" is invalid: spec.resources.requests: Invalid value: '
        f"{CORE} is percent of one card: write 1 to 100, or a multiple of 100 for whole cards"
    )


@pytest.mark.parametrize("change", CHANGES, ids=[change.what for change in CHANGES])
def test_what_may_change(bare: Cluster, change: Change) -> None:
    """Refused in exactly these words; without any the patch goes through."""
    body = new(change.kind, change.spec)
    path = f"{PATHS[change.kind]}/{body['metadata']['name']}"
    bare.api.create(PATHS[change.kind], body)
    if change.phase:
        bare.api.patch(f"{path}/status", {"status": {"phase": change.phase}})
    said = refusal(partial(bare.api.patch, path, {"spec": change.patch}))
    errors = (change.error, *change.also) if change.error else ()
    assert said == words(change.kind, body["metadata"]["name"], errors)


def test_users_do_not_write_the_status(bare: Cluster) -> None:
    """It has a door of its own, so a name is not taken back under a made-up phase."""
    spec = {**REQUESTS, "elasticGPUName": "d"}
    body = {**new("ElasticGPUClaim", spec), "status": {"phase": "Pending"}}
    path = f"{PATHS['ElasticGPUClaim']}/{body['metadata']['name']}"
    assert "status" not in bare.api.create(PATHS["ElasticGPUClaim"], body)
    both = {"spec": {"elasticGPUName": ""}, "status": {"phase": "Pending"}}
    assert NAMED in refusal(partial(bare.api.patch, path, both))


KUBERNETES = (
    *("Required value", "Too long: ", "Too many: ", "Duplicate value: ", "Unsupported value: "),
    "some validation rules were not checked",
)
"""Where its own words say what is wrong as well as ours would."""


def test_every_refusal_is_a_sentence() -> None:
    """What is wrong and, after a colon, what to do: no pattern, no expression, no `failed rule`."""
    errors = [
        *(error for ask in ASKS for error in ask.errors),
        *(error for row in CREATIONS for error in row.errors),
        *(change.error for change in CHANGES if change.error),
    ]
    for error in errors:
        assert not re.search(r"failed rule|should match|in body|no such|self\.|\$'", error), error
        if not any(own in error for own in KUBERNETES):
            _, _, said = re.split(r"(Invalid value: (?:\".*?\": )?|Forbidden: )", error, maxsplit=1)
            assert re.fullmatch(r"[a-z][^:\n]+: [a-z][^\n]+", said), error
