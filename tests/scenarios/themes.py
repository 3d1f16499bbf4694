"""All scenarios, from the modules that hold them by theme."""

from . import (
    binding,
    bound,
    caching,
    consumer,
    device,
    many,
    named,
    protection,
    provisioning,
    reclaiming,
)
from .scenario import Scenario

_THEMES = (
    binding,
    named,
    bound,
    device,
    many,
    provisioning,
    reclaiming,
    protection,
    consumer,
    caching,
)

SCENARIOS: list[Scenario] = [row for theme in _THEMES for row in theme.SCENARIOS]
