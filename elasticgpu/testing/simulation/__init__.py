"""A simulation of what is around this project in a cluster: kube-controller-manager's part in
ResourceClaims, a scheduler that follows allocations, kubelets that run no container.

The controller, the agents, the sockets between agent and kubelet, and the API are the real ones.

    async with simulated(server, fleet, folder) as cluster: ...
"""

from .cluster import Cluster, simulated

__all__ = ["Cluster", "simulated"]
