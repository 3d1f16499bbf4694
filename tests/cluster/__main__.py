"""`python -m tests.cluster up`: a cluster by hand, until Ctrl-C."""

import argparse
import sys
import tempfile
import threading
from contextlib import suppress
from pathlib import Path

from tests.cluster.cluster import Cluster
from tests.cluster.prerequisites import missing_prerequisites
from tests.cluster.process import terminate_as_interrupt


def main() -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(prog="python -m tests.cluster", description=__doc__)
    parser.add_argument("command", choices=["up"])
    parser.add_argument("--no-node", action="store_true", help="a control plane alone")
    parser.add_argument("--keep", action="store_true", help="keep the components' logs at the end")
    arguments = parser.parse_args()
    if missing := missing_prerequisites(node=not arguments.no_node):
        print("\n".join(missing), file=sys.stderr)
        return 1
    with suppress(KeyboardInterrupt), terminate_as_interrupt():
        _run(node=not arguments.no_node, keep=arguments.keep)
    return 0


def _run(*, node: bool, keep: bool) -> None:
    with Cluster(node=node) as cluster:
        print(f"export KUBECONFIG={cluster.kubeconfig}", flush=True)
        print("Ctrl-C ends the cluster", file=sys.stderr)
        try:
            threading.Event().wait()
        finally:
            if keep:
                print(f"logs kept in {cluster.save_logs(Path(tempfile.mkdtemp()))}")


if __name__ == "__main__":
    sys.exit(main())
