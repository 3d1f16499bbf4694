"""What strikes a call to the API server in memory."""

from __future__ import annotations

from elasticgpu.errors import ApiError

from .server import Fate, Json


def strikes(call: str, *errors: ApiError | None) -> Fate:
    """Each time `call` comes, the next of these errors; None lets it pass."""
    left = list(errors)

    def fate(what: str, body: Json | None) -> None:
        if what.startswith(call) and left:
            error = left.pop(0)
            if error is not None:
                raise error

    return fate
