"""`elasticgpu new-provisioner`: what it writes passes the contract as it stands."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner, Result

from elasticgpu.api.gpuclass import ElasticGPUClass
from elasticgpu.cli.main import main

ROOT = Path(__file__).parents[2]


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In a directory where nothing is."""
    monkeypatch.chdir(tmp_path)


def write(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["new-provisioner", *arguments])


def test_what_it_writes_passes() -> None:
    """The package's own tests, run as its author would; nothing of it has to be changed."""
    done = write("gpu.example.org/night-shift")
    assert done.exit_code == 0, done.output
    package = Path("night-shift-provisioner")
    assert f"cd {package}\n" in done.output
    paths = os.pathsep.join([str(ROOT), str((package / "src").resolve())])
    ran = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:asyncio"],
        cwd=package,
        env={**os.environ, "PYTHONPATH": paths},
        capture_output=True,
        text=True,
        timeout=250,
        check=False,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert " passed" in ran.stdout


def test_its_files_agree() -> None:
    """Entry point, class and code have the name that was given; nothing is left to fill in."""
    assert write("slice", "--directory", "deep/down").exit_code == 0
    package = Path("deep/down")
    points = tomllib.loads((package / "pyproject.toml").read_text())["project"]["entry-points"]
    ((name, place),) = points["elasticgpu.provisioners"].items()
    assert (name, place) == ("example.com/slice", "slice_provisioner:SliceProvisioner")
    gpu_class = ElasticGPUClass.model_validate(yaml.safe_load((package / "class.yaml").read_text()))
    assert gpu_class.spec.provisioner == name
    code = (package / "src/slice_provisioner/__init__.py").read_text()
    assert f'name = "{name}"' in code
    assert "class SliceProvisioner(Provisioner)" in code
    assert not [file for file in package.rglob("*") if file.is_file() and "{{" in file.read_text()]


def test_what_is_there_stays() -> None:
    """A directory that exists is refused, and nothing in it changes."""
    Path("half-provisioner").mkdir()
    done = write("half")
    assert done.exit_code == 1
    assert "half-provisioner exists" in done.output
    assert list(Path("half-provisioner").iterdir()) == []


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("Half", "is none: write a domain of yours"),
        ("1st", "is none"),
        ("-x", "No such option"),
        ("a b", "is none"),
        ("a/b/c", "is none"),
        ("example.com/", "is none"),
        ("../up", "is none"),
        ("half-", "is none"),
        ("example.com/" + "x" * 60, "63 characters"),
        ("elasticgpu.io/half", "is not yours"),
        ("eu.elasticgpu.io/half", "is not yours"),
        ("", "is none"),
    ],
)
def test_bad_names(name: str, said: str) -> None:
    """What no class could name is refused in words, and nothing is written."""
    done = write(name)
    assert done.exit_code == 2
    assert said in done.output.replace("\n", " ")
    assert list(Path().iterdir()) == []


def test_a_place_that_cannot_be_written() -> None:
    """It says which file, and why."""
    Path("file").write_text("")
    done = write("half", "--directory", "file/below")
    assert done.exit_code == 1
    assert "cannot write file/below" in done.output
