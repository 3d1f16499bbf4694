"""The cluster for this folder's tests."""

from tests.cluster.fixtures import cluster, control_plane

__all__ = ["cluster", "control_plane"]
