"""What a container gets so that the library limits it: variables, mounts, and the files behind.

What the library reads is in src/libvgpu.c, src/utils.c and src/multiprocess of
github.com/Project-HAMi/HAMi-core, at the commit that `region` names; the mounts are those that
HAMi's device plugin answers (pkg/device-plugin/nvidiadevice of github.com/Project-HAMi/HAMi).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from elasticgpu.provisioner import CardSlice, ElasticGPU, Host, Mount, Refused

from .parameters import LIBRARY, VCUDAParameters
from .region import NOTHING, Region, memory_limit

MIB = 1 << 20
WHOLE = 100

CACHE = "/tmp/cudevshr.cache"
"""Where a process that lost its environment looks for its region."""
LOCK = "/tmp/vgpulock"
"""Directory of the one lock under which a node's processes find out their numbers on the host."""
PRELOAD = "/etc/ld.so.preload"


@dataclass(frozen=True, slots=True)
class Cards:
    """A device's parts as CUDA counts them under CUDA_DEVICE_ORDER=PCI_BUS_ID.

    `whole`: of none of them there is anything to limit, since nobody else has room there.
    """

    parts: tuple[CardSlice, ...]
    uuids: tuple[str, ...]
    whole: bool

    @classmethod
    def of(cls, device: ElasticGPU, host: Host) -> Cards:
        """Raises Refused for a part without memory: 0 would be no limit."""
        found = [(host.card(part.gpu), part) for part in device.spec.source.devices]
        found.sort(key=lambda pair: pair[0].status.pci_bus_id.lower())
        for card, part in found:
            if part.memory_bytes < MIB:
                raise Refused(f"ElasticGPU {device.name} needs at least 1Mi memory of {card.name}")
        return cls(
            tuple(part for _, part in found),
            tuple(card.status.uuid for card, _ in found),
            all(p.memory_bytes >= card.memory and p.core in (0, WHOLE) for card, p in found),
        )

    @property
    def memory(self) -> tuple[int, ...]:
        """Bytes of each, in whole MiB, as the variables say it."""
        return tuple(part.memory_bytes // MIB * MIB for part in self.parts)

    @property
    def core(self) -> tuple[int, ...]:
        """Percent of each; who asked for no compute may have what is idle of it."""
        return tuple(part.core or WHOLE for part in self.parts)


@dataclass(frozen=True, slots=True)
class Place:
    """Where one device's files are on the node, and its region in the container."""

    device: str
    own: Path
    """The device's directory."""
    lock: Path
    """That of the lock, which all devices of the node share."""

    @classmethod
    def of(cls, device: ElasticGPU, host: Host) -> Place:
        """The device's place in the plugin's directory, which is empty after a reboot.

        No device is called as the lock is: their names have no dot.
        """
        return cls(device.name, host.run_dir / device.name, host.run_dir / ".vgpulock")

    @property
    def region(self) -> Path:
        """One a device, however often it is prepared."""
        return self.own / f"{self.device}.cache"

    @property
    def preload(self) -> Path:
        """What the container's loader reads."""
        return self.own / "ld.so.preload"

    @property
    def inside(self) -> str:
        """The region as the environment names it."""
        return str(Path(LIBRARY).with_name(self.region.name))

    def mounts(self, library: str) -> Iterator[Mount]:
        """The library always comes to where it looks for itself: no CUDA_REDIRECT to lose."""
        yield _mount(library, LIBRARY, "ro")
        yield _mount(self.preload, PRELOAD, "ro")
        yield _mount(self.region, self.inside, "rw")
        yield _mount(self.region, CACHE, "rw")
        yield _mount(self.lock, LOCK, "rw")


def has_library(tuned: VCUDAParameters, host: Host) -> None:
    """Raises Refused if the node does not have what it must run."""
    if not host.files.exists(Path(tuned.library)):
        raise Refused(
            f"node {host.node_name} has no {tuned.library}: put libvgpu.so of HAMi-core "
            "(github.com/Project-HAMi/HAMi-core) there, or name its place in the class's "
            "parameter library"
        )


def materialise(place: Place, cards: Cards, priority: int, host: Host) -> None:
    """Have all the files; a region that is in use is changed, never replaced."""
    host.files.directory(place.own)
    host.files.directory(place.lock, 0o777)
    host.files.write(place.preload, f"{LIBRARY}\n".encode())
    if host.files.exists(place.region):
        allow(place, cards, host)
    else:
        made = Region(cards.memory, cards.core, priority)
        host.files.write(place.region, made.encode(), 0o666)


def allow(place: Place, cards: Cards, host: Host) -> None:
    """Have the region allow as much memory as the device has: who uses it sees that at once."""
    try:
        there = Region.decode(host.files.read(place.region) or b"", len(cards.parts))
    except ValueError as error:
        raise Refused(f"{place.region} {error}: end the pods that use it") from error
    for card, (was, now) in enumerate(zip(there.memory, cards.memory, strict=True)):
        if was != now:
            host.files.patch(place.region, *memory_limit(card, now))


def environment(
    place: Place, cards: Cards, tuned: VCUDAParameters, priority: int
) -> dict[str, str]:
    """The limits once more, for what the region does not hold and for a person to read.

    The one without a number is for cards of other claims in the same container: they can be limited
    by nobody else, so here nothing can be allocated on them.
    """
    memory = {f"CUDA_DEVICE_MEMORY_LIMIT_{n}": f"{b // MIB}m" for n, b in enumerate(cards.memory)}
    core = {f"CUDA_DEVICE_SM_LIMIT_{n}": str(percent) for n, percent in enumerate(cards.core)}
    return {
        **memory,
        "CUDA_DEVICE_MEMORY_LIMIT": str(NOTHING),
        **core,
        "CUDA_DEVICE_MEMORY_SHARED_CACHE": place.inside,
        "GPU_CORE_UTILIZATION_POLICY": tuned.policy,
        "CUDA_TASK_PRIORITY": str(priority),
        "ACTIVE_OOM_KILLER": str(tuned.active_oom_killer).lower(),
        "LIBCUDA_LOG_LEVEL": str(tuned.log_level),
    }


def _mount(outside: Path | str, inside: str, access: str) -> Mount:
    options = [access, "nosuid", "nodev", "bind"]
    return Mount(host_path=str(outside), container_path=inside, options=options)
