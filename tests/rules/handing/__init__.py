"""Handing: what is done about a pod, and what its owner reads."""
