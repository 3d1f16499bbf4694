"""What `elasticgpu get` shows of each kind: a title, and a text for an object."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Generic, TypeVar

from elasticgpu.api.claim import ClaimSpec, ElasticGPUClaim, ElasticGPUClaimTemplate
from elasticgpu.api.elasticgpu import ElasticGPU
from elasticgpu.api.gpu import GPU
from elasticgpu.api.gpuclass import ElasticGPUClass
from elasticgpu.api.meta import KubeObject, find_condition
from elasticgpu.api.quantity import to_int
from elasticgpu.api.vocabulary import CORE, MEMORY, Demand, demand, describe
from elasticgpu.rules.accepting import PARAMETERS_ACCEPTED, VERIFIED

from .printing import age, memory, room

T = TypeVar("T", bound=KubeObject)
K = TypeVar("K", contravariant=True)


@dataclass(frozen=True, slots=True)
class Context:
    """What a column may know besides its object: the time, and the devices by name."""

    now: str
    devices: Mapping[str, ElasticGPU]


@dataclass(frozen=True, slots=True)
class Column(Generic[T]):
    """One column; `wide` ones come with -o wide, `devices` ones need the devices read."""

    title: str
    value: Callable[[T, Context], str]
    wide: bool = False
    devices: bool = False


def _name(obj: KubeObject, _: Context) -> str:
    return obj.name


def _age(obj: KubeObject, context: Context) -> str:
    return age(obj.metadata.creation_timestamp, context.now)


def phase(obj: ElasticGPUClaim | ElasticGPU) -> str:
    """The phase as people see it: what is being deleted says so."""
    return "Terminating" if obj.terminating else obj.status.phase or "Pending"


def bytes_of(value: int | str) -> str:
    """An amount of memory; what cannot be read is shown as it is."""
    try:
        return memory(to_int(value))
    except ValueError:
        return str(value)


def asked(spec: ClaimSpec, labels: Mapping[str, str]) -> str:
    """What a claim asks for, in short; its own words where they mean nothing."""
    try:
        want = demand(spec.resources.requests, labels)
    except ValueError:
        asked = spec.resources.requests.items()
        return ",".join(f"{name.rpartition('/')[2]}={value}" for name, value in asked)
    plain = want.core and want.memory and want == Demand(core=want.core, memory=want.memory)
    return room(want.core, want.memory) if plain else describe(want)


def has(capacity: Mapping[str, int | str]) -> str:
    """A device's capacity: `10% 4Gi`."""
    core = f"{capacity[CORE]}%" if CORE in capacity else ""
    return f"{core} {bytes_of(capacity[MEMORY]) if MEMORY in capacity else ''}".strip()


def _claim_size(claim: ElasticGPUClaim, _: Context) -> str:
    return has(claim.status.capacity) or asked(claim.spec, claim.metadata.labels)


def _claim_reason(claim: ElasticGPUClaim, _: Context) -> str:
    bound = find_condition(claim.status.conditions, "Bound")
    return bound.reason if bound and bound.status != "True" else ""


def _claim_message(claim: ElasticGPUClaim, _: Context) -> str:
    bound = find_condition(claim.status.conditions, "Bound")
    return bound.message if bound and bound.status != "True" else ""


def _claim_class(claim: ElasticGPUClaim, _: Context) -> str:
    return claim.status.class_name or claim.class_name or ""


def _users(claim: ElasticGPUClaim, _: Context) -> str:
    return ",".join(row.pod_name for row in claim.status.users)


def _device_of(claim: ElasticGPUClaim, context: Context) -> ElasticGPU | None:
    return context.devices.get(claim.spec.elastic_gpu_name)


def _claim_node(claim: ElasticGPUClaim, context: Context) -> str:
    device = _device_of(claim, context)
    return device.spec.node_name if device else ""


def _claim_cards(claim: ElasticGPUClaim, context: Context) -> str:
    device = _device_of(claim, context)
    return _cards(device, context) if device else ""


def _cards(device: ElasticGPU, _: Context) -> str:
    return ",".join(part.gpu for part in device.spec.source.devices)


def claim_of(device: ElasticGPU) -> str:
    """`namespace/name` of the claim a device belongs to or is reserved for."""
    return "/".join(device.spec.claim_ref.key) if device.spec.claim_ref else ""


def health(gpu: GPU) -> str:
    """Whether a card takes new devices, in one word."""
    return "Unschedulable" if gpu.spec.unschedulable else gpu.status.health


