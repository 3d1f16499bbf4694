"""`elasticgpu new-provisioner`: a package of one's own to begin with, which passes the contract."""

from __future__ import annotations

import re
from importlib.resources import files
from pathlib import Path

import click

NAME = re.compile(
    r"((?P<domain>[a-z0-9]([a-z0-9.-]*[a-z0-9])?)/)?(?P<short>[a-z]([a-z0-9-]*[a-z0-9])?)"
)
OURS = "elasticgpu.io"
LONGEST = 63
"""Characters of a provisioner's name."""

FILES = {
    "pyproject.toml.in": "pyproject.toml",
    "provisioner.py.in": "src/{{module}}/__init__.py",
    "class.yaml.in": "class.yaml",
    "README.md.in": "README.md",
    "test_contract.py.in": "tests/test_contract.py",
}
"""What is written where; what stands in double braces is filled in."""


@click.command("new-provisioner")
@click.argument("name")
@click.option(
    "--directory",
    type=click.Path(path_type=Path),
    show_default="what NAME ends with, and -provisioner",
    help="Where to write it; there must be nothing of this name.",
)
def new_provisioner(name: str, directory: Path | None) -> None:
    """Write a package with a provisioner of your own, and its tests.

    NAME is what classes write, such as example.com/half; without a domain it is example.com's.
    """
    words = _words(name)
    target = directory or Path(words["package"])
    if target.exists():
        raise click.ClickException(f"{target} exists: name another --directory")
    try:
        _write(target, words)
    except OSError as error:
        raise click.ClickException(f"cannot write {error.filename}: {error.strerror}") from error
    click.echo(f"{target}: a provisioner that classes name {words['name']}. Go on with")
    for command in (f"cd {target}", "pip install -e '.[testing]'", "pytest"):
        click.echo(f"  {command}")
    click.echo(f"and change src/{words['module']}/__init__.py; its README.md has the rest.")


def _words(name: str) -> dict[str, str]:
    """What is filled in. Raises BadParameter for what is no provisioner's name."""
    found = NAME.fullmatch(name)
    domain = (found["domain"] if found else "") or "example.com"
    if not found or len(f"{domain}/{found['short']}") > LONGEST:
        raise click.BadParameter(
            f"{name!r} is none: write a domain of yours, a slash, and a name of small letters, "
            f"digits and dashes, such as example.com/half, {LONGEST} characters at most",
            param_hint="NAME",
        )
    if domain == OURS or domain.endswith(f".{OURS}"):
        raise click.BadParameter(
            f"{OURS} is not yours: take a domain of your own", param_hint="NAME"
        )
    short = found["short"]
    stem = "".join(part.capitalize() for part in short.split("-"))
    return {
        "name": f"{domain}/{short}",
        "short": short,
        "package": f"{short}-provisioner",
        "module": f"{short}_provisioner".replace("-", "_"),
        "stem": stem,
        "class": f"{stem}Provisioner",
    }


def _write(target: Path, words: dict[str, str]) -> None:
    source = files("elasticgpu.cli") / "package"
    for name, where in FILES.items():
        path = target / _filled(where, words)
        path.parent.mkdir(parents=True, exist_ok=True)
        text = _filled((source / name).read_text(encoding="utf-8"), words)
        path.write_text(text, encoding="utf-8")


def _filled(text: str, words: dict[str, str]) -> str:
    for word, value in words.items():
        text = text.replace(f"{{{{{word}}}}}", value)
    return text
