"""Admission policies as they are written: ValidatingAdmissionPolicy, MutatingAdmissionPolicy.

Of what they may say, parameters and selectors of namespaces and objects are not evaluated: a policy
that has them fails as its `failurePolicy` says.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

from elasticgpu.api.meta import Key

from .applying import merged
from .expressions import Failed, Scope
from .kinds import Json, Kind
from .patching import json_patch
from .refusal import Refusal, forbidden
from .store import Store
from .users import User

_GROUP = "admissionregistration.k8s.io"
_CODES = {"Invalid": 422, "Forbidden": 403, "Unauthorized": 401, "RequestEntityTooLarge": 413}


@dataclass(frozen=True)
class Call:
    """A write on its way, as policies see it."""

    kind: Kind
    key: Key
    operation: str
    subresource: str
    user: User
    dry: bool
    new: Json | None
    old: Json | None

    def values(self) -> Json:
        """What expressions find under their names."""
        what = self.kind.resource
        resource = {"group": what.group, "version": what.version, "resource": what.plural}
        request: Json = {
            "kind": {"group": what.group, "version": what.version, "kind": what.kind},
            "resource": resource,
            "name": self.key[1],
            "namespace": self.key[0],
            "operation": self.operation,
            "userInfo": self.user.info(),
            "dryRun": self.dry,
        }
        if self.subresource:
            request["subResource"] = self.subresource
        return {
            "object": self._whole(self.new),
            "oldObject": self._whole(self.old),
            "request": request,
        }

    def _whole(self, body: Json | None) -> Json | None:
        return None if body is None else {**self.kind.head, **body}


class Policies:
    """The policies that are stored now."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def mutated(self, call: Call) -> Json:
        """The object as the policies make it. Raises Refusal."""
        assert call.new is not None  # there is nothing to change of what is deleted
        for policy, binding in self._of("mutating", call):
            with _failing(policy, binding, call):
                if (scope := _scope(policy, call)) is not None:
                    for mutation in policy["spec"].get("mutations", ()):
                        call = replace(call, new=_mutated(mutation, scope, call))
        assert call.new is not None
        return call.new

    def judge(self, call: Call) -> None:
        """Raise Refusal for what a policy denies."""
        for policy, binding in self._of("validating", call):
            with _failing(policy, binding, call):
                scope = _scope(policy, call)
                for validation in policy["spec"].get("validations", ()) if scope else ():
                    assert scope is not None
                    if scope.value(validation["expression"]) is not True:
                        raise _denial(policy, binding, call, validation, scope)

    def _of(self, sort: str, call: Call) -> Iterator[tuple[Json, Json]]:
        """The policies of that sort which are bound and concern the call, with their bindings."""
        bindings = self._store.table(f"{_GROUP}/{sort}admissionpolicybindings").entries
        for key in sorted(bindings):
            binding = bindings[key].body
            name = binding["spec"].get("policyName", "")
            policy = self._store.get(f"{_GROUP}/{sort}admissionpolicies", ("", name))
            if policy is not None and _concerns(policy.body["spec"], call):
                yield policy.body, binding


@contextmanager
def _failing(policy: Json, binding: Json, call: Call) -> Iterator[None]:
    """Turns an expression without value into what the policy says of failures."""
    try:
        yield
    except Failed as error:
        if policy["spec"].get("failurePolicy", "Fail") != "Ignore":
            raise _refusal(policy, binding, call, str(error)) from error


def _concerns(spec: Json, call: Call) -> bool:
    rules = (spec.get("matchConstraints") or {}).get("resourceRules", ())
    what = call.kind.resource
    name = f"{what.plural}/{call.subresource}" if call.subresource else what.plural
    wild = f"*/{call.subresource}" if call.subresource else "*"
    return any(
        _in(rule.get("apiGroups"), what.group)
        and _in(rule.get("apiVersions"), what.version)
        and _in(rule.get("operations"), call.operation)
        and {name, wild, "*/*", f"{what.plural}/*"} & set(rule.get("resources", ()))
        for rule in rules
    )


def _in(values: list[str] | None, value: str) -> bool:
    return bool({"*", value} & set(values or ()))


def _scope(policy: Json, call: Call) -> Scope | None:
    """What the policy's expressions see; None if its conditions exclude the call. Raises Failed."""
    spec = policy["spec"]
    constraints = spec.get("matchConstraints") or {}
    if (
        spec.get("paramKind")
        or constraints.get("objectSelector")
        or constraints.get("namespaceSelector")
    ):
        raise Failed("parameters and selectors are not evaluated by this server")
    values = call.values()
    scope = Scope({**values, "variables": {}})
    if not all(scope.value(one["expression"]) is True for one in spec.get("matchConditions", ())):
        return None
    known: Json = {}
    for one in spec.get("variables", ()):
        try:
            known[one["name"]] = Scope({**values, "variables": known}).value(one["expression"])
        except Failed:  # it fails where it is used, if it is
            continue
    return Scope({**values, "variables": known})


def _mutated(mutation: Json, scope: Scope, call: Call) -> Json:
    assert call.new is not None
    if mutation.get("patchType") == "JSONPatch":
        steps = scope.value(mutation["jsonPatch"]["expression"])
        changed: Json = json_patch(call.new, steps)
        return changed
    config = _filled(scope.value(mutation["applyConfiguration"]["expression"]))
    made: Json = merged(call.kind.shape, call.new, config)
    return made


def _filled(value: Any) -> Any:
    """Without empty lists and maps: a typed object knows no difference to their absence."""
    if isinstance(value, dict):
        found = {key: _filled(one) for key, one in value.items()}
        return {key: one for key, one in found.items() if one not in ([], {})}
    return [_filled(one) for one in value] if isinstance(value, list) else value


def _denial(policy: Json, binding: Json, call: Call, validation: Json, scope: Scope) -> Refusal:
    said = validation.get("message") or f"failed expression: {validation['expression']}"
    if expression := validation.get("messageExpression"):
        said = str(scope.value(expression))
    return _refusal(policy, binding, call, f"denied request: {said}", validation.get("reason", ""))


def _refusal(
    policy: Json, binding: Json, call: Call, said: str, reason: str = "Invalid"
) -> Refusal:
    names = policy["metadata"]["name"], binding["metadata"]["name"]
    sort = "Mutating" if "mutations" in policy["spec"] else "Validating"
    why = f"{sort}AdmissionPolicy '{names[0]}' with binding '{names[1]}' {said}"
    found = forbidden(call.kind.resource, call.key[1], why, [{"message": why}])
    reason = reason or "Invalid"
    return Refusal(_CODES.get(reason, 422), reason, found.message, found.details)
