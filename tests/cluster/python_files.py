"""The files of the running Python that a container needs to run a program like this one."""

import importlib.metadata
import re
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

# Parts of the standard library that no service uses; `config-…` holds a static library.
_UNUSED = {"test", "tests", "idlelib", "tkinter", "turtledemo", "lib2to3", "ensurepip"}
_UNUSED |= {"site-packages", "dist-packages", "pydoc_data"}
_UNUSED_PREFIXES = ("_test", "_ctypes_test", "_tkinter")

# `ldd` prints a library as `name => path (address)` and the loader as `path (address)`.
_LINKED = re.compile(r"^\t(?:\S+ => )?(/\S+) \(0x", re.MULTILINE)


class NotInstalled(LookupError):
    """A dependency that the wheel declares is not here in a version it accepts."""


@cache
def interpreter() -> Path:
    """The program behind `sys.executable`, outside any virtual environment."""
    name = f"python{sys.version_info.major}.{sys.version_info.minor}"
    candidates = (Path(sys.base_prefix) / "bin" / name, Path(sys.executable))
    return next(path.resolve() for path in candidates if path.exists())


def stdlib() -> Iterator[tuple[str, Path]]:
    """The standard library with its compiled files, as path in the image and source."""
    root = Path(sysconfig.get_path("stdlib"))
    for path in root.rglob("*"):
        parts = path.relative_to(root).parts
        unused = _UNUSED.intersection(parts) or path.name.startswith(_UNUSED_PREFIXES)
        unused = unused or parts[0].startswith("config-")
        if not unused and path.is_file() and _is_wanted(path):
            yield str(path), path


def shared_libraries(programs: Iterable[Path]) -> list[Path]:
    """The system's libraries and the loader that these programs and modules are linked with."""
    listing = subprocess.run(
        ["ldd", *map(str, programs)], capture_output=True, text=True, timeout=120, check=False
    )
    site = sysconfig.get_path("platlib")
    found = {name for name in _LINKED.findall(listing.stdout) if not name.startswith(site)}
    return sorted(map(Path, found))


def stripped(program: Path, folder: Path) -> Path:
    """A copy without debugging tables, if that is worth it and `strip` is here; else itself."""
    native = program == interpreter() or ".so" in program.suffixes
    if not native or program.stat().st_size < 200_000 or shutil.which("strip") is None:
        return program
    copy = folder / program.name
    done = subprocess.run(
        ["strip", "--strip-unneeded", "-p", "-o", copy, program], timeout=60, check=False
    )
    return copy if done.returncode == 0 else program


@dataclass(frozen=True)
class Dependencies:
    """Installed distributions that together satisfy a wheel's requirements."""

    distributions: dict[str, importlib.metadata.Distribution]

    @classmethod
    def installed(cls, requirements: Sequence[str], extras: Sequence[str]) -> "Dependencies":
        """All that these requirements name, and what those require in turn."""
        found: dict[str, importlib.metadata.Distribution] = {}
        waiting = [(line, tuple(extras)) for line in requirements]
        while waiting:
            line, wanted = waiting.pop()
            requirement = Requirement(line)
            if not _applies(requirement, wanted):
                continue
            name = canonicalize_name(requirement.name)
            if name not in found or requirement.extras:
                found[name] = _distribution(requirement)
                more = tuple(sorted(requirement.extras))
                waiting += [(one, more) for one in found[name].requires or []]
        return cls(dict(sorted(found.items())))

    @property
    def versions(self) -> list[str]:
        """Names and versions, in order."""
        return [f"{name}=={one.version}" for name, one in self.distributions.items()]

    def files(self) -> Iterator[tuple[str, Path]]:
        """Their files, as path below `site-packages` and source."""
        for distribution in self.distributions.values():
            for file in distribution.files or []:
                path = Path(str(file.locate()))
                if ".." not in file.parts and path.is_file() and _is_wanted(path):
                    yield str(file), path


def _applies(requirement: Requirement, extras: Sequence[str]) -> bool:
    marker = requirement.marker
    return marker is None or any(marker.evaluate({"extra": one}) for one in ("", *extras))


def _distribution(requirement: Requirement) -> importlib.metadata.Distribution:
    try:
        found = importlib.metadata.distribution(requirement.name)
    except importlib.metadata.PackageNotFoundError:
        raise NotInstalled(f"{requirement} is not installed here: install the project") from None
    if not requirement.specifier.contains(found.version, prereleases=True):
        raise NotInstalled(f"{requirement} is wanted, {found.version} is installed here")
    return found


def _is_wanted(path: Path) -> bool:
    """No static libraries, headers and stubs, nor code compiled for other settings."""
    if path.suffix in (".a", ".h", ".pyi", ".c", ".pxd", ".pyx"):
        return False
    if path.suffix == ".pyc":
        return path.name.endswith(f".{sys.implementation.cache_tag}.pyc")
    return True
