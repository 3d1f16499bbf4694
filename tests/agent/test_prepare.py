"""Prepare and Unprepare of a bound device: what the container gets, and what is left afterwards."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from elasticgpu.api.names import NODE_FINALIZER
from elasticgpu.errors import Refused, Retry
from elasticgpu.rules.ledger import OVERCOMMITTED
from tests.agent.world import World


async def test_container_gets_device(world: World) -> None:
    """The kubelet hears one CDI name; its file names claim, device, provisioner and the card."""
    claim = world.claim("want", world.device())
    use = world.use("pod", claim)
    (answer,) = await (await world.start()).prepare(use)
    assert (answer.request, answer.pool, answer.device) == ("egpu", "node-a", "egpu-one")
    assert answer.cdi_id == f"elasticgpu.io/claim={use.uid}"
    file = world.root / "cdi" / f"elasticgpu.io-claim_{use.uid}.json"
    (device,) = json.loads(file.read_text())["devices"]
    assert device["containerEdits"]["env"] == [
        "ELASTICGPU_0_CLAIM=team/want",
        "ELASTICGPU_0_DEVICE=egpu-one",
        "ELASTICGPU_0_PROVISIONER=test.io/share",
        "ELASTICGPU_0_UUID=GPU-0",
    ]


async def test_device_says_who_has_it(world: World) -> None:
    """While it is prepared the device carries our finalizer and the pod's uid; then neither."""
    use = world.use("pod", world.claim("want", world.device()))
    agent = await world.start()
    await agent.prepare(use)
    assert world.see().metadata.finalizers == [NODE_FINALIZER]
    assert world.see().status.prepared_for == [use.pod.uid]
    await agent.unprepare(use)
    await agent.settler.round()
    assert world.is_clean()


async def test_asked_twice(world: World) -> None:
    """A second Prepare answers the same, makes nothing, and puts back a CDI file that was lost."""
    use = world.use("pod", world.claim("want", world.device()))
    agent = await world.start()
    first = await agent.prepare(use)
    before = list(world.api.writes)
    (world.root / "cdi" / f"elasticgpu.io-claim_{use.uid}.json").unlink()
    assert await agent.prepare(use) == first
    assert world.api.writes == before
    assert world.made == {"egpu-one": 1}
    assert agent.node.folder.uids() == [use.uid]


async def test_unprepare_of_unknown(world: World) -> None:
    """Unprepare of what was never prepared succeeds, and so does a second one."""
    use = world.use("pod", world.claim("want", world.device()))
    agent = await world.start()
    await agent.unprepare(use)
    await agent.prepare(use)
    await agent.unprepare(use)
    await agent.unprepare(use)
    await agent.settler.round()
    assert world.is_clean()


async def test_two_pods_share(world: World) -> None:
    """Two pods on one shared claim: the device is made for both and undone after the second."""
    claim = world.claim("both", world.device(core=100), shared=True)
    one, two = world.use("one", claim), world.use("two", claim)
    agent = await world.start()
    await asyncio.gather(agent.prepare(one), agent.prepare(two))
    assert sorted(world.see().status.prepared_for) == sorted([one.pod.uid, two.pod.uid])
    await agent.unprepare(one)
    await agent.settler.round()
    assert list(world.made) == ["egpu-one"]
    assert world.see().status.prepared_for == [two.pod.uid]
    assert world.see().metadata.finalizers == [NODE_FINALIZER]
    await agent.unprepare(two)
    await agent.settler.round()
    assert world.is_clean()


@pytest.mark.parametrize("second", [60, 100])
async def test_overcommit(world: World, second: int) -> None:
    """Of two devices that do not fit one card together, one is prepared; the other is Failed."""
    first = world.use("one", world.claim("a", world.device("egpu-one", core=60)))
    other = world.use("two", world.claim("b", world.device("egpu-two", core=second)))
    agent = await world.start()
    answers = await asyncio.gather(
        agent.prepare(first), agent.prepare(other), return_exceptions=True
    )
    (loser,) = [a for a in answers if isinstance(a, Refused)]
    assert "core free" in loser.reason
    assert len(world.made) == 1
    failed = [n for n in ("egpu-one", "egpu-two") if world.see(n).status.phase == "Failed"]
    assert failed == [n for n in ("egpu-one", "egpu-two") if n not in world.made]
    lost = world.see(failed[0])
    assert lost.status.reason == "Overcommitted"
    assert "core free" in lost.status.message
    assert not lost.status.prepared_for
    assert not lost.metadata.finalizers
    assert world.told == [loser.reason]


async def test_modes_do_not_mix(world: World) -> None:
    """A card that one provisioner has refuses a device of another, small as it may be."""
    first = world.use("one", world.claim("a", world.device("egpu-one", core=10)))
    other = world.claim("b", world.device("egpu-two", core=10, driver="other.io/mode"))
    agent = await world.start()
    await agent.prepare(first)
    with pytest.raises(Refused, match=r"serves test\.io/share"):
        await agent.prepare(world.use("two", other))
    assert world.see("egpu-two").status.reason == "Overcommitted"


