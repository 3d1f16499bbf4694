"""The state machine: its rules are what may happen, in any order, and after each of them what must
always hold does; at the end everything is mended, and must settle."""

from __future__ import annotations

from .admins import Admins
from .crashes import Crashes
from .outages import Outages
from .users import Users


class Life(Users, Admins, Outages, Crashes):
    """One cluster, and all that may happen in it."""
