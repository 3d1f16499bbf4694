"""One profile for all properties: the same examples in every run, and no clock."""

from hypothesis import settings

settings.register_profile("rules", deadline=None, derandomize=True, max_examples=200)
settings.load_profile("rules")
