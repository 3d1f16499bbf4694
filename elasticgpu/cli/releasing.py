"""`elasticgpu release`: an admin gives devices back whose claims are gone. The only command that
writes.

Each is read live, with the claim it names; `rules/recycling.py` decides; the write compares and
swaps, so whoever writes in between is noticed and everything is looked at again.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass

import click

from elasticgpu.api.claim import ElasticGPUClaim
from elasticgpu.api.elasticgpu import ElasticGPU
from elasticgpu.errors import Conflict, ElasticGPUError, NotFound, Refused
from elasticgpu.rules import recycling
from elasticgpu.rules.recycling import Decline, Free, Remove, waits_for_admin

from .columns import claim_of, has
from .printing import table, width
from .session import NO_SUCH_PATH, Session

TRIES = 5
"""How often a device is looked at again when somebody else writes it meanwhile."""


@dataclass(frozen=True, slots=True)
class Order:
    """What is to be given back, and how. Without names: all that wait for an admin."""

    names: tuple[str, ...]
    namespace: str = ""
    delete: bool = False
    dry_run: bool = False
    yes: bool = False


async def release(session: Session, order: Order) -> bool:
    """Give back each; False if one was refused or failed. The others are done all the same."""
    asks = not (order.dry_run or order.yes)
    if asks and not order.names and not sys.stdin.isatty():
        raise click.UsageError("--all-released needs --yes or --dry-run where nobody can be asked")
    names = order.names or await _waiting(session, order)
    if not names:
        click.echo("No ElasticGPU waits to be given back.", err=True)
    if asks and len(names) > 1 and sys.stdin.isatty():  # a script that names them knows them
        what = "Delete" if order.delete else "Give back"
        click.confirm(f"{what} {len(names)} devices?", abort=True, err=True)
    return all([await _release(session, name, order) for name in names])


async def _waiting(session: Session, order: Order) -> tuple[str, ...]:
    """The devices that wait for an admin, shown before anything happens to them."""
    prefix = f"{order.namespace}/" if order.namespace else ""
    all_of = await session.many(ElasticGPU)
    found = [d for d in all_of if claim_of(d).startswith(prefix) and waits_for_admin(d)]
    if found and not order.yes:
        rows = [(d.name, has(d.spec.capacity), d.spec.node_name, claim_of(d)) for d in found]
        for line in table(("NAME", "SIZE", "NODE", "LAST CLAIM"), rows, width()):
            click.echo(line, err=True)
    return tuple(device.name for device in found)


async def _release(session: Session, name: str, order: Order) -> bool:
    try:
        done = await _try(session, name, order)
    except ElasticGPUError as error:
        click.echo(f"Error: elasticgpu {name}: {error}", err=True)
        return False
    click.echo(f"elasticgpu {name} {done}{' (dry run)' if order.dry_run else ''}")
    return True


async def _try(session: Session, name: str, order: Order) -> str:
    """What was done, in a word. Raises Refused where the rule declines."""
    for _ in range(TRIES):
        device = await session.one(ElasticGPU, ("", name))
        decision = recycling.decide(device, await _claim(session, device), delete=order.delete)
        try:
            match decision:
                case Decline(reason):
                    raise Refused(reason)
                case Free(freed):
                    if not order.dry_run:
                        await session.client.replace(freed)
                    return "released"
                case Remove(device):
                    if not order.dry_run:
                        await session.client.delete(device)
                    return "deleted"
        except Conflict:
            continue
    raise Refused("somebody else keeps writing it: try again")


async def _claim(session: Session, device: ElasticGPU) -> ElasticGPUClaim | None:
    """The claim of the name the device carries, read live; None if there is none."""
    if device.spec.claim_ref is None:
        return None
    try:
        return await session.client.get(ElasticGPUClaim, device.spec.claim_ref.key)
    except NotFound as error:
        if error.reason == NO_SUCH_PATH:
            raise  # not the claim is gone, but its kind
        return None
