"""Faults on demand: what a request may meet on its way, and how often.

server.faults.add(Fault("lose", method="PUT", path="/elasticgpus/d1", nth=2))
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncGenerator, Callable
from dataclasses import dataclass, field
from typing import Literal

from .refusal import Refusal
from .requests import Answer, Request, Stream

Act = Literal["fail", "delay", "drop", "lose", "fail-after", "duplicate", "disconnect"]


@dataclass
class Fault:
    """One fault. It meets the requests of this method whose path matches this pattern, from the
    `nth` of them on, `times` of them.

    fail: answered with `error`, not done. delay: done after `seconds`. drop: not done, and no
    answer comes. lose: done, and no answer comes. fail-after: done, and answered with `error`.
    duplicate: done twice, the second answer comes. disconnect: a watch ends after `seconds`, any
    other request is answered and then every watch ends.
    """

    act: Act
    method: str = ""
    path: str = ""
    nth: int = 1
    times: int = 1
    seconds: float = 0.0
    error: Refusal = field(
        default_factory=lambda: Refusal(500, "InternalError", "a fault that was asked for")
    )
    matches: Callable[[Request], bool] = lambda request: True
    seen: int = 0
    """So many requests it has matched so far."""

    def meets(self, request: Request) -> bool:
        """Whether this request is the one; it counts those that match."""
        if self.method not in ("", request.method) or not re.search(self.path, request.path):
            return False
        if not self.matches(request):
            return False
        self.seen += 1
        return self.nth <= self.seen < self.nth + self.times


class Faults:
    """The faults that are planted now; without any, requests pass by untouched."""

    def __init__(self, disconnect: Callable[[], None] = lambda: None) -> None:
        self.planted: list[Fault] = []
        self.disconnect = disconnect

    def add(self, fault: Fault) -> Fault:
        """Plant one; it comes back for its count to be read."""
        self.planted.append(fault)
        return fault

    def clear(self) -> None:
        """Take all away."""
        self.planted.clear()

    async def around(
        self, request: Request, answer: Callable[[], Answer | Stream]
    ) -> Answer | Stream:
        """Have the request answered, through whatever fault it meets. Raises ConnectionError
        where no answer comes."""
        if not self.planted:
            return answer()
        fault = next((one for one in list(self.planted) if one.meets(request)), None)
        if fault is None:
            return answer()
        return await self._through(fault, answer)

    async def _through(
        self, fault: Fault, answer: Callable[[], Answer | Stream]
    ) -> Answer | Stream:
        match fault.act:
            case "fail":
                return Answer.refusing(fault.error)
            case "delay":
                await asyncio.sleep(fault.seconds)
                return answer()
            case "drop":
                raise ConnectionResetError("dropped before it was done")
            case "lose":
                answer()
                raise ConnectionResetError("done, and the answer lost")
            case "fail-after":
                answer()
                return Answer.refusing(fault.error)
            case "duplicate":
                answer()
                return answer()
            case "disconnect":
                found = answer()
                if isinstance(found, Stream):
                    return Stream(_cut(found, fault.seconds))
                self.disconnect()
                return found


async def _cut(stream: Stream, seconds: float) -> AsyncGenerator[bytes, None]:
    """The stream until then; then the connection breaks."""
    ends = asyncio.get_running_loop().time() + seconds
    lines = stream.lines
    while True:
        try:
            async with asyncio.timeout_at(ends):
                line = await anext(lines)
        except StopAsyncIteration:
            return
        except TimeoutError:
            raise ConnectionResetError("cut") from None
        yield line
