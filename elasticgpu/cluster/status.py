"""What the API server's answers mean: HTTP status and `Status` object → the classes of `errors`.

Every answer that is not success passes here once, so that no controller ever looks at a number.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NoReturn

from elasticgpu.errors import (
    AlreadyExists,
    ApiError,
    Conflict,
    Expired,
    Forbidden,
    Invalid,
    NamespaceTerminating,
    NotFound,
    Throttled,
    Unavailable,
)

Json = dict[str, Any]

BY_CAUSE: Mapping[str, type[ApiError]] = {
    "NamespaceTerminating": NamespaceTerminating,
}
BY_REASON: Mapping[str, type[ApiError]] = {
    "AlreadyExists": AlreadyExists,
    "Expired": Expired,
    "Gone": Expired,
}
BY_STATUS: Mapping[int, type[ApiError]] = {
    400: Invalid,
    401: Forbidden,
    403: Forbidden,
    404: NotFound,
    408: Unavailable,
    409: Conflict,
    410: Expired,
    422: Invalid,
    429: Throttled,
}
"""From the narrowest to the widest: a cause decides before the reason, that before the number."""


def raise_for(status: int, body: Json, *, retry_after: float | None = None) -> NoReturn:
    """Raise what an answer with this HTTP status and this `Status` object means.

    `retry_after` is the header's value in seconds; without it `details.retryAfterSeconds` counts.
    """
    details: Json = body.get("details") or {}
    reason = body.get("reason") or f"HTTP{status}"
    seconds = retry_after if retry_after is not None else details.get("retryAfterSeconds")
    kind = _kind(status, reason, [c.get("reason", "") for c in details.get("causes") or []])
    raise kind(status, reason, body.get("message") or "no message", retry_after=seconds)


def _kind(status: int, reason: str, causes: list[str]) -> type[ApiError]:
    for cause in causes:
        if cause in BY_CAUSE:
            return BY_CAUSE[cause]
    if reason in BY_REASON:
        return BY_REASON[reason]
    return BY_STATUS.get(status, Unavailable if status >= 500 else ApiError)
