"""Asking a plugin about one object: at most one call at a time, later after each failure.

Calls run in the background; who asks is woken when one has ended, and when it should have.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from elasticgpu.cluster.backoff import jittered
from elasticgpu.rules.answers import Answer, Kind, read

from .plugins import Plugin

log = logging.getLogger(__name__)

BASE, CAP = 1.0, 300.0
"""Seconds until a plugin is asked again after a failure, at first and at most."""

PATIENCE = 30.0
"""Seconds after which people are told anew if only the words changed."""

GRACE = 1.0
"""Seconds beyond its time after which a call that does not even end is spoken of."""


def done(_: object) -> Answer:
    """The answer of a call whose result says nothing."""
    return Answer(Kind.DONE)


@dataclass(eq=False)
class Asking:
    """The calls about one object. `wake(seconds)` has it looked at again, in so many seconds.

    `answer` is the last one, None before the first.
    """

    wake: Callable[[float], None]
    answer: Answer | None = None
    _name: str = ""
    _call: asyncio.Future[Any] | None = None
    _understand: Callable[[Any], Answer] = done
    _failures: int = 0
    _due: float = 0.0
    _late: float = 0.0
    _told: float = -PATIENCE

    @property
    def calling(self) -> bool:
        """Whether a call is under way."""
        return self._call is not None

    @property
    def due(self) -> bool:
        """Whether it is time for a call."""
        return _now() >= self._due

    def start(
        self,
        plugin: Plugin,
        call: Callable[[], Awaitable[Any]],
        understand: Callable[[Any], Answer] = done,
    ) -> None:
        """Begin a call; `understand` makes an answer of its result."""
        self._name, self._understand = plugin.name, understand
        self._call = plugin.start(call)
        self._call.add_done_callback(lambda _: self.wake(0))
        self._late = _now() + plugin.provisioner.timeout + GRACE
        self.wake(plugin.provisioner.timeout + GRACE)

    def look(self) -> Answer | None:
        """The last answer, that of a call that has ended meanwhile taken in."""
        if self._call is not None and self._call.done():
            self.answer, self._call = self._read(self._call), None
            self._pace(self.answer)
        elif self._call is not None and _now() >= self._late:
            words = f"{self._name} was asked and does not even time out: its calls may be blocked"
            self.answer = Answer(Kind.UNCLEAR, words)
        else:
            self._rewake(self._due if self._call is None else self._late)
        return self.answer

    def tells(self, again: bool) -> bool:
        """Whether it is time to tell people; `again`: they know, but for the very words."""
        if again and _now() - self._told < PATIENCE:
            return False
        self._told = _now()
        return True

    def _rewake(self, at: float) -> None:
        """A timer of the same key that is due sooner may have taken the place of ours."""
        if at > _now():
            self.wake(at - _now())

    def _read(self, call: asyncio.Future[Any]) -> Answer:
        if call.cancelled():
            return Answer(Kind.UNCLEAR, f"{self._name}: the call was cancelled")
        error = call.exception()
        if error is None:
            return self._understand(call.result())
        answer = read(self._name, error)
        if answer.kind is Kind.UNCLEAR:
            log.warning("%s", answer.words, exc_info=error)
        return answer

    def _pace(self, answer: Answer) -> None:
        well = answer.kind in (Kind.DONE, Kind.WORKING)
        self._failures = 0 if well else self._failures + 1
        pause = 0.0 if well else jittered(self._failures, base=BASE, cap=CAP)
        self._due = _now() + max(answer.after, pause)
        self._rewake(self._due)


def _now() -> float:
    return asyncio.get_running_loop().time()
