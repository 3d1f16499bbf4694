"""Names that objects carry for each other: who writes each, and who reads it."""

from __future__ import annotations

from .meta import GROUP

DRIVER = GROUP
"""The DRA driver and DeviceClass. Agent registers it, controller writes it into allocations."""

PODS_LABEL = f"{GROUP}/uses-claims"
"""Label `"true"` on pods that use claims, and on what is made for them. Admission writes it on
pods, the controller on templates (whence it reaches ResourceClaims); informers select by it."""

CLAIM_ANNOTATION = f"{GROUP}/egpuc-"
"""Prefix of the pod annotation `…egpuc-<container>: <claim>[,<claim>]`. People write it."""

TEMPLATE_ANNOTATION = f"{GROUP}/egpuct-"
"""Prefix of the pod annotation `…egpuct-<container>: <claim template>`. People write it."""

OLD_CLAIM_ANNOTATION = f"egpuc.{GROUP}/"
"""Prefix of the older form `egpuc.elasticgpu.io/<container>`; serves long container names too."""

ENTRY_PREFIX = "egpu-"
"""Pod-level `resourceClaims` entries are `egpu-0`, `egpu-1`, … Admission writes them."""

CLAIM_TEMPLATE_PREFIX = "egpuc-"
"""ResourceClaimTemplate of a claim: `egpuc-<claim>`. The controller makes it."""

TEMPLATE_TEMPLATE_PREFIX = "egpuct-"
"""ResourceClaimTemplate of a claim template: `egpuct-<template>`. The controller makes it."""

REMOTE = "remote"
"""Pool, in allocations, of devices that are on no node."""

DEVICE_REQUEST = "egpu"
"""Name of the one request inside every ResourceClaim of ours."""

DEFAULT_CLASS_ANNOTATION = f"{GROUP}/is-default-class"
"""`"true"` on the class that claims without a class get. An admin writes it."""

SERVES_ANNOTATION = f"{GROUP}/serves-resources"
"""Class annotation: names of resources, with commas between, that mean a claim of this class in
containers' limits. `elasticgpu import` writes it; who translates vendors' pods reads it."""

BIND_COMPLETED = f"{GROUP}/bind-completed"
"""Claim annotation, written with the claim's device name: from now on a missing half means Lost."""

BOUND_BY_CONTROLLER = f"{GROUP}/bound-by-controller"
"""On a device or a claim: the controller, not a person, made this pointer."""

PROVISIONED_BY = f"{GROUP}/provisioned-by"
"""Device annotation, the provisioner's name: made by the controller, not by an admin."""

CLAIM_PROTECTION = f"{GROUP}/claim-protection"
"""Claim finalizer. Written with the bind; removed when no pod uses the claim any more."""

PROVISIONING = f"{GROUP}/provisioning"
"""Claim finalizer. Written before a provisioner with a `provision` of its own is first asked, and
removed after its final answer, so that nothing it makes can be left without an object."""

DEVICE_PROTECTION = f"{GROUP}/device-protection"
"""Device finalizer. Written with the bind; removed when no claim holds the device any more."""

NODE_FINALIZER = f"{GROUP}/node"
"""Device finalizer. The agent writes it before it materialises the device and removes it after."""


def device_name(claim_uid: str) -> str:
    """Name of the device provisioned for a claim: a second try meets the first one.

    >>> device_name("13fc229f")
    'egpu-13fc229f'
    """
    return f"egpu-{claim_uid}"
