"""A node and its cluster in miniature: what outlives the agent's process, and that process."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path

from elasticgpu.agent.adopt import Adopter
from elasticgpu.agent.agent import simulated_machine
from elasticgpu.agent.cdi import Folder
from elasticgpu.agent.ledger import Ledger, Record
from elasticgpu.agent.node import Node
from elasticgpu.agent.prepare import PreparedDevice, Preparer
from elasticgpu.agent.settle import Settler, restore
from elasticgpu.api.claim import ClaimUser, ElasticGPUClaim
from elasticgpu.api.core import Pod, ResourceClaim
from elasticgpu.api.elasticgpu import CardSlice, ElasticGPU
from elasticgpu.api.gpu import GPU, GPUSpec, GPUStatus
from elasticgpu.api.meta import ObjectMeta
from elasticgpu.api.names import NODE_FINALIZER
from elasticgpu.provisioner import (
    ContainerEdits,
    Demand,
    Host,
    NodeView,
    Provisioner,
    Slice,
)
from elasticgpu.provisioner import ElasticGPU as Device
from tests.agent.fake_api import FakeApi, Fate

NODE, NAMESPACE, DRIVER = "node-a", "team", "test.io/share"


class Died(BaseException):
    """The process is killed here: nothing catches it, nothing after it happens."""


@dataclass
class Use:
    """One pod that uses one claim: the objects there are once the scheduler has placed it."""

    pod: Pod
    claim: ElasticGPUClaim
    resource_claim: ResourceClaim

    @property
    def uid(self) -> str:
        return self.resource_claim.uid


@dataclass
class World:
    """What a crash leaves: API server, disk, and what the provisioner made on the node."""

    root: Path
    api: FakeApi = field(default_factory=FakeApi)
    made: dict[str, int] = field(default_factory=dict)
    """Device name → how often it was made, for devices that are made now."""
    told: list[str] = field(default_factory=list)
    fate: Fate = lambda _: None
    boot: str = "boot-1"

    def __post_init__(self) -> None:
        (self.root / "cdi").mkdir()
        (self.root / "state").mkdir()
        self.api.fate = lambda point: self.fate(point)
        self.cards = {card.name: card for card in (card_of(0), card_of(1))}
        self.machine = simulated_machine(self.root / "state", self.root / "run")

    @property
    def ledger_file(self) -> Path:
        return self.root / "state" / "ledger.json"

    def device(
        self, name: str = "egpu-one", core: int = 60, gpu: int = 0, driver: str = DRIVER
    ) -> ElasticGPU:
        """A device of a part of a card, not yet anybody's."""
        part = CardSlice(gpu=f"card-{gpu}", core=core, memory="4Gi")
        source = {"driver": driver, "devices": [part.wire()]}
        body = {"metadata": {"name": name}, "spec": {"nodeName": NODE, "source": source}}
        return self.api.add(ElasticGPU.model_validate(body))

    def claim(self, name: str, device: ElasticGPU, *, shared: bool = False) -> ElasticGPUClaim:
        """A claim that is bound to the device."""
        spec = {"elasticGPUName": device.name, "shared": shared}
        meta = {"name": name, "namespace": NAMESPACE}
        claim = ElasticGPUClaim.model_validate({"metadata": meta, "spec": spec})
        claim = self.api.add(claim.with_status(phase="Bound"))
        ref = {"namespace": NAMESPACE, "name": name, "uid": claim.uid}
        bound = device.wire() | {"spec": {**device.wire()["spec"], "claimRef": ref}}
        self.api.set(ElasticGPU.model_validate(bound).with_status(phase="Bound"))
        return claim

    def use(self, name: str, claim: ElasticGPUClaim, node: str = NODE) -> Use:
        """A pod that holds the claim, with its allocated ResourceClaim."""
        made = f"{name}-egpu-0-x1"
        spec = {
            "nodeName": node,
            "containers": [{"name": "main", "resources": {"claims": [{"name": "egpu-0"}]}}],
            "resourceClaims": [
                {"name": "egpu-0", "resourceClaimTemplateName": f"egpuc-{claim.name}"}
            ],
        }
        status = {"resourceClaimStatuses": [{"name": "egpu-0", "resourceClaimName": made}]}
        meta = {"name": name, "namespace": NAMESPACE}
        body = {"metadata": meta, "spec": spec, "status": status}
        pod = self.api.add(Pod.model_validate(body))
        self.hand(claim, pod)
        result = {
            "request": "egpu",
            "driver": "elasticgpu.io",
            "pool": NODE,
            "device": claim.spec.elastic_gpu_name,
        }
        handed = {
            "allocation": {"devices": {"results": [result]}},
            "reservedFor": [{"resource": "pods", "name": name, "uid": pod.uid}],
        }
        resource_claim = self.api.add(
            ResourceClaim.model_validate({"metadata": {**meta, "name": made}, "status": handed})
        )
        return Use(pod, claim, resource_claim)

    def use_too(self, use: Use, claim: ElasticGPUClaim, entry: str) -> Use:
        """The pod of a use, with another claim in the same container, under an entry of this name.

        Objects read before are old then.
        """
        self.hand(claim, use.pod)
        body, template = use.pod.wire(), f"egpuc-{claim.name}"
        made = f"made-{claim.name}"
        body["spec"]["resourceClaims"] += [{"name": entry, "resourceClaimTemplateName": template}]
        body["spec"]["containers"][0]["resources"]["claims"] += [{"name": entry}]
        body["status"]["resourceClaimStatuses"] += [{"name": entry, "resourceClaimName": made}]
        pod = Pod.model_validate(body)
        self.api.set(pod)
        copied = use.resource_claim.wire()
        copied["metadata"] |= {"name": made, "uid": f"uid-of-{made}"}
        results = copied["status"]["allocation"]["devices"]["results"]
        results[0]["device"] = claim.spec.elastic_gpu_name
        return Use(pod, claim, self.api.add(ResourceClaim.model_validate(copied)))

    def hand(self, claim: ElasticGPUClaim, *pods: Pod) -> None:
        """Add holders, as the controller does; none: take it from all."""
        now = self.api.see(ElasticGPUClaim, claim.name, NAMESPACE)
        assert now is not None
        rows = [ClaimUser(pod_uid=pod.uid, pod_name=pod.name) for pod in pods]
        self.api.set(now.with_status(users=[*now.status.users, *rows] if rows else []))

    def see(self, device: str = "egpu-one") -> ElasticGPU:
        """The device as it is."""
        found = self.api.see(ElasticGPU, device)
        assert found is not None
        return found

    def is_clean(self) -> bool:
        """Nothing of any use is left: not on the node, not in the API, not in the ledger."""
        devices = [
            ElasticGPU.model_validate(body)
            for (kind, _), body in self.api.objects.items()
            if kind == "ElasticGPU"
        ]
        return (
            not self.made
            and not list((self.root / "cdi").iterdir())
            and not Ledger.load(self.ledger_file, self.boot).all()
            and not any(d.status.prepared_for for d in devices)
            and not any(NODE_FINALIZER in d.metadata.finalizers for d in devices)
        )

    async def start(self) -> Agent:
        """The agent's process, from what is on disk and in the API server."""
        agent = await self.start_without_api()
        await agent.adopter.compare()
        await agent.settler.round()
        return agent

    async def start_without_api(self) -> Agent:
        """The agent's process before the API server ever answered."""
        agent = Agent(self)
        await restore(agent.node)
        return agent


