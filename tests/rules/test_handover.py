"""The hand-over of an unshared claim from pod a to pod b, in every interleaving.

Pod a was deleted by force while its node was about to prepare it; pod b waits. The controller
drops a's row, reads `preparedFor` live and adds b's; the agent looks at the rows, writes a pod into
`preparedFor`, looks at the rows again, and lets the pod's container start or undoes it. The
controller's cache never sees a `preparedFor`: it is as late as a cache can be.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cache
from itertools import combinations

import pytest

from elasticgpu.api.claim import ClaimUser, ElasticGPUClaim
from elasticgpu.rules import holders
from elasticgpu.rules.holders import Add, Drop, HoldersView

from .build import claim, device, pod, ref

BOUND = claim(named="egpu-a", completed=True).with_status(phase="Bound")
READY = device(of=ref(BOUND), phase="Bound")
A, B = pod("a"), pod("b")


@dataclass
class World:
    """The two fields both sides write, and which pods' containers were let go."""

    users: tuple[ClaimUser, ...] = (ClaimUser(pod_uid="uid-a"),)
    prepared: set[str] = field(default_factory=set)
    passed: set[str] = field(default_factory=set)
    memory: dict[str, bool] = field(default_factory=dict)
    """What each side saw when it looked."""


Step = Callable[[World], None]


@cache
def decided(users: tuple[str, ...]) -> holders.Decision:
    rows = [ClaimUser(pod_uid=uid) for uid in users]
    return holders.decide(HoldersView(BOUND.with_status(users=rows), READY, (B,)))


def drop(world: World) -> None:
    """The row of a pod that is gone is written away."""
    decision = decided(tuple(user.pod_uid for user in world.users))
    if isinstance(decision, Drop):
        world.users = decision.users


def ask(world: World) -> None:
    """`preparedFor` is read live, for the rows that are to be written."""
    world.memory["free"] = not holders.strangers([ClaimUser(pod_uid="uid-b")], world.prepared)


def add(world: World) -> None:
    """The next row is written, if nobody else was prepared when that was asked."""
    decision = decided(tuple(user.pod_uid for user in world.users))
    if isinstance(decision, Add) and world.memory["free"]:
        world.users = decision.users


def rows(world: World) -> ElasticGPUClaim:
    return BOUND.with_status(users=list(world.users))


def look(uid: str) -> Step:
    """The kubelet asks: the pod has to have its row."""

    def step(world: World) -> None:
        world.memory[uid] = holders.holds(rows(world), uid)

    return step


def prepare(uid: str) -> Step:
    """Its uid is written into `preparedFor`, if it was seen with a row."""

    def step(world: World) -> None:
        if world.memory[uid]:
            world.prepared.add(uid)

    return step


def finish(uid: str) -> Step:
    """Its container is let go if it was prepared and seen with a row last; else it is undone."""

    def step(world: World) -> None:
        if uid in world.prepared and world.memory[uid]:
            world.passed.add(uid)
        else:
            world.prepared.discard(uid)

    return step


def agent(uid: str) -> list[Step]:
    return [look(uid), prepare(uid), look(uid), finish(uid)]


CONTROLLER: list[Step] = [drop, ask, add]


def interleavings(first: list[Step], second: list[Step]) -> Iterator[list[Step]]:
    """Both lists in all orders that keep each one's own."""
    size = len(first) + len(second)
    for places in combinations(range(size), len(first)):
        left, right = iter(first), iter(second)
        yield [next(left if n in places else right) for n in range(size)]


def outcomes(controller: list[Step], of_a: list[Step], of_b: list[Step]) -> set[frozenset[str]]:
    """Which pods were let go, over all interleavings of the three."""
    found = set()
    for two in interleavings(controller, of_a):
        for three in interleavings(two, of_b):
            world = World()
            for step in three:
                step(world)
            found.add(frozenset(world.passed))
    return found


BOTH = frozenset({"uid-a", "uid-b"})


def test_no_interleaving_lets_both_pods_through() -> None:
    """Whichever write came first, the other side's read after its own write sees it."""
    found = outcomes(CONTROLLER, agent("uid-a"), agent("uid-b"))
    assert found == {frozenset(), frozenset({"uid-a"}), frozenset({"uid-b"})}


def without(steps: list[Step], index: int) -> list[Step]:
    return [step for n, step in enumerate(steps) if n != index]


def swapped(steps: list[Step], index: int) -> list[Step]:
    return [*steps[:index], steps[index + 1], steps[index], *steps[index + 2 :]]


def believe(world: World) -> None:
    """Instead of reading `preparedFor` live, the cache is believed, which is late."""
    world.memory["free"] = True


BROKEN: list[tuple[str, list[Step], Callable[[str], list[Step]]]] = [
    ("controller-believes-its-cache", [drop, believe, add], agent),
    ("controller-reads-before-it-drops", swapped(CONTROLLER, 0), agent),
    ("agent-does-not-look-again", CONTROLLER, lambda uid: without(agent(uid), 2)),
    ("agent-looks-again-before-it-writes", CONTROLLER, lambda uid: swapped(agent(uid), 1)),
]


@pytest.mark.parametrize(
    ("controller", "of"), [pytest.param(steps, of, id=name) for name, steps, of in BROKEN]
)
def test_each_read_after_the_write_is_needed(
    controller: list[Step], of: Callable[[str], list[Step]]
) -> None:
    """Left out, or done before the write, some interleaving lets both pods through."""
    assert BOTH in outcomes(controller, of("uid-a"), of("uid-b"))
