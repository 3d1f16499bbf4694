"""Bodies in Kubernetes' protobuf, of the few kinds that kubectl and helm write in no other way.

Field numbers are those of `k8s.io/api/core/v1/generated.proto` and of apimachinery's.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from .refusal import bad_request

CONTENT = "application/vnd.kubernetes.protobuf"
_MAGIC = b"k8s\x00"
Json = dict[str, Any]


class _Field(NamedTuple):
    """A field: its name, what it holds (a scalar's name or a message's), and how often."""

    name: str
    holds: str
    often: str = "once"


_META = _Field("metadata", "ObjectMeta")
_MESSAGES: Mapping[str, Mapping[int, _Field]] = {
    "ObjectMeta": {
        1: _Field("name", "text"),
        2: _Field("generateName", "text"),
        3: _Field("namespace", "text"),
        5: _Field("uid", "text"),
        6: _Field("resourceVersion", "text"),
        11: _Field("labels", "text", "map"),
        12: _Field("annotations", "text", "map"),
        13: _Field("ownerReferences", "OwnerReference", "list"),
        14: _Field("finalizers", "text", "list"),
    },
    "OwnerReference": {
        1: _Field("kind", "text"),
        3: _Field("name", "text"),
        4: _Field("uid", "text"),
        5: _Field("apiVersion", "text"),
        6: _Field("controller", "bool"),
        7: _Field("blockOwnerDeletion", "bool"),
    },
    "Namespace": {1: _META},
    "ServiceAccount": {1: _META},
    "ConfigMap": {
        1: _META,
        2: _Field("data", "text", "map"),
        3: _Field("binaryData", "bytes", "map"),
        4: _Field("immutable", "bool"),
    },
    "Secret": {
        1: _META,
        2: _Field("data", "bytes", "map"),
        3: _Field("type", "text"),
        4: _Field("stringData", "text", "map"),
        5: _Field("immutable", "bool"),
    },
    "DeleteOptions": {
        1: _Field("gracePeriodSeconds", "int"),
        2: _Field("preconditions", "Preconditions"),
        3: _Field("orphanDependents", "bool"),
        4: _Field("propagationPolicy", "text"),
        5: _Field("dryRun", "text", "list"),
    },
    "Preconditions": {1: _Field("uid", "text"), 2: _Field("resourceVersion", "text")},
    "Unknown": {1: _Field("typeMeta", "TypeMeta"), 2: _Field("raw", "message")},
    "TypeMeta": {1: _Field("apiVersion", "text"), 2: _Field("kind", "text")},
}


def read(data: bytes) -> Json:
    """The object in a body. Raises Refusal for a kind that is not read this way."""
    if not data.startswith(_MAGIC):
        raise bad_request("the body does not begin as Kubernetes' protobuf does")
    try:
        whole = _message("Unknown", data[len(_MAGIC) :])
        head = whole["typeMeta"]
        if head.get("kind") in _MESSAGES:
            return {**head, **_message(head["kind"], whole.get("raw", b""))}
    except (IndexError, KeyError, UnicodeDecodeError) as error:
        raise bad_request(f"the body is broken protobuf: {error!r}") from error
    raise bad_request(f"{head.get('kind')} is not read from protobuf here: send JSON")


def _message(name: str, data: bytes) -> Json:
    found: Json = {}
    for number, raw in _fields(data):
        field = _MESSAGES[name].get(number)
        if field is None:
            continue
        if field.often == "map":
            entry = dict(_fields(raw))
            key = entry.get(1, b"").decode()
            found.setdefault(field.name, {})[key] = _value(field.holds, entry.get(2, b""))
        elif field.often == "list":
            found.setdefault(field.name, []).append(_value(field.holds, raw))
        else:
            found[field.name] = _value(field.holds, raw)
    return found


def _value(holds: str, raw: Any) -> Any:
    match holds:
        case "text":
            return raw.decode()
        case "bytes":
            return b64encode(raw).decode()
        case "bool":
            return bool(raw)
        case "int" | "message":
            return raw
        case _:
            return _message(holds, raw)


def _fields(data: bytes) -> Iterator[tuple[int, Any]]:
    """Number and value of each field: an int, or bytes."""
    at = 0
    while at < len(data):
        tag, at = _varint(data, at)
        if tag & 7 == 0:
            value, at = _varint(data, at)
            yield tag >> 3, value
        else:
            size, at = _varint(data, at) if tag & 7 == 2 else ({1: 8, 5: 4}[tag & 7], at)
            yield tag >> 3, data[at : at + size]
            at += size


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 127) << shift
        at, shift = at + 1, shift + 7
        if byte < 128:
            return value, at
