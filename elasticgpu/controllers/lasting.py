"""For how long facts have lasted: beside the loops, where only what lasts is worth a word."""

from __future__ import annotations

import asyncio
from collections.abc import Hashable


class Lasting:
    """For how long facts have held without a break, as far as this process has seen."""

    def __init__(self) -> None:
        self._since: dict[Hashable, float] = {}

    def seconds(self, fact: Hashable, holds: bool) -> float:
        """Seconds since `fact` began to hold; it begins now if it did not before."""
        now = asyncio.get_running_loop().time()
        if not holds:
            self._since.pop(fact, None)
            return 0.0
        return now - self._since.setdefault(fact, now)
