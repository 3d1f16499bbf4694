"""Tests of the page a plugin author reads."""
