"""For the plugins' tests: no event loop that nobody closes; see `tests/conftest.py`."""

import asyncio

asyncio.set_event_loop(None)
