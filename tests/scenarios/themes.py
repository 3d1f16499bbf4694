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

THEMES = (
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
"""Each is what one controller does, or one moment in a claim's life."""

SCENARIOS: list[Scenario] = [row for theme in THEMES for row in theme.SCENARIOS]
