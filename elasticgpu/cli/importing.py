"""`elasticgpu import`: what administrators wrote for NVIDIA's device plugin and mig-parted, as
classes, modes of cards and devices made ahead. `rules.importing` decides; here is only read,
printed and, if it is asked for, applied.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import click

from elasticgpu.api.core import Node
from elasticgpu.api.elasticgpu import ElasticGPU
from elasticgpu.api.gpu import GPU
from elasticgpu.api.gpuclass import ElasticGPUClass
from elasticgpu.api.meta import KubeObject
from elasticgpu.cluster.client import Client
from elasticgpu.errors import AlreadyExists, ElasticGPUError, Refused
from elasticgpu.rules.importing import Import, choices, translate

from .configurations import Given, Object, files, is_configuration
from .printing import structured
from .session import Session

CONFIG_MAPS = "/api/v1/namespaces/{}/configmaps"


@dataclass(frozen=True, slots=True)
class Order:
    """Where configurations are read, which nodes take which entries by hand, what is done then."""

    sources: tuple[str, ...]
    nodes: tuple[tuple[str, str], ...] = ()
    config_maps: str = ""
    apply: bool = False


def here(order: Order) -> None:
    """Import without a cluster, and print."""
    try:
        show(translated(read(order), order))
    except Refused as error:
        raise click.ClickException(error.reason) from error


async def there(session: Session, order: Order) -> bool:
    """Import with what the cluster knows; print or apply. False if something was not applied."""
    given = read(order)
    await _survey(session, given, order)
    found = translated(given, order)
    if not order.apply:
        show(found)
        return True
    _say(found.notes)
    return all([await _applied(session, made.obj) for made in found.made])


def read(order: Order) -> Given:
    """What the files hold."""
    given = Given()
    for where, obj in files(order.sources):
        given.take(where, obj)
    return given


async def _survey(session: Session, given: Given, order: Order) -> None:
    """The cluster's nodes and cards, and the configurations of a namespace, if one is named."""
    given.cards = await session.many(GPU)
    for node in await session.many(Node):
        given.nodes[node.name] = dict(node.metadata.labels)
    if order.config_maps:
        body = await session.client.raw("GET", CONFIG_MAPS.format(order.config_maps))
        found = [one for one in body["items"] if is_configuration(one)]
        for one in found:
            given.take("cluster", {**one, "kind": "ConfigMap"})


def translated(given: Given, order: Order) -> Import:
    """What is to be applied, and all that is not honoured."""
    chosen, passed = choices(given.entries, given.nodes, order.nodes)
    cards = {card.name: card for card in given.cards}.values()  # of two files, or of one twice
    found = translate(given.entries, chosen, cards)
    notes = [*given.notes, *passed, *found.notes]
    if not given.entries:
        notes.append("no configuration was found: name a file with its ConfigMap, or -n")
    elif not chosen:
        notes.append(
            "no node takes an entry, so there are only classes: give --from-cluster, the output of "
            "`kubectl get nodes,gpus -o yaml`, or --node"
        )
    return Import(found.made, tuple(notes))


def show(found: Import) -> None:
    """Manifests on standard output, for `kubectl apply -f -`; notes on the other."""
    _say(found.notes)
    for made in found.made:
        click.echo(f"---\n# {made.why}\n{structured(_manifest(made.obj), 'yaml')}")


def _say(notes: Sequence[str]) -> None:
    for note in notes:
        click.echo(f"elasticgpu import: {note}", err=True)


def _manifest(obj: KubeObject) -> Object:
    kind = type(obj).resource
    return {"apiVersion": kind.api_version, "kind": kind.kind, **obj.wire()}


async def _applied(session: Session, obj: KubeObject) -> bool:
    name = f"{type(obj).resource.kind.lower()} {obj.name}"
    try:
        done = await _write(session.client, obj)
    except ElasticGPUError as error:
        click.echo(f"Error: {name}: {error}", err=True)
        return False
    click.echo(f"{name} {done}")
    return True


async def _write(client: Client, obj: KubeObject) -> str:
    """What was done, in words. Raises Refused where another object has the name; ApiError.

    A set of modes is replaced, not joined with what was there: the card is for these backends.
    """
    if isinstance(obj, GPU):
        there = await client.get(GPU, obj.key)
        if there.spec.modes == obj.spec.modes:
            return "unchanged"
        await client.replace(there.but(spec=there.spec.but(modes=obj.spec.modes)))
        return f"configured; it was for {', '.join(there.spec.modes) or 'all backends'}"
    try:
        await client.create(obj)
    except AlreadyExists:
        if _what(await client.get(type(obj), obj.key)) == _what(obj):
            return "unchanged"
        raise Refused("there is another one of this name: delete or rename that") from None
    return "created"


def _what(obj: KubeObject) -> object:
    """What makes an object what it is, whoever has it by now."""
    match obj:
        case ElasticGPUClass(spec=spec):
            return spec.provisioner, spec.parameters
        case ElasticGPU(spec=spec):
            return spec.node_name, spec.source.driver, spec.source.devices
        case _:
            return obj
