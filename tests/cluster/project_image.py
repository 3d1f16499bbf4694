"""The project's own image, from its built wheel: what a cluster would run, without a registry.

Two layers. The lower one has this Python and the wheel's dependencies as they are installed here;
it is kept in a cache, for it seldom changes. The upper one has the wheel. Nothing is taken from the
project's source folder, so a file that is missing in the wheel is missing in the container.

An end-to-end test says

    wheel = build_wheel(folder)
    cluster.load_image(pack_project_image(wheel, folder / "image.tar"))

and uses `image_name(wheel)` with `imagePullPolicy: Never`.
"""

import compileall
import configparser
import hashlib
import importlib.util
import json
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Sequence
from email.message import Message
from email.parser import HeaderParser
from pathlib import Path

from tests.cluster import images
from tests.cluster.binaries import cache_folder
from tests.cluster.layers import Layer
from tests.cluster.python_files import (
    Dependencies,
    interpreter,
    shared_libraries,
    stdlib,
    stripped,
)

_ROOT = Path(__file__).parents[2]
SITE = "/opt/elasticgpu/site"
_BIN = "/opt/elasticgpu/bin"
_EXTRAS = ("agent", "fast")
_APPLETS = ("sh", "cat", "ls", "env", "sleep", "cp", "mkdir", "test", "true", "false", "nc")


def image_name(wheel: Path) -> str:
    """`localhost/elasticgpu:VERSION` for that wheel."""
    version = wheel.name.split("-")[1].replace("+", "-")
    return f"localhost/elasticgpu:{version}"


def build_wheel(folder: Path) -> Path:
    """The project's wheel, built from this checkout into that folder."""
    words = ["wheel", "--quiet", "--no-deps", "--disable-pip-version-check", "-w", str(folder)]
    if importlib.util.find_spec("hatchling"):
        words.append("--no-build-isolation")
    subprocess.run([sys.executable, "-m", "pip", *words, str(_ROOT)], timeout=300, check=True)
    [wheel] = folder.glob("elasticgpu-*.whl")
    return wheel


def pack_project_image(wheel: Path, out: Path, *, extras: Sequence[str] = _EXTRAS) -> Path:
    """Pack the wheel, its dependencies and this Python as an OCI tar."""
    requirements = _headers(wheel).get_all("Requires-Dist") or []
    dependencies = Dependencies.installed(requirements, extras)
    with tempfile.TemporaryDirectory(prefix="elasticgpu-image-") as name:
        upper = _project_layer(wheel, Path(name))
        image = images.Image(
            layers=[_python_layer(dependencies), upper],
            entrypoint=["/usr/local/bin/python", "-m", "elasticgpu"],
            env={"PATH": f"{_BIN}:{images.SEARCH}", "PYTHONPATH": SITE, "PYTHONUNBUFFERED": "1"},
        )
        return images.pack({image_name(wheel): image}, out)


def _headers(wheel: Path) -> Message:
    with zipfile.ZipFile(wheel) as archive:
        [name] = [one for one in archive.namelist() if one.endswith(".dist-info/METADATA")]
        return HeaderParser().parsestr(archive.read(name).decode())


def _python_layer(dependencies: Dependencies) -> Path:
    """The lower layer, from the cache if these very versions were packed before."""
    key = json.dumps([sys.version, str(interpreter()), dependencies.versions])
    digest = hashlib.sha256(key.encode()).hexdigest()[:16]
    layer = cache_folder().parent / "images" / f"python-{digest}.tar"
    if not layer.exists():
        layer.parent.mkdir(parents=True, exist_ok=True)
        temporary = layer.with_suffix(".new")
        _write_python(temporary, dependencies)
        temporary.replace(layer)
    return layer


def _write_python(out: Path, dependencies: Dependencies) -> None:
    library = list(stdlib())
    installed = list(dependencies.files())
    native = [source for _, source in library + installed if ".so" in source.suffixes]
    linked = [(str(path), path) for path in shared_libraries([interpreter(), *native])]
    with (
        tempfile.TemporaryDirectory(prefix="elasticgpu-strip-") as folder,
        out.open("wb") as stream,
        Layer(stream) as layer,
    ):
        layer.system(images.busybox(), applets=_APPLETS)
        for name in ("python", "python3"):
            layer.link(f"usr/local/bin/{name}", str(interpreter()))
        own = [(str(interpreter()), interpreter()), *linked, *library]
        layer.files((name, stripped(path, Path(folder))) for name, path in own)
        layer.files((f"{SITE}/{name}", path) for name, path in installed)


def _project_layer(wheel: Path, folder: Path) -> Path:
    site = folder / "site"
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(site)
    compileall.compile_dir(site, quiet=1, stripdir=str(site), prependdir=SITE)
    out = folder / "project.tar"
    with out.open("wb") as stream, Layer(stream) as layer:
        for path in sorted(site.rglob("*")):
            if path.is_file():
                layer.file(f"{SITE}/{path.relative_to(site)}", path)
        for name, target in _scripts(site).items():
            layer.text(f"{_BIN}/{name}", _script(target), mode=0o755)
    shutil.rmtree(site)
    return out


def _scripts(site: Path) -> dict[str, str]:
    """The wheel's console scripts: name and `module:function`."""
    parser = configparser.ConfigParser(delimiters=("=",))
    for file in site.glob("*.dist-info/entry_points.txt"):
        parser.read_string(file.read_text())
    return dict(parser["console_scripts"]) if parser.has_section("console_scripts") else {}


def _script(target: str) -> str:
    module, _, function = target.partition(":")
    lines = ["import sys", f"from {module} import {function}", f"sys.exit({function}())", ""]
    return "\n".join(["#!/usr/local/bin/python", *lines])
