"""Whether what a provisioner answered is the device it was asked for.

What a device holds was decided by `place`, under everybody's eyes. An answer adds a handle and
attributes, labels and annotations; it does not choose other cards, nor whose the device is.
"""

from __future__ import annotations

from collections.abc import Callable

from pydantic import ValidationError

from elasticgpu.api.elasticgpu import ElasticGPU
from elasticgpu.errors import Refused

GIVEN: tuple[tuple[str, Callable[[ElasticGPU], object]], ...] = (
    ("name", lambda d: d.name),
    ("namespace", lambda d: d.namespace),
    ("claimRef", lambda d: d.spec.claim_ref),
    ("class", lambda d: d.spec.elastic_gpu_class_name),
    ("reclaimPolicy", lambda d: d.spec.reclaim_policy),
    ("nodeName", lambda d: d.spec.node_name),
    ("source.driver", lambda d: d.spec.source.driver),
    ("source.devices", lambda d: d.spec.source.devices),
    ("capacity", lambda d: d.spec.capacity),
    ("finalizers", lambda d: d.metadata.finalizers),
    ("ownerReferences", lambda d: d.metadata.owner_references),
    ("status", lambda d: d.status),
)
"""What an answer has from the request and may not change."""


def check(answer: object, asked: ElasticGPU) -> ElasticGPU:
    """The device to be stored: as asked for, with what the provisioner may add.

    Raises Refused with a sentence that says what of the answer is wrong.
    """
    device = _readable(answer)
    for what, of in GIVEN:
        if of(device) != of(asked):
            was, wanted = (f"({of(d)})" for d in (device, asked))
            raise Refused(f"the answer's {what} is {was:.200}, not {wanted:.200}")
    source = asked.spec.source.but(
        handle=device.spec.source.handle, attributes=device.spec.source.attributes
    )
    annotations = {**device.metadata.annotations, **asked.metadata.annotations}
    return asked.but(spec=asked.spec.but(source=source)).with_metadata(
        annotations=annotations, labels=device.metadata.labels
    )


def remains(answer: object, asked: ElasticGPU) -> ElasticGPU:
    """What is to be released after an answer that was refused: by its own handle, if it has one."""
    try:
        source = _readable(answer).spec.source
    except Refused:
        return asked
    if source.driver != asked.spec.source.driver:
        return asked
    kept = asked.spec.source.but(handle=source.handle, attributes=source.attributes)
    return asked.but(spec=asked.spec.but(source=kept))


def _readable(answer: object) -> ElasticGPU:
    """The answer as the API server would read it: a model can be copied with any value in it."""
    if not isinstance(answer, ElasticGPU):
        raise Refused(f"the answer is a {type(answer).__name__}, not an ElasticGPU")
    try:
        wire = answer.model_dump(by_alias=True, exclude_unset=True, warnings="none")
        return ElasticGPU.model_validate(wire)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        field = ".".join(str(part) for part in first["loc"])
        raise Refused(f"the answer is not a valid ElasticGPU: {field}: {first['msg']}") from error
    except Exception as error:  # anything may stand in a field
        raise Refused(f"the answer is not a valid ElasticGPU: {error}") from error
