"""What stands between a body and the store: strictness, the namespace, the schema."""

from __future__ import annotations

from elasticgpu.api.meta import Resource

from . import crds, life
from .kinds import Json, Kind
from .refusal import FieldError, bad_request, forbidden, invalid, not_found
from .requests import Terms
from .store import Store

NAMESPACE = Resource("", "v1", "Namespace", "namespaces")
NAMESPACES = "/namespaces"


def fitted(kind: Kind, body: Json, terms: Terms) -> tuple[str, ...]:
    """Prune and default the body; what was unknown is a warning, or refused if strict."""
    unknown = [f'unknown field "{path}"' for path in kind.checker.unknown(body)]
    if unknown and terms.validation == "Strict":
        name = kind.resource.kind
        text = f"strict decoding error: {', '.join(unknown)}"
        raise bad_request(
            f'{name} in version "{kind.resource.version}" cannot be handled as a {name}: {text}'
        )
    kind.checker.default(body)
    return tuple(unknown) if terms.validation == "Warn" else ()


def settle(store: Store, kind: Kind, namespace: str, name: str) -> None:
    """Raise Refusal if nothing can be made in that namespace."""
    if not kind.resource.namespaced:
        return
    home = store.get(NAMESPACES, ("", namespace))
    if home is None:
        raise not_found(NAMESPACE, namespace)
    if life.terminating(home.body):
        cause = {
            "reason": "NamespaceTerminating",
            "message": f"namespace {namespace} is being terminated",
            "field": "metadata.namespace",
        }
        why = (
            f"unable to create new content in namespace {namespace} because it is being terminated"
        )
        raise forbidden(kind.resource, name, why, [cause])


def check(kind: Kind, body: Json, old: Json | None, found: list[FieldError]) -> None:
    """Raise Refusal if something is wrong with the object, beside what was found already."""
    errors = [*found, *life.check_owners(body), *kind.checker.errors(body, old)]
    if kind.table == crds.TABLE:
        errors += crds.errors(body)
    if errors:
        raise invalid(kind.resource, body["metadata"].get("name", ""), errors)
