"""Where the embedded server is known to differ, and why; a test that passes must not be here."""

DIFFERENCES: dict[str, str] = {}
