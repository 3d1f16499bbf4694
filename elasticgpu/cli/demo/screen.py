"""What the demo says: lines, and on a terminal below them one that tells how far it is."""

from __future__ import annotations

import asyncio
import shutil
import sys
import time

import click

from elasticgpu.cli.printing import COLOURS

READING = 0.25
"""Seconds."""
_ERASE = "\r\x1b[K"


def short(name: str) -> str:
    """A name that was made from a uid, cut behind the uid's first part.

    >>> short("egpu-5a000b2b-9e92-4e14-adc8-fcc2b8dfcf93"), short("lab-share")
    ('egpu-5a000b2b…', 'lab-share')
    """
    return f"{name[:13]}…" if name.startswith("egpu-") else name


class Screen:
    """Standard output. Times are told since it was made."""

    def __init__(self) -> None:
        self._began = time.monotonic()
        self.live = sys.stdout.isatty()
        """Whether somebody looks on."""
        self._status = ""

    @property
    def seconds(self) -> float:
        """Since it was made."""
        return time.monotonic() - self._began

    def line(self, text: str = "") -> None:
        """Print a line above the one that tells how far it is."""
        erase = _ERASE if self._status else ""
        click.echo(f"{erase}{text}")
        self._draw()

    def title(self, text: str) -> None:
        """Print what happens next."""
        self.line()
        self.line(click.style(f"== {text}", bold=True))

    def news(self, what: str, name: str, state: str, more: str = "") -> None:
        """Print a change, with its time."""
        word, *rest = state.split(" ", 1)
        told = " ".join([click.style(word, fg=COLOURS.get(word)), *rest])
        self.line(f"  [{self.seconds:4.1f} s] {what} {name}: {told}{more}")

    def status(self, text: str) -> None:
        """Say how far it is, to one who looks on."""
        if self.live:
            click.echo(_ERASE if self._status else "", nl=False)
            self._status = text[: shutil.get_terminal_size().columns - 1]
            self._draw()

    async def rest(self) -> None:
        """Give one who looks on the time to read."""
        if self.live:
            await asyncio.sleep(READING)

    def _draw(self) -> None:
        if self._status:
            click.echo(click.style(self._status, dim=True), nl=False)
