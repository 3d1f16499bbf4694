"""What a container sees, read in the container: environment, device files, mounts."""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping
from dataclasses import dataclass, field
from pathlib import Path

Numbers = tuple[int, int]
"""Major and minor of a device, or device and inode of a file."""

LOOK = """
cat /proc/1/environ; echo; echo ==
find /dev -type c -o -type b | while read -r device
do (: < "$device") 2>&1 | grep -q 'not permitted' || stat -c '%n %t %T' "$device"; done; echo ==
while read -r _ _ _ _ at options _; do echo "$at ${options%%,*} $(stat -c '%d %i' "$at")"
done < /proc/1/mountinfo
"""


@dataclass(frozen=True)
class Mounted:
    """What is mounted somewhere: which file of the machine, and whether it can be written."""

    access: str
    file: Numbers

    @classmethod
    def of(cls, path: Path, access: str) -> Mounted:
        """This file of the machine."""
        found = path.stat()
        return cls(access, (found.st_dev, found.st_ino))


@dataclass(frozen=True)
class Seen:
    """By name of the variable, path of the device file, place of the mount.

    Device files are those that the container may open: there may still be no driver behind.
    """

    env: Mapping[str, str] = field(default_factory=dict)
    devices: Mapping[str, Numbers] = field(default_factory=dict)
    mounts: Mapping[str, Mounted] = field(default_factory=dict)

    def beside(self, plain: Seen, named: Container[str]) -> Seen:
        """What a plain container does not see; of the places that are named, what is mounted there
        in any case. The one's name is no difference."""
        return Seen(
            {k: v for k, v in self.env.items() if plain.env.get(k) != v and k != "HOSTNAME"},
            {k: v for k, v in self.devices.items() if plain.devices.get(k) != v},
            {k: v for k, v in self.mounts.items() if k not in plain.mounts or k in named},
        )


def look(run: Callable[[str], str]) -> Seen:
    """What is seen there; `run` runs a shell script in the container and answers its output."""
    environ, devices, mounts = (part.split("\n") for part in run(LOOK).split("\n==\n"))
    return Seen(
        dict(item.split("=", 1) for item in "\n".join(environ).split("\0") if "=" in item),
        {name: (int(major, 16), int(minor, 16)) for name, major, minor in map(str.split, devices)},
        {
            at: Mounted(access, (int(device), int(inode)))
            for at, access, device, inode in map(str.split, filter(None, mounts))
        },
    )
