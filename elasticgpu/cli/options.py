"""What every question says of the cluster it is put to: where that is, as whom, how patiently."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

import click

Command = TypeVar("Command", bound=Callable[..., Any])
UNITS = {"": 1, "s": 1, "m": 60, "h": 3600}


@dataclass(frozen=True, slots=True)
class Target:
    """A cluster, a namespace in it, and how long one request may take, in seconds.

    An empty namespace means the one the kubeconfig's context names, else `default`.
    """

    kubeconfig: str | None = None
    context: str | None = None
    namespace: str = ""
    everywhere: bool = False
    timeout: float = 15.0


class Duration(click.ParamType[float]):
    """Seconds, written as kubectl takes them: 30, 30s, 2m."""

    name = "duration"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        """The seconds; refuses what is no duration, and nothing, for ever."""
        found = re.fullmatch(r"(\d+)([smh]?)", str(value))
        if found is None or not int(found[1]):
            self.fail(f"{value!r} is not a duration such as 30s or 2m", param, ctx)
        return float(int(found[1]) * UNITS[found[2]])


kubeconfig = click.option(
    "--kubeconfig",
    type=click.Path(dir_okay=False),
    help="File with the cluster's address and credentials. "
    "Default: $KUBECONFIG, ~/.kube/config, or the pod's own ServiceAccount.",
)
context = click.option("--context", help="Context of the kubeconfig. Default: the current one.")
request_timeout = click.option(
    "--request-timeout",
    type=Duration(),
    default="15s",
    show_default=True,
    help="How long one request may take.",
)
namespace = click.option(
    "-n", "--namespace", default="", help="Namespace. Default: the context's, else `default`."
)
everywhere = click.option(
    "-A", "--all-namespaces", "everywhere", is_flag=True, help="All namespaces."
)


def output(*formats: str) -> Callable[[Command], Command]:
    """The option `-o` with these formats besides the default one, a text for people."""
    return click.option(
        "-o", "--output", type=click.Choice(formats), default=None, help="Instead of plain text."
    )


def targeted(command: Callable[..., None]) -> Callable[..., None]:
    """A command that gets a `target` made of the options that say where it is."""

    @kubeconfig
    @context
    @request_timeout
    @functools.wraps(command)
    def wrapper(
        kubeconfig: str | None,
        context: str | None,
        request_timeout: float,
        namespace: str = "",
        everywhere: bool = False,
        **rest: Any,
    ) -> None:
        if namespace and everywhere:
            raise click.UsageError("-n names one namespace and -A all of them: give one of the two")
        command(target=Target(kubeconfig, context, namespace, everywhere, request_timeout), **rest)

    return wrapper
