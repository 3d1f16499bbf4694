"""The plugin with this machine's files and processes, and a stand-in for NVIDIA's program."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from elasticgpu_mps import MPS, control

from elasticgpu.agent import devices, local
from elasticgpu.agent.host import Machine, NodeHost
from elasticgpu.agent.simulated import SimulatedNvml
from elasticgpu.api.elasticgpu import DeviceSource, ElasticGPU, ElasticGPUSpec
from elasticgpu.api.gpu import GPU, GPUSpec, GPUStatus
from elasticgpu.api.meta import ObjectMeta
from elasticgpu.errors import Retry
from elasticgpu.provisioner import CardSlice

GI = 1 << 30
STANDINS = Path(__file__).parents[3] / "tests" / "standins"
CARDS = {
    f"c{n}": GPU(
        metadata=ObjectMeta(name=f"c{n}"),
        spec=GPUSpec(node_name="node-a"),
        status=GPUStatus(index=n, uuid=f"GPU-{n}", memory="24Gi", minor=n),
    )
    for n in range(2)
}


class Files(local.LocalFiles):
    """This machine's files; only root may mount."""

    async def mount_tmpfs(self, path: Path, size: int) -> None:
        """Mounted for root, a plain directory for everybody else."""
        if os.geteuid() == 0:
            await super().mount_tmpfs(path, size)


@pytest.fixture
def host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> NodeHost:
    """A node whose files are below the test's folder, with the stand-in on its PATH."""
    monkeypatch.setenv("PATH", f"{STANDINS}:{os.environ['PATH']}")
    machine = Machine(
        nvml=SimulatedNvml(),
        files=Files(),
        run=local.run,
        nodes=lambda card: devices.nodes(card, devices.MADE_UP),
        capabilities=devices.made_up_capabilities,
        state_dir=tmp_path / "state",
        run_dir=tmp_path / "run",
    )
    return NodeHost("node-a", CARDS, "0", MPS.name, machine)


def share(name: str, gpu: str, core: int) -> ElasticGPU:
    """A device of so much of this card."""
    part = CardSlice(gpu=gpu, uuid=CARDS[gpu].status.uuid, core=core, memory=4 * GI)
    return ElasticGPU(
        metadata=ObjectMeta(name=name),
        spec=ElasticGPUSpec(source=DeviceSource(driver=MPS.name, devices=[part])),
    )


async def test_from_the_first_device_to_the_last(host: NodeHost) -> None:
    """The program is started and told; pipes, mount and mode are there, and gone in the end."""
    plugin, (a, b) = MPS(), (share("a", "c0", 50), share("b", "c0", 20))
    edits = await plugin.prepare(a, host)
    assert await plugin.prepare(a, host) == edits
    await plugin.prepare(b, host)
    pipe, shm = (Path(mount.host_path) for mount in edits.mounts)
    assert {file.name: file.read_text().strip() for file in pipe.iterdir()} == {
        "control": "GPU-0 -d",
        "default_active_thread_percentage": "50.0",
        "default_device_pinned_mem_limit GPU-0": "4096M",
    }
    assert shm.is_mount() is (os.geteuid() == 0)
    assert shm.stat().st_mode & 0o7777 == 0o1777
    assert await host.nvml.compute_mode("c0") == "EXCLUSIVE_PROCESS"
    await plugin.unprepare(a, host)
    assert (pipe / "control").exists()
    await plugin.unprepare(b, host)
    await plugin.unprepare(b, host)
    assert list(host.run_dir.iterdir()) == []
    assert await host.nvml.compute_mode("c0") == "DEFAULT"


async def test_a_program_that_hangs(host: NodeHost, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is killed and said; the other card's is asked and answers as before."""
    plugin, (a, b) = MPS(), (share("a", "c0", 50), share("b", "c1", 50))
    await plugin.prepare(a, host)
    (host.run_dir / "GPU-0" / "hang").touch()
    monkeypatch.setattr(control, "ANSWER", 0.5)
    with pytest.raises(Retry, match="nvidia-cuda-mps-control did not end in 0 s and was killed"):
        await plugin.unprepare(a, host)
    monkeypatch.setattr(control, "ANSWER", 30.0)
    await plugin.prepare(b, host)
    (host.run_dir / "GPU-0" / "hang").rename(host.run_dir / "GPU-0" / "fail")
    with pytest.raises(Retry, match="does not start: the stand-in fails as it was told"):
        await plugin.prepare(a, host)
    (host.run_dir / "GPU-0" / "fail").unlink()
    await plugin.unprepare(a, host)
    await plugin.unprepare(b, host)
    assert list(host.run_dir.iterdir()) == []
