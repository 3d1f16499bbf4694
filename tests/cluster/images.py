"""Container images packed by hand, for no registry is in reach: OCI layouts in a tar.

- `localhost/pause:1` keeps a pod's sandbox.
- `localhost/busybox:1` runs the test containers. Its default command is `sleep 86400`, which as
  process 1 ignores SIGTERM: set `terminationGracePeriodSeconds: 1`, or run
  `sh -c 'trap "exit 0" TERM; sleep 86400 & wait'`. (0 would not do: the API server then forgets
  a deleted pod at once, while its container still runs.)
- `localhost/elasticgpu:VERSION` is the project itself: see `project_image.py`.
"""

import hashlib
import io
import json
import platform
import struct
import subprocess
import tarfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tests.cluster.layers import Layer

PAUSE = "localhost/pause:1"
BUSYBOX = "localhost/busybox:1"
SEARCH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
_BUSYBOX_PATHS = ("/bin/busybox", "/usr/bin/busybox", "/usr/bin/busybox-static")
_MEDIA = "application/vnd.oci.image"


@dataclass(frozen=True)
class Image:
    """Layers (uncompressed, as bytes or files) and how to run what is in them."""

    layers: Sequence[bytes | Path]
    entrypoint: Sequence[str] = ()
    command: Sequence[str] = ()
    env: Mapping[str, str] = field(default_factory=lambda: {"PATH": SEARCH})


def find_busybox() -> Path | None:
    """A statically linked busybox of this machine."""
    for path in map(Path, _BUSYBOX_PATHS):
        if path.is_file() and _is_static(path.read_bytes()):
            return path
    return None


def busybox() -> Path:
    """That busybox, or an error that says what to do."""
    found = find_busybox()
    if found is None:
        raise FileNotFoundError("no static busybox: run scripts/install-test-tools.sh")
    return found


def applets(program: Path) -> list[str]:
    """The programs that this busybox can be."""
    listing = subprocess.run(
        [program, "--list"], capture_output=True, text=True, timeout=20, check=True
    )
    return [name for name in listing.stdout.split() if name != "busybox"]


def pack_basic(out: Path) -> Path:
    """Both basic images in one tar."""
    buffer = io.BytesIO()
    with Layer(buffer) as layer:
        layer.system(busybox(), applets=applets(busybox()))
    content = buffer.getvalue()
    pause = Image([content], entrypoint=["/bin/busybox", "sleep", "2147483647"])
    return pack({PAUSE: pause, BUSYBOX: Image([content], command=["sleep", "86400"])}, out)


def pack(images: Mapping[str, Image], out: Path) -> Path:
    """Write images into one OCI tar."""
    temporary = out.with_name(out.name + ".new")
    with tarfile.open(temporary, "w") as archive:
        manifests = [_manifest(archive, name, image) for name, image in images.items()]
        index = {
            "schemaVersion": 2,
            "mediaType": f"{_MEDIA}.index.v1+json",
            "manifests": manifests,
        }
        _add(archive, "oci-layout", _json({"imageLayoutVersion": "1.0.0"}))
        _add(archive, "index.json", _json(index))
    return temporary.replace(out)


def _manifest(archive: tarfile.TarFile, name: str, image: Image) -> dict[str, object]:
    layers = [_blob(archive, data, f"{_MEDIA}.layer.v1.tar") for data in image.layers]
    settings = {
        "Entrypoint": list(image.entrypoint),
        "Cmd": list(image.command),
        "Env": [f"{key}={value}" for key, value in image.env.items()],
        "WorkingDir": "/",
    }
    config = {
        "architecture": {"x86_64": "amd64", "aarch64": "arm64"}[platform.machine()],
        "os": "linux",
        "config": settings,
        "rootfs": {"type": "layers", "diff_ids": [layer["digest"] for layer in layers]},
    }
    manifest = {
        "schemaVersion": 2,
        "mediaType": f"{_MEDIA}.manifest.v1+json",
        "config": _blob(archive, _json(config), f"{_MEDIA}.config.v1+json"),
        "layers": layers,
    }
    entry = _blob(archive, _json(manifest), f"{_MEDIA}.manifest.v1+json")
    return entry | {"annotations": {"io.containerd.image.name": name}}


def _blob(archive: tarfile.TarFile, data: bytes | Path, kind: str) -> dict[str, object]:
    if isinstance(data, bytes):
        digest, size = hashlib.sha256(data).hexdigest(), len(data)
    else:
        size = data.stat().st_size
        with data.open("rb") as stream:
            digest = hashlib.file_digest(stream, "sha256").hexdigest()
    name = f"blobs/sha256/{digest}"
    if name not in archive.getnames():
        _add(archive, name, data)
    return {"mediaType": kind, "digest": f"sha256:{digest}", "size": size}


def _add(archive: tarfile.TarFile, name: str, data: bytes | Path) -> None:
    entry = tarfile.TarInfo(name)
    if isinstance(data, bytes):
        entry.size = len(data)
        archive.addfile(entry, io.BytesIO(data))
    else:
        entry.size = data.stat().st_size
        with data.open("rb") as stream:
            archive.addfile(entry, stream)


def _json(value: object) -> bytes:
    return json.dumps(value, sort_keys=True).encode()


def _is_static(elf: bytes) -> bool:
    """Whether no program header asks for a loader (64-bit, little endian)."""
    pt_interp = 3
    start, size, number = (*struct.unpack_from("<Q", elf, 32), *struct.unpack_from("<HH", elf, 54))
    kinds = (struct.unpack_from("<I", elf, start + index * size)[0] for index in range(number))
    return pt_interp not in kinds
