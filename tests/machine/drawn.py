"""The names and sizes of which each step of a life draws its own."""

from __future__ import annotations

from hypothesis import strategies as st

from .actions import CLASSES

CLAIM = st.sampled_from(["c0", "c1", "c2", "c3", "c4"])
POD = st.sampled_from(["p0", "p1", "p2", "p3", "p4"])
TEMPLATE = st.sampled_from(["t0", "t1"])
NODE = st.sampled_from(["node-0", "node-1", "node-2"])
CLASS = st.sampled_from(sorted(CLASSES))
NTH = st.integers(0, 7)
PAUSE = st.sampled_from([0.0, 0.002, 0.05, 1.0, 15.0])
CORE = st.sampled_from([20, 30, 50, 70, 100])
