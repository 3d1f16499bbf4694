"""What exists: the kinds as pydantic models. No I/O; importable by anyone."""
