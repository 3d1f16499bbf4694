"""On the node: publishes its cards, prepares devices, hands them to containers."""

import os

# Programs are run beside gRPC's threads. Its handlers of fork have been seen to end a child before
# it became its program, and nobody here uses gRPC in a child. It reads this when it is first used.
os.environ.setdefault("GRPC_ENABLE_FORK_SUPPORT", "0")
