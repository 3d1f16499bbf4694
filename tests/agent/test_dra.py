"""The gRPC front, asked by a fake kubelet over real sockets."""

from __future__ import annotations

import asyncio
import stat
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from elasticgpu.agent import dra
from elasticgpu.errors import Refused
from tests.agent.kubelet import FakeKubelet
from tests.agent.world import Share, World


@pytest.fixture
def kubelet_dir() -> Iterator[Path]:
    """A kubelet's root directory whose sockets' paths are short enough."""
    with TemporaryDirectory(prefix="kubelet-") as root:
        (Path(root) / "plugins_registry").mkdir(mode=0o750)
        yield Path(root)


async def test_registration(world: World, kubelet_dir: Path) -> None:
    """The kubelet finds one socket and learns driver, endpoint and versions, newest first."""
    agent = await world.start()
    async with dra.serving(kubelet_dir, agent.preparer) as registration:
        assert not registration.registered.is_set()
        async with FakeKubelet(kubelet_dir).registered() as kubelet:
            assert kubelet.info.type == "DRAPlugin"
            assert kubelet.info.name == "elasticgpu.io"
            assert kubelet.info.endpoint == f"{kubelet_dir}/plugins/elasticgpu.io/dra.sock"
            assert kubelet.info.supported_versions == ["v1.DRAPlugin", "v1beta1.DRAPlugin"]
            assert registration.registered.is_set()
        async with FakeKubelet(kubelet_dir).registered("no such thing"):
            assert not registration.registered.is_set()


async def test_sockets(world: World, kubelet_dir: Path) -> None:
    """Only root reaches the sockets; a killed agent's are replaced; a stopped agent's are gone."""
    endpoint, door = dra.sockets(kubelet_dir)
    for stale in (endpoint, door):
        stale.write_text("")
    agent = await world.start()
    async with dra.serving(kubelet_dir, agent.preparer):
        for path in (endpoint, door):
            assert stat.S_ISSOCK(path.stat().st_mode)
            assert stat.S_IMODE(path.stat().st_mode) == 0o600
            assert stat.S_IMODE(path.parent.stat().st_mode) == 0o750
        async with FakeKubelet(kubelet_dir).registered():
            pass
    assert not endpoint.exists()
    assert not door.exists()


async def test_path_too_long(world: World, tmp_path: Path) -> None:
    """A directory too deep for a socket is refused in words."""
    agent = await world.start()
    with pytest.raises(Refused, match="too long for a socket"):
        async with dra.serving(tmp_path / ("x" * 100), agent.preparer):
            pass


@pytest.mark.parametrize("version", ["v1.DRAPlugin", "v1beta1.DRAPlugin"])
async def test_life_of_a_pod(world: World, kubelet_dir: Path, version: str) -> None:
    """Registered, prepared twice, unprepared twice, by either version: the same answers."""
    use = world.use("pod", world.claim("want", world.device()))
    agent = await world.start()
    kubelet = FakeKubelet(kubelet_dir, (version,))
    async with dra.serving(kubelet_dir, agent.preparer), kubelet.registered():
        for _ in range(2):
            answers = await kubelet.prepare(use)
            (device,) = answers[use.uid].devices
            assert answers[use.uid].error == ""
            assert device.request_names == ["egpu"]
            assert (device.pool_name, device.device_name) == ("node-a", "egpu-one")
            assert device.cdi_device_ids == [f"elasticgpu.io/claim={use.uid}"]
        for _ in range(2):
            answers = await kubelet.unprepare(use)
            assert answers[use.uid].error == ""
    await agent.settler.round()
    assert world.is_clean()


async def test_each_claim_its_own_answer(world: World, kubelet_dir: Path) -> None:
    """In a call for several claims a refused one spoils none of the others."""
    good = world.use("good", world.claim("a", world.device("egpu-one", core=10)))
    bad = world.use("bad", world.claim("b", world.device("egpu-two", core=100)))
    fine = world.use("fine", world.claim("c", world.device("egpu-three", gpu=1)))
    agent = await world.start()
    kubelet = FakeKubelet(kubelet_dir)
    async with dra.serving(kubelet_dir, agent.preparer), kubelet.registered():
        await kubelet.prepare(good)
        answers = await kubelet.prepare(good, bad, fine)
    assert sorted(answers) == sorted([good.uid, bad.uid, fine.uid])
    assert [answers[use.uid].error for use in (good, fine)] == ["", ""]
    assert answers[bad.uid].error == (
        "ElasticGPU egpu-two does not fit: card-0: 90% of 100% core free, 100% wanted"
    )
    assert world.told == [answers[bad.uid].error]


async def test_called_at_once(
    world: World, kubelet_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The claims of one call are prepared at the same time, not one after the other."""
    both, prompt = asyncio.Barrier(2), Share.prepare

    async def together(self: Share, device: object, host: object) -> object:
        await both.wait()
        return await prompt(self, device, host)  # type: ignore[arg-type]

    monkeypatch.setattr(Share, "prepare", together)
    one = world.use("one", world.claim("a", world.device("egpu-one", core=10)))
    two = world.use("two", world.claim("b", world.device("egpu-two", core=10)))
    agent = await world.start()
    kubelet = FakeKubelet(kubelet_dir)
    async with dra.serving(kubelet_dir, agent.preparer), kubelet.registered():
        answers = await kubelet.prepare(one, two)
    assert [answers[use.uid].error for use in (one, two)] == ["", ""]


async def test_fault_of_ours(
    world: World, kubelet_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An error nobody thought of still is an answer, which says where to look."""
    use = world.use("pod", world.claim("want", world.device()))
    agent = await world.start()

    def broken(point: str) -> None:
        raise KeyError(point)

    world.fate = broken
    kubelet = FakeKubelet(kubelet_dir)
    async with dra.serving(kubelet_dir, agent.preparer), kubelet.registered():
        answers = await kubelet.prepare(use)
    assert "the elasticgpu agent failed: KeyError" in answers[use.uid].error
