"""Answers that are not success: each a `Status` object as Kubernetes words it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from elasticgpu.api.meta import Resource

Json = dict[str, Any]


class Refusal(Exception):
    """The request is refused; `status()` is the body of the answer."""

    def __init__(
        self,
        code: int,
        reason: str,
        message: str,
        details: Json | None = None,
        metadata: dict[str, str] | None = None,
    ) -> None:
        super().__init__(f"{code} {reason}: {message}")
        self.code = code
        self.reason = reason
        self.message = message
        self.details = details or {}
        self.metadata = metadata or {}

    def status(self) -> Json:
        """The `Status` object."""
        said = {"message": self.message, "reason": self.reason} if self.reason else {}
        details = {"details": self.details} if self.details else {}
        return {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": dict(self.metadata),
            "status": "Failure",
            **(said or {"message": self.message}),
            **details,
            "code": self.code,
        }


@dataclass(frozen=True, slots=True)
class FieldError:
    """One thing that is wrong with an object; `text` is what is said after the field's path."""

    path: str
    reason: str
    text: str

    @property
    def blocking(self) -> bool:
        """The object is so wrong that rules on it would make no sense."""
        return self.reason in _BLOCKING

    def cause(self) -> Json:
        """The entry of `details.causes`."""
        return {"reason": self.reason, "message": self.text, "field": self.path}

    def __str__(self) -> str:
        return f"{self.path}: {self.text}"


_BLOCKING = {
    "FieldValueNotSupported",
    "FieldValueRequired",
    "FieldValueTooLong",
    "FieldValueTooMany",
    "FieldValueTypeInvalid",
}


def qualified(what: Resource) -> str:
    """`configmaps` or `gpus.elasticgpu.io`, as messages name a collection."""
    return f"{what.plural}.{what.group}" if what.group else what.plural


def about(what: Resource, name: str = "", *, kind: str = "") -> Json:
    """The `details` of an answer about an object."""
    found = {"name": name, "group": what.group, "kind": kind or what.plural}
    return {key: value for key, value in found.items() if value}


def not_found(what: Resource, name: str) -> Refusal:
    """404: no such object."""
    return Refusal(404, "NotFound", f'{qualified(what)} "{name}" not found', about(what, name))


def no_such_path() -> Refusal:
    """404: nothing is served there."""
    return Refusal(404, "NotFound", "the server could not find the requested resource")


def already_exists(what: Resource, name: str) -> Refusal:
    """409: a create met an object of this name."""
    message = f'{qualified(what)} "{name}" already exists'
    return Refusal(409, "AlreadyExists", message, about(what, name))


def conflict(what: Resource, name: str, why: str) -> Refusal:
    """409: what the writer expects is no longer so."""
    message = f'Operation cannot be fulfilled on {qualified(what)} "{name}": {why}'
    return Refusal(409, "Conflict", message, about(what, name))


MODIFIED = (
    "the object has been modified; please apply your changes to the latest version and try again"
)


def invalid(what: Resource, name: str, errors: Iterable[FieldError]) -> Refusal:
    """422: the object is wrong, in these places."""
    found = list(dict.fromkeys(errors))
    said = [str(error) for error in found]
    kind = f"{what.kind}.{what.group}" if what.group else what.kind
    text = said[0] if len(said) == 1 else f"[{', '.join(said)}]"
    details = about(what, name, kind=what.kind) | {"causes": [error.cause() for error in found]}
    return Refusal(422, "Invalid", f'{kind} "{name}" is invalid: {text}', details)


def bad_request(message: str) -> Refusal:
    """400: the request makes no sense."""
    return Refusal(400, "BadRequest", message)


def forbidden(what: Resource, name: str, why: str, causes: list[Json] | None = None) -> Refusal:
    """403: not allowed, for that reason."""
    details = about(what, name) | ({"causes": causes} if causes else {})
    return Refusal(403, "Forbidden", f'{qualified(what)} "{name}" is forbidden: {why}', details)


def bad_options(kind: str, field: str, text: str) -> Refusal:
    """422: something is wrong with the query of a request, or with its `DeleteOptions`."""
    reason = next(reason for words, reason in _OPTIONS.items() if text.startswith(words))
    what = Resource("meta.k8s.io", "v1", kind, kind.lower())
    return invalid(what, "", [FieldError(field, reason, text)])


_OPTIONS = {
    "Forbidden": "FieldValueForbidden",
    "Required value": "FieldValueRequired",
    "Unsupported value": "FieldValueNotSupported",
}


def method_not_allowed() -> Refusal:
    """405: the resource has no such verb."""
    message = "the server does not allow this method on the requested resource"
    return Refusal(405, "MethodNotAllowed", message)


def unsupported_media(accepted: Iterable[str]) -> Refusal:
    """415: a body in a format that is not understood there."""
    message = (
        "the body of the request was in an unknown format - accepted media types include: "
        + ", ".join(accepted)
    )
    return Refusal(415, "UnsupportedMediaType", message)


def expired(message: str, **metadata: str) -> Refusal:
    """410: what was asked for is no longer known."""
    return Refusal(410, "Expired", message, metadata=metadata)


def too_new(asked: int, current: int) -> Refusal:
    """504: a resourceVersion that is ahead of the server's."""
    message = f"Too large resource version: {asked}, current: {current}"
    cause = {"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}
    return Refusal(
        504, "Timeout", f"Timeout: {message}", {"causes": [cause], "retryAfterSeconds": 1}
    )
