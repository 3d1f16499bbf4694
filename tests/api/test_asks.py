"""The vocabulary and the API server agree on what may be asked for."""

from __future__ import annotations

import pytest

from elasticgpu.api.vocabulary import demand

from .asks import ASKS, Ask

REFUSED = [ask for ask in ASKS if ask.errors]
ACCEPTED = [ask for ask in ASKS if not ask.errors]


@pytest.mark.parametrize("ask", REFUSED, ids=lambda ask: ask.what)
def test_what_the_server_refuses_the_vocabulary_refuses(ask: Ask) -> None:
    """So a demand never depends on which of them saw the claim first."""
    with pytest.raises(ValueError, match=r"\w: \w"):
        demand(ask.requests)


@pytest.mark.parametrize("ask", ACCEPTED, ids=lambda ask: ask.what)
def test_what_the_server_accepts_the_vocabulary_understands(ask: Ask) -> None:
    """In canonical names and in a vendor's."""
    demand(ask.requests)
