"""`elasticgpu apiserver`: an API server in memory, for trying things out without a cluster."""

from __future__ import annotations

from pathlib import Path

import click


@click.command()
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=0,
    show_default="any that is free",
    help="Port to listen on.",
)
@click.option(
    "--write-kubeconfig",
    "file",
    type=click.Path(dir_okay=False, resolve_path=True, path_type=Path),
    help="Write a kubeconfig there, for as long as the server runs.",
)
@click.option("--bare", is_flag=True, help="Serve Kubernetes' own kinds alone, without ours.")
@click.option(
    "--policies",
    is_flag=True,
    help="With the chart's DeviceClass and admission policies, which write into pods what their "
    "annotations mean; the chart's namespace is elasticgpu-system.",
)
def apiserver(host: str, port: int, file: Path | None, bare: bool, policies: bool) -> None:
    """Serve the Kubernetes API from memory, without a cluster.

    No containers run here, nobody is asked who he is, and nothing is kept.
    """
    if bare and policies:
        raise click.UsageError("the policies are about our kinds: give --bare or --policies")
    import asyncio
    from contextlib import suppress

    from elasticgpu.testing.apiserver import ApiServer
    from elasticgpu.testing.apiserver.standing import stand
    from elasticgpu.testing.simulation.installing import define, install

    from .running import loop_factory

    server = ApiServer()
    if not bare:
        (install if policies else define)(server)
    with suppress(asyncio.CancelledError), asyncio.Runner(loop_factory=loop_factory()) as runner:
        runner.run(stand(server, host=host, port=port, file=file, say=click.echo))
    click.echo("API server: stopped", err=True)
