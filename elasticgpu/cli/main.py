"""`elasticgpu` and `kubectl elasticgpu`: every command of the project.

What a command does stands in a module of its own, imported when the command runs: neither
`elasticgpu --help` nor a shell's completion waits for the API models or the Kubernetes client.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import click

from .processes import agent, controller, crds, demo
from .questions import get, imports, release, tree, why
from .standing import apiserver
from .writing import new_provisioner

INTERRUPTED = 130
"""Exit code after Ctrl-C, as shells have it: 128 and the signal's number."""


class Terminal(click.Group):
    """The group of all commands, and how they end: quietly on Ctrl-C, in plain text if asked."""

    def main(self, *args: Any, **extra: Any) -> Any:
        """Run a command line. Called `kubectl elasticgpu` in its texts where kubectl ran it."""
        name = Path(sys.argv[0]).name
        extra.setdefault("prog_name", name.replace("kubectl-", "kubectl ", 1))
        return super().main(*args, **extra)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command that was parsed; Ctrl-C ends it without a trace."""
        if os.environ.get("NO_COLOR"):
            ctx.color = False
        try:
            return super().invoke(ctx)
        except (KeyboardInterrupt, click.Abort):
            ctx.exit(INTERRUPTED)


@click.group("elasticgpu", cls=Terminal, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="elasticgpu", message="elasticgpu %(version)s")
def main() -> None:
    """GPUs on Kubernetes as easy to share as disks."""


QUESTIONS = (get, tree, why, release, imports)
PROCESSES = (controller, agent, crds, apiserver, demo, new_provisioner)
for command in (*QUESTIONS, *PROCESSES):
    main.add_command(command)
