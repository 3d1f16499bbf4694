"""What may not be written to Kubernetes' own kinds: the few refusals that somebody relies on."""

from __future__ import annotations

from collections.abc import Iterator
from copy import deepcopy

from .checking import shown
from .kinds import Checker, Json
from .refusal import FieldError

_POD_MAY_CHANGE = ("activeDeadlineSeconds", "tolerations", "terminationGracePeriodSeconds")


class Fixed(Checker):
    """A spec that never changes."""

    def errors(self, body: Json, old: Json | None) -> list[FieldError]:
        """Refuse another spec."""
        if old is None or body.get("spec") == old.get("spec"):
            return []
        text = f"Invalid value: {shown(body.get('spec'))}: field is immutable"
        return [FieldError("spec", "FieldValueInvalid", text)]


class ResourceClaims(Fixed):
    """Whom a ResourceClaim is reserved for is known once it is allocated."""

    def errors(self, body: Json, old: Json | None) -> list[FieldError]:
        """Refuse another spec, and reservations of nothing."""
        found = super().errors(body, old)
        status = body.get("status", {})
        if status.get("reservedFor") and not status.get("allocation"):
            text = "Forbidden: may not be specified when `allocated` is not set"
            found.append(FieldError("status.reservedFor", "FieldValueForbidden", text))
        return found


class Pods(Checker):
    """A pod's containers, once written, run as they are."""

    def errors(self, body: Json, old: Json | None) -> list[FieldError]:
        """Refuse pods without containers, and changes of what runs."""
        return list(_creation(body) if old is None else _change(body, old))


def _creation(body: Json) -> Iterator[FieldError]:
    if not body["spec"].get("containers"):
        yield FieldError("spec.containers", "FieldValueRequired", "Required value")


def _change(body: Json, old: Json) -> Iterator[FieldError]:
    if _lasting(body["spec"]) != _lasting(old["spec"]):
        text = (
            "Forbidden: pod updates may not change fields other than `spec.containers[*].image`,"
            "`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only "
            "additions to existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to "
            "be set to 1 if it was previously negative)"
        )
        yield FieldError("spec", "FieldValueForbidden", text)


def _lasting(spec: Json) -> Json:
    """What of a pod's spec cannot change. Gates may go, which nothing here depends on."""
    rest = {key: deepcopy(spec[key]) for key in spec if key not in _POD_MAY_CHANGE}
    rest.pop("schedulingGates", None)
    if spec.get("schedulingGates"):
        rest.pop("nodeSelector", None)
        rest.pop("affinity", None)
    for kind in ("containers", "initContainers"):
        for container in rest.get(kind, ()):
            container.pop("image", None)
    return rest
