"""CDI files: what a container runtime reads, and what it must never see."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from elasticgpu.agent.cdi import Folder, device_id, fault, spec
from elasticgpu.errors import Refused
from elasticgpu.provisioner import ContainerEdits, DeviceNode, Mount

UID = "5fd67a0e-2b3f-4d0c-9d7e-0a1b2c3d4e5f"
EVERYTHING = ContainerEdits(
    env=["A=1", "B=x=y"],
    device_nodes=[DeviceNode(path="/dev/nvidia0", host_path="/host/nvidia0", type="c", major=195)],
    mounts=[Mount(host_path="/run/x", container_path="/x", options=["ro", "bind"])],
)
ODD = Mount.model_validate({"hostPath": "/a", "containerPath": "/b", "x": 1})


def test_file(tmp_path: Path) -> None:
    """One file of CDI 0.5.0, named by vendor, class and uid, with one device named by the uid."""
    Folder(tmp_path).write(UID, EVERYTHING)
    (file,) = tmp_path.iterdir()
    assert file.name == f"elasticgpu.io-claim_{UID}.json"
    assert file.stat().st_mode & 0o777 == 0o644
    assert json.loads(file.read_text()) == {
        "cdiVersion": "0.5.0",
        "kind": "elasticgpu.io/claim",
        "devices": [
            {
                "name": UID,
                "containerEdits": {
                    "env": ["A=1", "B=x=y"],
                    "deviceNodes": [
                        {
                            "path": "/dev/nvidia0",
                            "hostPath": "/host/nvidia0",
                            "type": "c",
                            "major": 195,
                        }
                    ],
                    "mounts": [
                        {"hostPath": "/run/x", "containerPath": "/x", "options": ["ro", "bind"]}
                    ],
                },
            }
        ],
    }


def test_names_of_the_standard() -> None:
    """The qualified name is vendor, class and device as the standard spells them."""
    vendor, rest = device_id(UID).split("/")
    kind, device = rest.split("=")
    assert re.fullmatch(r"[A-Za-z][A-Za-z0-9_.-]*[A-Za-z0-9]", vendor)
    assert re.fullmatch(r"[A-Za-z][A-Za-z0-9_-]*[A-Za-z0-9]", kind)
    assert re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_.:-]*[A-Za-z0-9]", device)


def test_written_aside_in_the_same_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It appears by a rename inside the directory, from a name that no runtime reads."""
    renamed: list[tuple[Path, Path]] = []

    def rename(self: Path, target: Path) -> None:
        renamed.append((self, target))
        assert json.loads(self.read_text())

    monkeypatch.setattr(Path, "rename", rename)
    folder = Folder(tmp_path)
    folder.write(UID, EVERYTHING)
    ((aside, target),) = renamed
    assert aside.parent == target.parent == tmp_path
    assert aside.suffix not in (".json", ".yaml")
    assert folder.uids() == []
    folder.sweep()
    assert list(tmp_path.iterdir()) == []


def test_remove(tmp_path: Path) -> None:
    """Removing leaves other files alone, and can be done twice."""
    folder = Folder(tmp_path)
    folder.write(UID, EVERYTHING)
    folder.write("other", EVERYTHING)
    (tmp_path / "nvidia.json").write_text("{}")
    folder.remove(UID)
    folder.remove(UID)
    assert folder.uids() == ["other"]
    assert (tmp_path / "nvidia.json").exists()


@pytest.mark.parametrize("uid", ["", "../x", "a/b", ".hidden"])
def test_no_uid(tmp_path: Path, uid: str) -> None:
    """What is no plain name never becomes a path."""
    with pytest.raises(Refused, match="is no uid"):
        Folder(tmp_path).remove(uid)


@pytest.mark.parametrize("uid", ["", "a b", "-a", "a=b", "x" * 64])
def test_no_device_name(uid: str) -> None:
    """What the standard does not allow as a device's name is refused."""
    with pytest.raises(Refused, match="is no name for a CDI device"):
        spec(uid, EVERYTHING)


@pytest.mark.parametrize(
    ("edits", "said"),
    [
        (ContainerEdits(env=["A"]), "'A' is no NAME=value"),
        (ContainerEdits(env=["=1"]), "'' is no NAME=value"),
        (ContainerEdits(env=["A=\0"]), "'A' is no NAME=value"),
        (ContainerEdits(device_nodes=[DeviceNode(path="dev")]), "device node 'dev'"),
        (ContainerEdits(device_nodes=[DeviceNode(path="/d", type="x")]), "of type 'x'"),
        (ContainerEdits(mounts=[Mount(host_path="", container_path="/x")]), "paths begin with /"),
        (ContainerEdits.model_validate({"netDevices": []}), "unknown field netDevices"),
        (ContainerEdits(mounts=[ODD]), "unknown field x"),
        (EVERYTHING, None),
    ],
)
def test_fault(edits: ContainerEdits, said: str | None) -> None:
    """Edits that would make a runtime refuse the file are found before it is written."""
    found = fault(edits)
    assert found == said if said is None else said in (found or "")
