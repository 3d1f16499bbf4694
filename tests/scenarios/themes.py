"""All scenarios, from the modules that hold them by theme."""

from . import binding, named
from .scenario import Scenario

SCENARIOS: list[Scenario] = [*binding.SCENARIOS, *named.SCENARIOS]