async def test_room_is_free_again(world: World) -> None:
    """What one device gave back, the next one may take, before the API server has heard."""
    first = world.use("one", world.claim("a", world.device("egpu-one")))
    other = world.use("two", world.claim("b", world.device("egpu-two")))
    agent = await world.start()
    await agent.prepare(first)
    await agent.unprepare(first)
    world.api.set(world.see().with_status(phase="Failed", reason=OVERCOMMITTED))
    await agent.prepare(other)
    assert list(world.made) == ["egpu-two"]


@pytest.mark.parametrize("by", ["age", "uid"])
@pytest.mark.parametrize(
    ("cores", "asks", "fits"),
    [
        pytest.param((60, 60), 0, True, id="the-first"),
        pytest.param((60, 60), 1, False, id="the-second"),
        pytest.param((40, 60), 1, True, id="the-second-beside-it"),
        pytest.param((60, 30, 20), 2, False, id="after-those-that-fit"),
        pytest.param((80, 60, 20), 2, True, id="not-after-one-that-does-not"),
    ],
)
async def test_order_of_those_not_prepared(
    world: World, cores: tuple[int, ...], asks: int, fits: bool, by: str
) -> None:
    """Where nothing is prepared yet the older goes first, then the lower uid, if it has room."""
    uses = []
    for n, core in enumerate(cores):
        since, uid = (n, 9 - n) if by == "age" else (0, n)
        made = world.device(f"egpu-{n}", core=core).with_metadata(
            uid=f"uid-{uid}", creation_timestamp=f"2026-01-01T00:00:0{since}Z"
        )
        uses.append(world.use(f"pod-{n}", world.claim(f"claim-{n}", made)))
    agent = await world.start()
    if not fits:
        with pytest.raises(Refused, match="does not fit"):
            await agent.prepare(uses[asks])
    else:
        await agent.prepare(uses[asks])
    assert world.see(f"egpu-{asks}").status.phase == ("Bound" if fits else "Failed")


async def test_prepared_goes_before_older(world: World) -> None:
    """What is prepared stays, however old the other one is; that one is refused."""
    young = world.device("egpu-young").with_metadata(creation_timestamp="2026-01-02T00:00:00Z")
    second = world.use("two", world.claim("b", young))
    agent = await world.start()
    await agent.prepare(second)
    old = world.device("egpu-old").with_metadata(creation_timestamp="2026-01-01T00:00:00Z")
    first = world.use("one", world.claim("a", old))
    with pytest.raises(Refused, match="does not fit"):
        await agent.prepare(first)
    assert list(world.made) == ["egpu-young"]


async def test_holder_row_vanishes(world: World) -> None:
    """The claim is taken from the pod while it is prepared: refused, and nothing is left."""
    claim = world.claim("want", world.device())
    use = world.use("pod", claim)
    agent = await world.start()

    def taken(point: str) -> None:
        if point == "after replace ElasticGPU/status egpu-one":
            world.fate = lambda _: None
            world.hand(claim)

    world.fate = taken
    with pytest.raises(Refused, match="was taken from this pod: no pod holds it yet"):
        await agent.prepare(use)
    assert world.told
    assert world.is_clean()


async def test_no_order_lets_two_hold(world: World) -> None:
    """Whenever the controller hands the claim on, at most one of the two pods has the device.

    Its two steps, write the row away and then look at `preparedFor` before it writes the next,
    fall between any two calls of the agent.
    """
    calls = await _calls_of_a_prepare(world.root / "dry")
    handed_on = 0
    for first in range(calls):
        for second in range(first, calls):
            handed_on += await _hand_on(world.root / f"{first}-{second}", first, second)
    assert handed_on


async def _calls_of_a_prepare(root: Path) -> int:
    world = World(_made(root))
    use = world.use("old", world.claim("want", world.device()))
    agent = await world.start()
    points: list[str] = []
    world.fate = points.append
    await agent.prepare(use)
    return len(points)


async def _hand_on(root: Path, first: int, second: int) -> bool:
    """One interleaving; whether the next pod got the claim."""
    world = World(_made(root))
    claim = world.claim("want", world.device())
    use = world.use("old", claim)
    agent = await world.start()
    seen, handed = 0, False

    def controller(_: str) -> None:
        nonlocal seen, handed
        if seen == first:
            world.hand(claim)
        if seen == second and not world.see().status.prepared_for:
            world.use("new", claim)
            handed = True
        seen += 1

    world.fate = controller
    try:
        await agent.prepare(use)
        prepared = True
    except (Refused, Retry):
        prepared = False
    assert not (prepared and handed), (first, second)
    return handed


def _made(root: Path) -> Path:
    root.mkdir()
    return root
