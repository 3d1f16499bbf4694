"""Measurements of what `make bench-…` promises: both sides in one run, on one real API server."""
