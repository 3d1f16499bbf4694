"""Tests of the pure rules: tables of views with their decisions, and laws as properties."""
