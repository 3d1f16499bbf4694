"""The node's container runtime: containerd, with all its state in the scratch folder."""

import os
import socket
from pathlib import Path

from tests.cluster.process import Process
from tests.cluster.site import Site

CNI_FOLDERS = ("/usr/lib/cni", "/opt/cni/bin", "/usr/libexec/cni")
_CONTAINERD = """version = 3
root = '{root}/containerd/root'
state = '{root}/containerd/state'
imports = []
disabled_plugins = ['io.containerd.nri.v1.nri', 'io.containerd.tracing.processor.v1.otlp']
[grpc]
address = '{root}/containerd.sock'
[ttrpc]
address = '{root}/containerd.ttrpc'
[plugins.'io.containerd.internal.v1.opt']
path = '{root}/containerd/opt'
[plugins.'io.containerd.shim.v1.manager']
socket_dir = '{root}/s'
[plugins.'io.containerd.metadata.v1.bolt']
no_sync = true
[plugins.'io.containerd.cri.v1.images']
snapshotter = '{snapshotter}'
pinned_images = {{ sandbox = 'localhost/pause:1' }}
[plugins.'io.containerd.cri.v1.runtime']
restrict_oom_score_adj = true
disable_hugetlb_controller = true
netns_mounts_under_state_dir = true
enable_cdi = true
cdi_spec_dirs = ['{root}/cdi']
[plugins.'io.containerd.cri.v1.runtime'.cni]
bin_dirs = {cni_folders}
conf_dir = '{root}/cni'
use_internal_loopback = true
[plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes.runc]
runtime_type = 'io.containerd.runc.v2'
runtime_path = '{shim}'
snapshotter = '{snapshotter}'
[plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes.runc.options]
SystemdCgroup = false
Root = '{root}/runc'
"""


def containerd(site: Site, binary: Path, shim: Path) -> Process:
    """The container runtime, with CDI, its own state and no NRI."""
    text = _CONTAINERD.format(
        root=site.root,
        shim=shim,
        snapshotter=_snapshotter(site.root),
        cni_folders=[path for path in CNI_FOLDERS if Path(path).is_dir()],
    )
    config = site.file("containerd.toml", text)
    argv: list[Path | str] = [binary, "--config", config, "--log-level", "info"]
    log = site.scratch.folder("logs") / "containerd.log"
    return Process("containerd", argv, log=log, on_start=site.scratch.process)


def accepts(path: Path) -> bool:
    """Whether somebody serves that unix socket."""
    with socket.socket(socket.AF_UNIX) as probe:
        probe.settimeout(5)
        try:
            probe.connect(str(path))
        except OSError:
            return False
        return True


def _snapshotter(root: Path) -> str:
    """overlayfs, unless the folder lies on an overlay itself: they do not stack."""
    lines = Path("/proc/self/mounts").read_text().splitlines()
    mounts = {line.split()[1]: line.split()[2] for line in lines}
    path = os.path.realpath(root)
    while path not in mounts:
        path = os.path.dirname(path)
    return "native" if mounts[path] == "overlay" else "overlayfs"
