"""The commands that a cluster runs, and those that need none: controller, agent, crds, demo."""

from __future__ import annotations

import os
import socket
import sys
from pathlib import Path

import click

from .options import kubeconfig

health_port = click.option(
    "--health-port",
    type=click.IntRange(0, 65535),
    default=0,
    show_default="not served",
    help="Port of /livez and /readyz.",
)
verbose = click.option("-v", "--verbose", is_flag=True, help="Log every step.")


@click.command()
@kubeconfig
@health_port
@verbose
@click.option(
    "--leader-elect/--no-leader-elect",
    default=True,
    show_default=True,
    help="Work only while holding the lease, so that several replicas can run.",
)
@click.option(
    "--namespace",
    envvar="POD_NAMESPACE",
    default="elasticgpu-system",
    show_default=True,
    help="Namespace of the lease.",
)
def controller(
    kubeconfig: str | None, health_port: int, verbose: bool, leader_elect: bool, namespace: str
) -> None:
    """Bind claims, cut devices from cards, hand them to pods."""
    from elasticgpu.controllers.controller import ControllerConfig, run

    from .running import run_process

    config = ControllerConfig(
        identity=f"{socket.gethostname()}-{os.getpid()}",
        namespace=namespace,
        leader_elect=leader_elect,
    )
    run_process(
        "controller", kubeconfig, health_port, verbose, lambda c, ready: run(c, config, ready=ready)
    )


@click.command()
@kubeconfig
@health_port
@verbose
@click.option("--node-name", envvar="NODE_NAME", required=True, help="Name of this node.")
@click.option(
    "--kubelet-dir",
    type=click.Path(path_type=Path),
    default=Path("/var/lib/kubelet"),
    show_default=True,
    help="The kubelet's --root-dir, with plugins and plugins_registry.",
)
@click.option(
    "--cdi-dir",
    type=click.Path(path_type=Path),
    default=Path("/var/run/cdi"),
    show_default=True,
    help="A CDI directory the container runtime reads.",
)
@click.option(
    "--state-dir",
    type=click.Path(path_type=Path),
    default=Path("/var/lib/elasticgpu"),
    show_default=True,
    help="Where the ledger of prepared devices is kept; must outlive the process.",
)
@click.option(
    "--run-dir",
    type=click.Path(path_type=Path),
    default=Path("/run/elasticgpu"),
    show_default=True,
    help="Where provisioners keep what a reboot may take: pipes of daemons; a short path.",
)
@click.option(
    "--simulate",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Fleet file: which made-up cards to publish. Needed: this release knows no real ones.",
)
def agent(
    kubeconfig: str | None,
    health_port: int,
    verbose: bool,
    node_name: str,
    kubelet_dir: Path,
    cdi_dir: Path,
    state_dir: Path,
    run_dir: Path,
    simulate: Path | None,
) -> None:
    """Run on a node: publish its cards, prepare devices."""
    if simulate is None:
        raise click.UsageError(
            "this release knows simulated cards only: name a fleet file with --simulate"
        )
    from elasticgpu.agent.agent import AgentConfig, run

    from .running import run_process

    config = AgentConfig(
        node_name=node_name,
        kubelet_dir=kubelet_dir,
        cdi_dir=cdi_dir,
        state_dir=state_dir,
        simulate=simulate,
        run_dir=run_dir,
    )
    run_process(
        "agent", kubeconfig, health_port, verbose, lambda c, ready: run(c, config, ready=ready)
    )


@click.command()
@click.option(
    "--output",
    "-o",
    type=click.Path(file_okay=False, path_type=Path),
    help="Write one file a kind into this folder instead of printing.",
)
def crds(output: Path | None) -> None:
    """Print the CRDs, for `kubectl apply -f -`."""
    from elasticgpu.api.schema import KINDS, render, write

    if output is None:
        click.echo("---\n".join(render(kind) for kind in KINDS), nl=False)
        return
    for path in write(output):
        click.echo(path)


@click.command()
@click.option("--keep", is_flag=True, help="Stay up for kubectl until Ctrl-C.")
@click.option("-v", "--verbose", is_flag=True, help="Log what the processes log, on stderr.")
def demo(keep: bool, verbose: bool) -> None:
    """Show the whole system here and now, without a cluster.

    An API server in this process, on loopback; simulated nodes with made-up cards; the real
    controller and agents. Exit code 1 if anything came otherwise than the script says.
    """
    try:
        from .demo.show import run
    except ImportError as error:
        raise click.ClickException(
            f"the demo needs more than is installed ({error}): pip install 'elasticgpu[testing]'"
        ) from error
    from .running import run_here

    sys.exit(0 if run_here("demo", run(keep=keep), verbose) else 1)
