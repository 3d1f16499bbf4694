"""What comes with a request: its body, the change that a patch means, its terms."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import yaml

from elasticgpu.cluster.transport import loads

from . import patching, protobuf, strategic
from .kinds import Json, Kind
from .leaving import Options
from .refusal import bad_options, bad_request, unsupported_media
from .requests import Request, Terms
from .users import User

APPLY_PATCH = "application/apply-patch+yaml"


def terms(request: Request, user: User) -> Terms:
    """What a write says about itself."""
    dry = request.query.get("dryRun", "")
    if dry not in ("", "All"):
        raise bad_request(f'dryRun: Unsupported value: "{dry}": supported values: "All"')
    return Terms(
        bool(dry),
        request.query.get("fieldValidation") or "Warn",
        request.query.get("fieldManager") or request.user_agent.partition("/")[0] or "unknown",
        request.query.get("force", "") in ("true", "1"),
        user,
    )


def content_type(request: Request) -> str:
    """The media type of the body, without its parameters."""
    return request.content_type.partition(";")[0].strip()


def read(request: Request) -> Any:
    """The body: JSON, YAML, or of some kinds protobuf."""
    kind = content_type(request)
    try:
        if kind in ("application/json", ""):
            return loads(request.body)
        if kind in ("application/yaml", APPLY_PATCH):
            return yaml.safe_load(request.body)
        if kind == protobuf.CONTENT:
            return protobuf.read(request.body)
    except (ValueError, yaml.YAMLError) as error:
        raise bad_request(f"the object provided is unrecognized: {error}") from error
    raise unsupported_media(["application/json", "application/yaml"])


def change(request: Request, kind: Kind) -> Callable[[Json], Any]:
    """What a patch makes of an object."""
    content = content_type(request)
    try:
        if content == patching.MERGE_PATCH:
            patch = loads(request.body)
            if not isinstance(patch, dict):
                raise bad_request("error decoding patch: a merge patch is an object")
            return lambda body: patching.merge(body, patch)
        if content == patching.JSON_PATCH:
            steps = loads(request.body)
            return lambda body: patching.json_patch(body, steps)
        if content == strategic.STRATEGIC_PATCH and not kind.custom:
            changes = loads(request.body)
            return lambda body: strategic.merge(kind.shape, body, changes)
    except ValueError as error:
        raise bad_request(f"error decoding patch: {error}") from error
    own = [] if kind.custom else [strategic.STRATEGIC_PATCH]
    raise unsupported_media([patching.JSON_PATCH, patching.MERGE_PATCH, *own, APPLY_PATCH])


def options(request: Request) -> Options:
    """How to delete, from body or query."""
    return Options.read(read(request) if request.body else None, dict(request.query))


def manager(request: Request) -> None:
    """Raise Refusal if an apply does not say who applies."""
    if not request.query.get("fieldManager"):
        text = "Required value: is required for apply patch"
        raise bad_options("PatchOptions", "fieldManager", text)
