"""The commands people type: get, tree, why, release, import."""

from __future__ import annotations

import click

from .options import Target, everywhere, namespace, output, targeted


@click.command()
@click.argument("what", default="claims")
@click.argument("names", nargs=-1)
@output("wide", "json", "yaml", "name")
@namespace
@everywhere
@targeted
def get(target: Target, what: str, names: tuple[str, ...], output: str | None) -> None:
    """List claims, devices, gpus, classes, templates.

    \b
      elasticgpu get                      claims of this namespace
      elasticgpu get claims -A -o wide    of all, with node and card
      elasticgpu get gpus                 cards, and how much of each is held
      elasticgpu get device/egpu-1 -o yaml
    """
    from . import getting
    from .session import run

    request = getting.parse(what, names)
    run(target, lambda session: getting.get(session, request, output or ""))


@click.command()
@output("wide", "json", "yaml")
@click.option("--node", default="", help="Only this node.")
@namespace
@targeted
def tree(target: Target, node: str, output: str | None) -> None:
    """Show who holds what, from nodes to pods.

    HELD is what devices keep of a card, whether or not somebody uses them. With -n only the
    devices of that namespace's claims are listed; sums are of everything all the same.
    """
    from . import growing
    from .session import run

    run(target, lambda session: growing.tree(session, node, target.namespace, output or ""))


@click.command()
@click.argument("name")
@output("json", "yaml")
@namespace
@targeted
def why(target: Target, name: str, output: str | None) -> None:
    """Explain why a claim or a pod is as it is.

    NAME is claim/NAME, pod/NAME, or a name that only one of the two has. Says since when it is so,
    what it waits for, which cards were looked at and what each lacks, who holds them, and what to
    do. The controller's own rules answer, over what the cluster shows now.
    """
    from . import explaining
    from .session import run

    run(target, lambda session: explaining.why(session, name, output or ""))


@click.command()
@click.argument("names", nargs=-1)
@click.option("--all-released", is_flag=True, help="All that wait for it; with -n of its claims.")
@click.option("--delete", is_flag=True, help="Delete them instead: that frees their room.")
@click.option("--dry-run", is_flag=True, help="Say what would be done, write nothing.")
@click.option("-y", "--yes", is_flag=True, help="Ask nothing.")
@namespace
@targeted
def release(
    target: Target,
    names: tuple[str, ...],
    all_released: bool,
    delete: bool,
    dry_run: bool,
    yes: bool,
) -> None:
    """Give Released devices back, whose claims are gone.

    A device of a class with reclaimPolicy Retain outlives its claim and keeps its room until an
    admin decides. Given back it becomes Available as it is, for any claim of its class that it
    fits; with --delete it is deleted and its room on the card is free. What belongs to a claim or
    is in use on a node is refused. Exit code 1 if anything was refused.
    """
    if bool(names) == all_released:
        raise click.UsageError("name the devices, or say --all-released")
    if target.namespace and not all_released:
        raise click.UsageError("devices have no namespace: -n goes with --all-released")
    from . import releasing
    from .session import run

    order = releasing.Order(names, target.namespace, delete, dry_run, yes)
    run(target, lambda session: releasing.release(session, order))


@click.command("import")
@click.argument("sources", nargs=-1)
@click.option(
    "--node",
    "nodes",
    multiple=True,
    metavar="NAME=ENTRY",
    help="This node takes this entry, whatever its labels say. Can be given several times.",
)
@click.option("--from-cluster", is_flag=True, help="Read the nodes and their cards there.")
@click.option("--apply", is_flag=True, help="Write to the cluster instead of printing.")
@click.option("-n", "--namespace", default="", help="Read this namespace's ConfigMaps as well.")
@targeted
def imports(
    target: Target,
    sources: tuple[str, ...],
    nodes: tuple[str, ...],
    from_cluster: bool,
    apply: bool,
) -> None:
    """Import what was written for NVIDIA's plugin and mig-parted.

    SOURCES are files, folders or - with their ConfigMaps; Nodes and GPUs may be among them. Nodes
    take the entries that their labels nvidia.com/device-plugin.config and nvidia.com/mig.config
    name. Prints classes, the modes of exactly the cards that are meant, and MIG devices; on
    stderr what of the configurations is not honoured.

    \b
      elasticgpu import config.yaml --from-cluster | kubectl apply -f -
      elasticgpu import -n gpu-operator --apply
      kubectl get nodes,gpus -o yaml | elasticgpu import config.yaml -
    """
    if not (sources or target.namespace):
        raise click.UsageError("name files with the ConfigMaps, or -n for those of a namespace")
    from . import importing
    from .session import run

    pairs = [(name, entry) for name, _, entry in (one.partition("=") for one in nodes)]
    if not all(entry for _, entry in pairs):
        raise click.UsageError("--node takes NAME=ENTRY")
    order = importing.Order(sources, tuple(pairs), target.namespace, apply)
    if from_cluster or apply or target.namespace:
        run(target, lambda session: importing.there(session, order))
    else:
        importing.here(order)
