"""Programs are found where they are of the wanted version, and nowhere else."""

import re
from pathlib import Path

import pytest

from tests.cluster import binaries, gobuild, prerequisites


@pytest.fixture(autouse=True)
def _bare(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No program anywhere: each test puts there what it is about."""
    monkeypatch.setenv("PATH", str(tmp_path / "path"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("KUBEBUILDER_ASSETS", raising=False)
    monkeypatch.setattr(gobuild, "go_version", lambda: "1.26.0")


def _program(path: Path, output: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\necho '{output}'\n")
    path.chmod(0o755)
    return path


def test_the_wanted_version_on_path_is_taken(tmp_path: Path) -> None:
    """A kubelet of the pinned version is used where it is."""
    kubelet = _program(tmp_path / "path" / "kubelet", f"Kubernetes v{binaries.KUBERNETES}")
    assert binaries.present(binaries.tool("kubelet")) == kubelet


def test_another_version_on_path_is_not(tmp_path: Path) -> None:
    """A kubelet of some other version is passed over."""
    _program(tmp_path / "path" / "kubelet", "Kubernetes v1.20.1")
    assert binaries.present(binaries.tool("kubelet")) is None


def test_a_recent_kubectl_will_do(tmp_path: Path) -> None:
    """kubectl need not be of the server's very version, but not ancient either."""
    kubectl = _program(tmp_path / "path" / "kubectl", "Client Version: v1.33.0")
    assert binaries.present(binaries.tool("kubectl")) == kubectl


def test_an_ancient_kubectl_will_not(tmp_path: Path) -> None:
    """kubectl from before 1.30 is passed over."""
    _program(tmp_path / "path" / "kubectl", "Client Version: v1.20.0")
    assert binaries.present(binaries.tool("kubectl")) is None


def test_the_assets_folder_comes_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`KUBEBUILDER_ASSETS` wins over PATH."""
    text = f"etcd Version: {binaries.ETCD}"
    _program(tmp_path / "path" / "etcd", text)
    etcd = _program(tmp_path / "assets" / "etcd", text)
    monkeypatch.setenv("KUBEBUILDER_ASSETS", str(tmp_path / "assets"))
    assert binaries.present(binaries.tool("etcd")) == etcd


def test_the_cache_keeps_versions_apart(tmp_path: Path) -> None:
    """The older scheduler in the cache is not the standard one."""
    folder = f"{binaries.SCHEDULERS['1.35']}-go1.26.0"
    kept = tmp_path / "cache" / "elasticgpu" / "bin" / folder / "kube-scheduler"
    _program(kept, "")
    assert binaries.present(binaries.tool("kube-scheduler", "1.35")) == kept
    assert binaries.present(binaries.tool("kube-scheduler")) is None


def test_an_unknown_version_is_an_error() -> None:
    """A version that is not pinned names those that are."""
    with pytest.raises(LookupError, match=r"kube-scheduler@1\.35"):
        binaries.tool("kube-scheduler", "1.12")


@pytest.mark.parametrize(
    ("module", "package", "version"),
    [
        ("kubernetes", "k8s.io/kubernetes", binaries.KUBERNETES),
        ("kubernetes", "go.etcd.io/etcd/server/v3", binaries.ETCD),
        ("kubernetes", "helm.sh/helm/v4", binaries.HELM),
        ("containerd", "github.com/containerd/containerd/v2", binaries.CONTAINERD),
        ("scheduler-1.35", "k8s.io/kubernetes", binaries.SCHEDULERS["1.35"]),
    ],
)
def test_versions_agree_with_the_go_modules(module: str, package: str, version: str) -> None:
    """What is built is what is asked for."""
    text = (gobuild.MODULES / module / "go.mod").read_text()
    line = rf"^\s*(?:require )?{re.escape(package)} v{re.escape(version)}$"
    assert re.search(line, text, re.MULTILINE)


def test_what_is_missing_is_said_with_its_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    """A bare machine is told what to do, in words."""
    monkeypatch.setattr(gobuild, "go_version", lambda: None)
    missing = prerequisites.missing_prerequisites()
    assert any("no Go to build" in one and "kube-apiserver" in one for one in missing)
    assert any("no runc" in one and "scripts/install-test-tools.sh" in one for one in missing)