def _held(gpu: GPU, _: Context) -> str:
    rows = gpu.status.allocated
    return room(sum(row.core for row in rows), sum(to_int(row.memory) for row in rows))


def _class_name(gpu_class: ElasticGPUClass, _: Context) -> str:
    return f"{gpu_class.name} (default)" if gpu_class.is_default else gpu_class.name


def _parameters(gpu_class: ElasticGPUClass, _: Context) -> str:
    return ",".join(f"{name}={value}" for name, value in gpu_class.spec.parameters.items())


def _says(kind: str) -> Callable[[ElasticGPUClass, Context], str]:
    """The status of the class's condition of this type; empty if nobody has judged it yet."""

    def status(gpu_class: ElasticGPUClass, _: Context) -> str:
        found = find_condition(gpu_class.status.conditions, kind)
        return found.status if found else ""

    return status


CLAIMS: tuple[Column[ElasticGPUClaim], ...] = (
    Column("NAME", _name),
    Column("PHASE", lambda claim, _: phase(claim)),
    Column("REASON", _claim_reason),
    Column("SIZE", _claim_size),
    Column("CLASS", _claim_class),
    Column("DEVICE", lambda claim, _: claim.spec.elastic_gpu_name),
    Column("USED-BY", _users),
    Column("NODE", _claim_node, wide=True, devices=True),
    Column("CARDS", _claim_cards, wide=True, devices=True),
    Column("AGE", _age),
    Column("MESSAGE", _claim_message, wide=True),
)
DEVICES: tuple[Column[ElasticGPU], ...] = (
    Column("NAME", _name),
    Column("PHASE", lambda device, _: phase(device)),
    Column("SIZE", lambda device, _: has(device.spec.capacity)),
    Column("CLASS", lambda device, _: device.spec.elastic_gpu_class_name),
    Column("CLAIM", lambda device, _: claim_of(device)),
    Column("NODE", lambda device, _: device.spec.node_name),
    Column("CARDS", _cards, wide=True),
    Column("DRIVER", lambda device, _: device.spec.source.driver, wide=True),
    Column("PREPARED", lambda device, _: str(len(device.status.prepared_for)), wide=True),
    Column("RECLAIM", lambda device, _: device.spec.reclaim_policy),
    Column("AGE", _age),
    Column("MESSAGE", lambda device, _: device.status.message, wide=True),
)
CARDS: tuple[Column[GPU], ...] = (
    Column("NAME", _name),
    Column("NODE", lambda gpu, _: gpu.spec.node_name),
    Column("INDEX", lambda gpu, _: str(gpu.status.index)),
    Column("MODEL", lambda gpu, _: gpu.status.model),
    Column("MEMORY", lambda gpu, _: bytes_of(gpu.status.memory)),
    Column("HELD", _held),
    Column("MODE", lambda gpu, _: gpu.status.mode),
    Column("HEALTH", lambda gpu, _: health(gpu)),
    Column("SIMULATED", lambda gpu, _: "yes" if gpu.status.simulated else "no", wide=True),
    Column("UUID", lambda gpu, _: gpu.status.uuid, wide=True),
    Column("PCI-BUS", lambda gpu, _: gpu.status.pci_bus_id, wide=True),
    Column("NUMA", lambda gpu, _: str(gpu.status.numa_node), wide=True),
    Column("AGE", _age),
)
CLASSES: tuple[Column[ElasticGPUClass], ...] = (
    Column("NAME", _class_name),
    Column("PROVISIONER", lambda found, _: found.spec.provisioner),
    Column("RECLAIM", lambda found, _: found.spec.reclaim_policy),
    Column("BINDING", lambda found, _: found.spec.egpu_binding_mode),
    Column("ACCEPTED", _says(PARAMETERS_ACCEPTED)),
    Column("VERIFIED", _says(VERIFIED)),
    Column("PLACEMENT", lambda c, _: f"{c.spec.placement.node}/{c.spec.placement.card}", wide=True),
    Column("PARAMETERS", _parameters, wide=True),
    Column("AGE", _age),
)
TEMPLATES: tuple[Column[ElasticGPUClaimTemplate], ...] = (
    Column("NAME", _name),
    Column("SIZE", lambda found, _: asked(found.spec.spec, found.spec.metadata.labels)),
    Column("CLASS", lambda found, _: found.spec.spec.elastic_gpu_class_name or ""),
    Column("AGE", _age),
)
