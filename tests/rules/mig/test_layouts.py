"""Every published layout can come about, in every order; nothing else ever does."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from functools import cache
from itertools import permutations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from elasticgpu.agent.migtables import TABLES
from elasticgpu.api.gpu import MigProfile
from elasticgpu.rules import mig
from elasticgpu.rules.mig import Instance

from .conftest import PROPERTY
from .published import MODELS, PUBLISHED, Layout, orders, profiles, published, sets

Say = Callable[[str, object], None]
EIGHTHS = [model for model in MODELS if model != "A30"]


@cache
def row(model: str, name: str) -> MigProfile:
    found = mig.find(TABLES[model], name)
    assert found is not None
    return found


@cache
def free(model: str, held: Layout, name: str) -> tuple[int, ...]:
    return tuple(mig.starts(TABLES[model], sorted(held), row(model, name)))


@cache
def chosen(model: str, held: Layout, name: str) -> int | None:
    return mig.best_start(TABLES[model], sorted(held), row(model, name))


@cache
def fits(model: str, held: Layout, wanted: Instance) -> bool:
    return mig.conflict(TABLES[model], sorted(held), wanted) is None


def come_about(model: str, order: tuple[str, ...]) -> Layout | None:
    """What there is after all of them asked, one after the other; None if one got nothing."""
    held: Layout = frozenset()
    for name in order:
        start = chosen(model, held, name)
        if start is None:
            return None
        held |= {Instance(name, start)}
    return held


@pytest.mark.parametrize("model", MODELS)
def test_every_layout_in_every_order(model: str, record_property: Say) -> None:
    """With its starts given, as those of an admin are, each layout can be cut, whoever is first."""
    tried = 0
    for layout in PUBLISHED[model]:
        for order in permutations(sorted(layout)):
            for n, instance in enumerate(order):
                assert fits(model, frozenset(order[:n]), instance)
            tried += 1
    record_property(PROPERTY, [model, "starts given", len(PUBLISHED[model]), tried, tried])


@pytest.mark.parametrize("model", MODELS)
def test_nothing_else(model: str) -> None:
    """From the empty card by every start there is: only the published, and all of it."""
    seen: set[Layout] = set()
    todo: list[Layout] = [frozenset()]
    while todo:
        held = todo.pop()
        if held in seen:
            continue
        seen.add(held)
        assert published(model, held), sorted(held)
        todo += [
            held | {Instance(one.name, start)}
            for one in profiles(model)
            for start in free(model, held, one.name)
        ]
    full = {held for held in seen if not any(free(model, held, p.name) for p in profiles(model))}
    assert full == set(PUBLISHED[model])


@pytest.mark.parametrize("model", MODELS)
def test_known_at_once(model: str, record_property: Say) -> None:
    """What is asked for together, however it is written, is cut: the search is complete."""
    tried = 0
    for wanted in sets(model):
        for order in orders(wanted):
            found = mig.layout(TABLES[model], Counter(order))
            assert found is not None
            assert frozenset(found) in PUBLISHED[model]
            tried += 1
        largest = sorted(wanted, key=mig.largest_first)
        assert come_about(model, tuple(largest)) is not None
    record_property(PROPERTY, [model, "known at once", len(sets(model)), tried, tried])


@pytest.mark.parametrize(
    ("model", "ours", "most"), [("A30", 6, 6), *((model, 50, 55) for model in EIGHTHS)]
)
def test_one_after_the_other(model: str, ours: int, most: int, record_property: Say) -> None:
    """Who does not know what comes next cannot serve every order: one that begins with 1g wants it
    at 6 if a 4g and a 2g follow, and not at 6 if a 3g, a 2g and a 1g do. The start that leaves most
    to the largest misses only orders in which a 3g comes after a smaller one, and never for a 4g;
    of choosers that never fail those with a 4g none serves more.
    """
    served = missed = 0
    for wanted in sets(model):
        for order in orders(wanted):
            found = come_about(model, order)
            served, missed = served + (found is not None), missed + (found is None)
            assert found is None or published(model, found)
            if found is None:
                first = next(n for n, name in enumerate(order) if name.startswith("3g"))
                assert first > 0
                assert not any(name.startswith("4g") for name in wanted)
    assert (served, best_of_all(model)) == (ours, most)
    with_4g = sum("4g" in " ".join(order) for wanted in sets(model) for order in orders(wanted))
    assert best_of_all(model, of_4g=1000) == 1000 * with_4g + ours - with_4g
    record_property(
        PROPERTY, [model, "one by one", len(sets(model)), served + missed, served, most]
    )


def best_of_all(model: str, of_4g: int = 1) -> int:
    """How many orders the best chooser serves that does not know the future, by trying all; one
    with a 4g counts as so many."""
    wanted = sets(model)

    @cache
    def most(held: Layout, asked: tuple[str, ...]) -> int:
        worth = of_4g if "4g" in " ".join(asked) else 1
        served = worth if asked in wanted else 0
        for one in profiles(model):
            then = tuple(sorted((*asked, one.name)))
            if any(not Counter(then) - Counter(whole) for whole in wanted):
                found = free(model, held, one.name)
                nexts = (most(held | {Instance(one.name, start)}, then) for start in found)
                served += max(nexts, default=0)
        return served

    return most(frozenset(), ())


STEPS = st.lists(st.tuples(st.booleans(), st.integers(0, 6)), max_size=40)


@pytest.mark.parametrize("model", MODELS)
@given(steps=STEPS)
@settings(max_examples=60, deadline=None)
def test_with_releases_in_between(model: str, steps: list[tuple[bool, int]]) -> None:
    """Whatever comes and goes: always a part of a published layout, and nobody is turned away
    while there is a published layout that has his profile beside what is there."""
    held: list[Instance] = []
    for arrives, number in steps:
        if not arrives and held:
            del held[number % len(held)]
            continue
        wanted = profiles(model)[number % len(profiles(model))]
        start = chosen(model, frozenset(held), wanted.name)
        beside = [
            one.start
            for layout in PUBLISHED[model]
            if layout >= set(held)
            for one in layout - set(held)
            if one.profile == wanted.name
        ]
        assert (start in beside) if start is not None else not beside
        if start is not None:
            held.append(Instance(wanted.name, start))
        assert published(model, frozenset(held))
