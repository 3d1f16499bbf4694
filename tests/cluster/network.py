"""Addresses of the node and network of its pods, all on bridges of this fixture's own."""

import json
import socket
import subprocess
from pathlib import Path

from tests.cluster.leftovers import INTERFACE_MARK, is_ours, remove_interface
from tests.cluster.site import NODE_ADDRESS, POD_RANGE, SERVICE_ADDRESS, Site

NODE_BRIDGE = "egpu-node"
POD_BRIDGE = "egpu-pods"
_FORWARDING = Path("/proc/sys/net/ipv4/ip_forward")


class Taken(RuntimeError):
    """An interface or port that the cluster needs belongs to somebody else."""


def up(site: Site) -> None:
    """Make both bridges, give the node its addresses and write the CNI configuration."""
    for name in (NODE_BRIDGE, POD_BRIDGE):
        _free(name)
    state = site.scratch.state
    state.interfaces = [NODE_BRIDGE, POD_BRIDGE]
    state.sysctls = {str(_FORWARDING): _FORWARDING.read_text()}  # the bridge plugin turns it on
    site.scratch.save()
    for name in (NODE_BRIDGE, POD_BRIDGE):
        _ip("link", "add", "name", name, "type", "bridge")
        _ip("link", "set", name, "alias", INTERFACE_MARK)
    for address in (NODE_ADDRESS, SERVICE_ADDRESS):
        _ip("address", "add", f"{address}/32", "dev", NODE_BRIDGE)
    _ip("link", "set", NODE_BRIDGE, "up")
    _check_port(site)
    site.file("cni/10-pods.conflist", json.dumps(_pod_network(site)))


def _pod_network(site: Site) -> dict[str, object]:
    ranges = [[{"subnet": POD_RANGE}]]
    store = str(site.scratch.folder("cni-addresses"))
    addresses = {
        "type": "host-local",
        "ranges": ranges,
        "routes": [{"dst": "0.0.0.0/0"}],
        "dataDir": store,
    }
    bridge = {"type": "bridge", "bridge": POD_BRIDGE, "isGateway": True, "ipam": addresses}
    return {"cniVersion": "1.0.0", "name": POD_BRIDGE, "plugins": [bridge, {"type": "loopback"}]}


def _free(name: str) -> None:
    """Remove our own leftover of that name; refuse to touch anybody else's."""
    if not (Path("/sys/class/net") / name).exists():
        return
    if not is_ours(name):
        raise Taken(f"interface {name} exists and is not of a test cluster; remove or rename it")
    remove_interface(name)


def _check_port(site: Site) -> None:
    port = site.port("kube-apiserver")
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((site.address, port))
        except OSError as error:
            text = f"port {port} is taken on all addresses of this machine: {error}"
            raise Taken(text) from error


def _ip(*words: str) -> None:
    done = subprocess.run(["ip", *words], capture_output=True, text=True, timeout=20)
    if done.returncode:
        raise OSError(f"ip {' '.join(words)}: {done.stderr.strip()}")