class Agent:
    """The agent's core, as one process has it."""

    def __init__(self, world: World) -> None:
        ledger = DyingLedger.load(world.ledger_file, world.boot)
        assert isinstance(ledger, DyingLedger)
        ledger.world = world
        self.node = Node(
            name=NODE,
            api=world.api,
            ledger=ledger,
            folder=DyingFolder(world),
            provisioners={Share.name: Share(world), Other.name: Other(world)},
            cards=lambda: world.cards,
            machine=world.machine,
        )
        self.settler = Settler(self.node)
        self.preparer = Preparer(self.node, self.settler, lambda _, said: world.told.append(said))
        self.adopter = Adopter(
            self.node, self.preparer, lambda device, said: world.told.append(said)
        )

    async def prepare(self, use: Use) -> list[PreparedDevice]:
        return await self.preparer.prepare(use.resource_claim.key, use.uid)

    async def unprepare(self, use: Use) -> None:
        await self.preparer.unprepare(use.uid)


class DyingLedger(Ledger):
    """A ledger whose process may die before and after each of its writes."""

    world: World

    async def put(self, record: Record) -> Record:
        self.world.fate(f"before ledger {record.state} {record.device.name}")
        written = await super().put(record)
        self.world.fate(f"after ledger {record.state} {record.device.name}")
        return written

    async def drop(self, uid: str) -> None:
        self.world.fate("before ledger drop")
        await super().drop(uid)
        self.world.fate("after ledger drop")


class DyingFolder(Folder):
    """A CDI folder whose process may die before and after each of its writes."""

    def __init__(self, world: World) -> None:
        super().__init__(world.root / "cdi")
        self.world = world

    def write(self, uid: str, edits: ContainerEdits) -> None:
        self.world.fate("before cdi write")
        super().write(uid, edits)
        self.world.fate("after cdi write")

    def remove(self, uid: str) -> None:
        self.world.fate("before cdi remove")
        super().remove(uid)
        self.world.fate("after cdi remove")


class Share(Provisioner):
    """A provisioner that makes something on the node, which must not be left there."""

    name = DRIVER

    def __init__(self, world: World) -> None:
        self.world = world

    def place(self, want: Demand, node: NodeView) -> Slice | None:
        raise NotImplementedError

    async def prepare(self, device: Device, host: Host) -> ContainerEdits:
        self.world.fate(f"before plugin prepare {device.name}")
        self.world.made[device.name] = self.world.made.get(device.name, 0) + 1
        self.world.fate(f"after plugin prepare {device.name}")
        (part,) = device.spec.source.devices
        return ContainerEdits(env=[f"{host.variable('UUID')}={host.card(part.gpu).status.uuid}"])

    async def unprepare(self, device: Device, host: Host) -> None:
        self.world.fate(f"before plugin unprepare {device.name}")
        self.world.made.pop(device.name, None)
        self.world.fate(f"after plugin unprepare {device.name}")


class Other(Share):
    """Another one, for cards of another mode."""

    name = "other.io/mode"


def card_of(index: int) -> GPU:
    """A card of 24 GiB."""
    status = GPUStatus(index=index, uuid=f"GPU-{index}", memory="24Gi", health="Healthy")
    meta = ObjectMeta(name=f"card-{index}")
    return GPU(metadata=meta, spec=GPUSpec(node_name=NODE), status=status)


def failing(error: Exception) -> Callable[..., Awaitable[None]]:
    """A method that raises."""

    async def fail(*_: object) -> None:
        raise error

    return fail
