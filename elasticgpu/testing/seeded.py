"""An event loop that takes the steps of tasks in an order drawn from a seed.

asyncio takes them first come, first served, so that a test sees one of the many ways in which the
parts of a program may overtake each other. Here each turn of the loop lets a part of the steps that
are due go, in any order, and holds the others back; a seed makes the same order again. Callbacks
keep their order, for asyncio promises it. No step waits while time passes or I/O is waited for.

    with asyncio.Runner(loop_factory=lambda: SeededEventLoop(7)) as runner:
        runner.run(main())
"""

from __future__ import annotations

import asyncio
from collections import deque
from random import Random
from typing import Any


class SeededEventLoop(asyncio.SelectorEventLoop):
    """The loop of one seed. A loop of virtual time goes before it among the bases of a class."""

    _ready: deque[asyncio.Handle]

    def __init__(self, seed: int, **options: Any) -> None:
        super().__init__(**options)
        self._chance = Random(seed)

    def _run_once(self) -> None:
        held = self._hold_back()
        super()._run_once()  # type: ignore[misc] # asyncio's own, in every release so far
        self._ready.extendleft(held)

    def _hold_back(self) -> list[asyncio.Handle]:
        """Leave some of what is due for this turn; the rest."""
        due = [self._ready.popleft() for _ in range(len(self._ready))]
        steps = [handle for handle in due if _is_step(handle)]
        self._chance.shuffle(steps)
        go_on = self._chance.randint(1, len(steps)) if steps else 0
        self._ready.extendleft(reversed([handle for handle in due if not _is_step(handle)]))
        self._ready.extend(steps[:go_on])
        return steps[go_on:]


def _is_step(handle: asyncio.Handle) -> bool:
    """Whether it goes on with a task."""
    callback = handle._callback  # type: ignore[attr-defined] # not in its types
    return isinstance(getattr(callback, "__self__", None), asyncio.Task)
