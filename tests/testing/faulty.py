"""Provisioners with one fault each, beside a sound one from which they are made."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any, ClassVar, Self
from uuid import uuid4

from pydantic import ConfigDict, Field

from elasticgpu.errors import ElasticGPUError
from elasticgpu.provisioner import (
    CardSlice,
    ContainerEdits,
    Demand,
    ElasticGPU,
    Host,
    Mount,
    NodeView,
    Parameters,
    Provisioner,
    Refused,
    Request,
    Slice,
    shares,
)

COUNTER = count()


class Settings(Parameters):
    """Of the sound one."""

    size: int = Field(default=1, ge=1)


class Sound(Provisioner):
    """Shares of cards, each with a directory, a tmpfs and two files of its own."""

    name = "example.com/sound"
    parameters: Settings = Settings()

    def place(self, want: Demand, node: NodeView) -> Slice | None:
        if want.gpus or want.mig or want.unsized:
            raise Refused(
                "this cuts shares of cards: ask for core, memory or TFLOPS; whole cards and MIG "
                "profiles, or no size at all, need another provisioner"
            )
        return shares(want, node)

    async def prepare(self, device: ElasticGPU, host: Host) -> ContainerEdits:
        own = host.run_dir / device.name
        cards = [host.card(part.gpu) for part in device.spec.source.devices]
        host.files.directory(own)
        host.files.write(own / "limits", repr(device.spec.source.devices).encode())
        await host.files.mount_tmpfs(own, self.parameters.size)
        host.files.write(host.state_dir / device.name, b"in use")
        return ContainerEdits(
            env=[f"{host.variable('UUID')}={','.join(card.status.uuid for card in cards)}"],
            device_nodes=host.nodes(*(card.name for card in cards)),
            mounts=[Mount(host_path=str(own), container_path="/limits")],
        )

    async def unprepare(self, device: ElasticGPU, host: Host) -> None:
        own = host.run_dir / device.name
        await host.files.unmount(own)
        host.files.remove(own)
        host.files.remove(host.state_dir / device.name)


def first(want: Demand, node: NodeView) -> CardSlice:
    """The part of the first card that is wanted, whatever is free."""
    card = node.cards[0]
    return CardSlice(gpu=card.name, core=want.core or 1, memory=want.memory_of(card.gpu.memory))


# place


class GivesMoreThanIsFree(Sound):
    def place(self, want: Demand, node: NodeView) -> Slice | None:
        super().place(want, node)
        return Slice((first(want, node),))


class OverlapsInstances(Provisioner):
    name = "example.com/overlaps"

    def place(self, want: Demand, node: NodeView) -> Slice | None:
        if not want.mig:
            raise Refused("only MIG profiles: no whole card, core, memory, TFLOPS; ask for a size")
        card = node.cards[0]
        part = CardSlice(gpu=card.name, core=1, memory=1, mig_profile=want.mig, mig_start=0)
        return Slice((part,)) if card.core_free else None

    async def prepare(self, device: ElasticGPU, host: Host) -> ContainerEdits:
        return ContainerEdits()


class Impure(Sound):
    def place(self, want: Demand, node: NodeView) -> Slice | None:
        found = super().place(want, node)
        return found and replace(found, attributes={"number": str(next(COUNTER))})


class MarksItsCards(Sound):
    def place(self, want: Demand, node: NodeView) -> Slice | None:
        node.cards[0].gpu.metadata.labels["seen"] = "yes"
        return super().place(want, node)


class ReadsAFile(Sound):
    def place(self, want: Demand, node: NodeView) -> Slice | None:
        Path("/proc/self/stat").read_bytes()
        return super().place(want, node)


class GivesLess(Sound):
    def place(self, want: Demand, node: NodeView) -> Slice | None:
        return super().place(replace(want, core=want.core // 2, count=1), node)


class NamesACardTwice(Sound):
    def place(self, want: Demand, node: NodeView) -> Slice | None:
        found = super().place(want, node)
        return found and Slice((*found.devices, CardSlice(gpu=found.devices[0].gpu)))


class NamesAnotherCard(Sound):
    def place(self, want: Demand, node: NodeView) -> Slice | None:
        found = super().place(want, node)
        return found and Slice((*found.devices, CardSlice(gpu="elsewhere")))


class SaysAnotherUuid(Sound):
    def place(self, want: Demand, node: NodeView) -> Slice | None:
        found = super().place(want, node)
        return found and Slice(tuple(part.but(uuid="GPU-0") for part in found.devices))


class NeverGivesBack(Sound):
    def __init__(self) -> None:
        self.asked = 0

    def place(self, want: Demand, node: NodeView) -> Slice | None:
        found = super().place(want, node)
        self.asked += 1
        return found if self.asked < 5 else None


class IsNeverFull(Sound):
    def place(self, want: Demand, node: NodeView) -> Slice | None:
        found = super().place(want, node)
        return found and Slice((CardSlice(gpu=node.cards[0].name),))


class RefusesWhenFull(Sound):
    def place(self, want: Demand, node: NodeView) -> Slice | None:
        found = super().place(want, node)
        if found is None:
            raise Refused("there is no card with so much core and memory")
        return found


class ServesNothing(Sound):
    def place(self, want: Demand, node: NodeView) -> Slice | None:
        raise Refused("no core, memory, whole card, MIG or TFLOPS today: ask for more cards")


class SaysNothing(Sound):
    def place(self, want: Demand, node: NodeView) -> Slice | None:
        return None if want.gpus else super().place(want, node)


class RefusesWithoutReason(Sound):
    def place(self, want: Demand, node: NodeView) -> Slice | None:
        if want.gpus:
            raise Refused("whole cards")
        return super().place(want, node)


class RefusesWithoutNaming(Sound):
    def place(self, want: Demand, node: NodeView) -> Slice | None:
        if want.gpus:
            raise Refused("the provisioner cannot do this")
        return super().place(want, node)


class RaisesAnything(Sound):
    def place(self, want: Demand, node: NodeView) -> Slice | None:
        if want.gpus:
            raise KeyError(want.gpus)
        return super().place(want, node)


# provision and release


class Backend:
    """Something outside the cluster that makes things; a call of it waits once."""

    def __init__(self) -> None:
        self.things: list[str] = []

    async def create(self, key: str) -> str:
        if key not in self.things:
            self.things.append(key)
        await asyncio.sleep(0)
        return key

    async def delete(self, key: str) -> None:
        await asyncio.sleep(0)
        if key in self.things:
            self.things.remove(key)


class Remote(Sound):
    """A sound one that has something outside the cluster."""

    def __init__(self, backend: Backend) -> None:
        self.backend = backend

    async def provision(self, request: Request) -> ElasticGPU:
        return request.device(handle=await self.backend.create(request.name))

    async def release(self, device: ElasticGPU) -> None:
        await self.backend.delete(device.spec.source.handle)


class MakesAnother(Remote):
    async def provision(self, request: Request) -> ElasticGPU:
        return request.device(handle=await self.backend.create(str(uuid4())))


class MakesTwo(Remote):
    async def provision(self, request: Request) -> ElasticGPU:
        self.backend.things.append("log")
        return await super().provision(request)

    async def release(self, device: ElasticGPU) -> None:
        await super().release(device)
        self.backend.things.clear()


class AnswersAnotherSize(Remote):
    async def provision(self, request: Request) -> ElasticGPU:
        made = await super().provision(request)
        return made.but(spec=made.spec.but(capacity={"elasticgpu.io/gpu-core": 1}))


class ReleasesNothing(Remote):
    async def release(self, device: ElasticGPU) -> None:
        await asyncio.sleep(0)


class ReleasesOnce(Remote):
    async def release(self, device: ElasticGPU) -> None:
        self.backend.things.remove(device.spec.source.handle)


class OrphansWhenCancelled(Remote):
    """It asks for a lease first, whose key it tells nobody until all is done."""

    async def provision(self, request: Request) -> ElasticGPU:
        if request.name not in self.backend.things:
            lease = await self.backend.create(str(uuid4()))
            await self.backend.create(request.name)
            await self.backend.delete(lease)
        return request.device()


class ReleasesHalf(Remote):
    """It deletes what it knows the rest by, and only then the rest."""

    async def provision(self, request: Request) -> ElasticGPU:
        await self.backend.create(f"disk of {request.name}")
        return request.device(handle=await self.backend.create(request.name))

    async def release(self, device: ElasticGPU) -> None:
        if device.name in self.backend.things:
            await self.backend.delete(device.name)
            await self.backend.delete(f"disk of {device.name}")


# parameters


class HasNoName(Sound):
    name: ClassVar[str] = ""


class HasOtherParameters(Sound):
    parameters: Any = None

    def tuned(self, written: Mapping[str, str]) -> Self:
        return self


class Lenient(Settings):
    model_config = ConfigDict(extra="ignore")


class TakesAnyParameter(Sound):
    parameters: Lenient = Lenient()


class RefusesNamelessly(Sound):
    def tuned(self, written: Mapping[str, str]) -> Self:
        try:
            return super().tuned(written)
        except Refused as error:
            raise Refused("the parameters are bad") from error


# prepare and unprepare


class MountsARelativePath(Sound):
    async def prepare(self, device: ElasticGPU, host: Host) -> ContainerEdits:
        edits = await super().prepare(device, host)
        return edits.but(mounts=[Mount(host_path="limits", container_path="/limits")])


class HasNoEquals(Sound):
    async def prepare(self, device: ElasticGPU, host: Host) -> ContainerEdits:
        return (await super().prepare(device, host)).but(env=["VISIBLE"])


class AnswersNoEdits(Sound):
    async def prepare(self, device: ElasticGPU, host: Host) -> ContainerEdits:
        await super().prepare(device, host)
        return {"env": []}  # type: ignore[return-value]


class AppendsEachTime(Sound):
    async def prepare(self, device: ElasticGPU, host: Host) -> ContainerEdits:
        edits = await super().prepare(device, host)
        log = host.run_dir / device.name / "log"
        host.files.write(log, (host.files.read(log) or b"") + b"prepared\n")
        return edits


class NumbersItsProcess(Sound):
    def __init__(self) -> None:
        self.number = next(COUNTER)

    async def prepare(self, device: ElasticGPU, host: Host) -> ContainerEdits:
        edits = await super().prepare(device, host)
        return edits.but(env=[f"{host.variable('NUMBER')}={self.number}"])


class LeavesAFile(Sound):
    async def unprepare(self, device: ElasticGPU, host: Host) -> None:
        await host.files.unmount(host.run_dir / device.name)
        host.files.remove(host.run_dir / device.name)


class LeavesADirectory(Sound):
    async def unprepare(self, device: ElasticGPU, host: Host) -> None:
        await host.files.unmount(host.run_dir / device.name)
        host.files.remove(host.run_dir / device.name / "limits")
        host.files.remove(host.state_dir / device.name)


class LeavesAMode(Sound):
    async def prepare(self, device: ElasticGPU, host: Host) -> ContainerEdits:
        for part in device.spec.source.devices:
            await host.nvml.set_compute_mode(part.gpu, "EXCLUSIVE_PROCESS")
        return await super().prepare(device, host)


class LeavesMigMode(Sound):
    async def prepare(self, device: ElasticGPU, host: Host) -> ContainerEdits:
        for part in device.spec.source.devices:
            await host.nvml.set_mig_mode(part.gpu, "Enabled")
        return await super().prepare(device, host)


class UndoesOnce(Sound):
    async def unprepare(self, device: ElasticGPU, host: Host) -> None:
        if not host.files.exists(host.run_dir / device.name):
            raise Refused(f"{device.name} is not prepared")
        await super().unprepare(device, host)


class Remembers(Sound):
    def __init__(self) -> None:
        self.known: set[str] = set()

    async def prepare(self, device: ElasticGPU, host: Host) -> ContainerEdits:
        self.known.add(device.name)
        return await super().prepare(device, host)

    async def unprepare(self, device: ElasticGPU, host: Host) -> None:
        if device.name in self.known:
            await super().unprepare(device, host)


class TrustsTheBoot(Sound):
    async def unprepare(self, device: ElasticGPU, host: Host) -> None:
        if host.files.exists(host.run_dir / device.name):
            await super().unprepare(device, host)


class TakesAnyCard(Sound):
    async def prepare(self, device: ElasticGPU, host: Host) -> ContainerEdits:
        uuids = ",".join(part.uuid for part in device.spec.source.devices)
        return ContainerEdits(env=[f"{host.variable('UUID')}={uuids}"])


class Hangs(Sound):
    async def prepare(self, device: ElasticGPU, host: Host) -> ContainerEdits:
        await asyncio.Event().wait()
        return ContainerEdits()


# resize


class Grows(Sound):
    """A sound one whose limits can be changed in use."""

    grows = True

    async def resize(self, device: ElasticGPU, host: Host) -> None:
        limits = host.run_dir / device.name / "limits"
        if host.files.exists(limits):
            host.files.write(limits, repr(device.spec.source.devices).encode())


class ForgetsToResize(Grows):
    async def resize(self, device: ElasticGPU, host: Host) -> None:
        pass


class RefusesToResize(Grows):
    async def resize(self, device: ElasticGPU, host: Host) -> None:
        raise Refused("not today")


class ResizesNobody(Grows):
    async def resize(self, device: ElasticGPU, host: Host) -> None:
        await self.prepare(device, host)


class ResizesSecretly(Sound):
    async def resize(self, device: ElasticGPU, host: Host) -> None:
        pass


# interrupted


class SwallowsCancellation(Sound):
    async def prepare(self, device: ElasticGPU, host: Host) -> ContainerEdits:
        try:
            return await super().prepare(device, host)
        except asyncio.CancelledError:
            return ContainerEdits()


class RenamesCancellation(Sound):
    async def prepare(self, device: ElasticGPU, host: Host) -> ContainerEdits:
        try:
            return await super().prepare(device, host)
        except asyncio.CancelledError as error:
            raise Refused("cancelled") from error


class MarksLast(Sound):
    """Unprepare undoes what the last file says was done: half of it is never undone."""

    async def unprepare(self, device: ElasticGPU, host: Host) -> None:
        if host.files.exists(host.state_dir / device.name):
            await super().unprepare(device, host)


class TidiesUpItself(MarksLast):
    """It trusts that whoever is interrupted still has the time to tidy up."""

    async def prepare(self, device: ElasticGPU, host: Host) -> ContainerEdits:
        try:
            return await super().prepare(device, host)
        except BaseException:
            await Sound.unprepare(self, device, host)
            raise


class UnmarksFirst(Sound):
    """Unprepare forgets the device first, and then does not know that there is more to undo."""

    async def unprepare(self, device: ElasticGPU, host: Host) -> None:
        if host.files.exists(host.state_dir / device.name):
            host.files.remove(host.state_dir / device.name)
            await super().unprepare(device, host)


class LocksItself(Sound):
    """A lock that a call which did not end keeps for ever."""

    async def prepare(self, device: ElasticGPU, host: Host) -> ContainerEdits:
        lock = host.run_dir / f"{device.name}.lock"
        if host.files.exists(lock):
            raise Refused(f"{device.name} is being prepared by somebody")
        host.files.write(lock, b"")
        edits = await super().prepare(device, host)
        host.files.remove(lock)
        return edits

    async def unprepare(self, device: ElasticGPU, host: Host) -> None:
        await super().unprepare(device, host)
        host.files.remove(host.run_dir / f"{device.name}.lock")


class AnswersHalf(Sound):
    async def prepare(self, device: ElasticGPU, host: Host) -> ContainerEdits:
        try:
            return await super().prepare(device, host)
        except ElasticGPUError:
            host.card(device.spec.source.devices[0].gpu)
            return ContainerEdits()


class GivesUpUndoing(Sound):
    async def unprepare(self, device: ElasticGPU, host: Host) -> None:
        try:
            await super().unprepare(device, host)
        except ElasticGPUError:
            return


# neighbours


class RemovesNeighbours(Sound):
    async def unprepare(self, device: ElasticGPU, host: Host) -> None:
        await super().unprepare(device, host)
        host.files.remove(host.state_dir)


class HasOneDeviceInMind(Sound):
    def __init__(self) -> None:
        self.device: ElasticGPU | None = None

    async def prepare(self, device: ElasticGPU, host: Host) -> ContainerEdits:
        self.device = device
        edits = await super().prepare(device, host)
        return edits.but(env=[f"{host.variable('DEVICE')}={self.device.name}"])


class KeepsAFileAPod(Sound):
    async def prepare(self, device: ElasticGPU, host: Host) -> ContainerEdits:
        edits = await super().prepare(device, host)
        host.files.write(host.run_dir / device.name / host.variable("POD"), b"")
        return edits
