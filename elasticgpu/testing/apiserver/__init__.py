"""An API server in memory, for tests and demonstrations: the parts of Kubernetes' own that clients
and controllers rely on, and faults on demand.

    server = ApiServer()
    async with DirectClient(server) as client: ...        # no sockets; time may be virtual
    async with serving(server) as url: ...                # HTTP, for kubectl and any client

It stores nothing but in memory, runs no container and schedules no pod. What it does the same way
as kube-apiserver, and where it differs, is what `tests/conformance` says.
"""

from .client import DirectClient
from .faults import Fault, Faults
from .server import ApiServer
from .users import User
from .web import serving

__all__ = ["ApiServer", "DirectClient", "Fault", "Faults", "User", "serving"]
