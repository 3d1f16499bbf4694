"""All scenarios, from the modules that hold them by theme."""

from . import binding, bound, consumer, device, many, named, provisioning, reclaiming
from .scenario import Scenario

_THEMES = (binding, named, bound, device, many, provisioning, reclaiming, consumer)

SCENARIOS: list[Scenario] = [row for theme in _THEMES for row in theme.SCENARIOS]
