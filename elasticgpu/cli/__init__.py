"""The composition root: commands that put the rooms together."""
