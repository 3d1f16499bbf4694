"""Binding, by tables of worlds and their decisions."""
