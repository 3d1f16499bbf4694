#!/bin/sh
# Installs what the tests against a real Kubernetes need of the system (Debian, Ubuntu).
#
#   runc                          starts the containers of the test node
#   bridge, host-local            CNI plugins: the network of its pods
#   busybox (static)              what runs in its containers
#   ip                            makes the bridge that the node's address is on
#
# All else is built from pinned Go modules (python -m tests.cluster.binaries; needs Go 1.26 or newer).
# Does nothing when everything is there. Run it as root.
set -eu

missing=""

need() { # PACKAGE TEST...: asks for the package unless the test succeeds
    package=$1
    shift
    if ! "$@" >/dev/null 2>&1; then
        missing="$missing $package"
    fi
}

has_plugins() {
    for folder in /usr/lib/cni /opt/cni/bin /usr/libexec/cni; do
        if [ -x "$folder/bridge" ] && [ -x "$folder/host-local" ]; then
            return 0
        fi
    done
    return 1
}

has_static_busybox() {
    for path in /bin/busybox /usr/bin/busybox /usr/bin/busybox-static; do
        # A dynamic program names its loader within the first page.
        if [ -x "$path" ] && ! head -c 4096 "$path" | grep -q "/ld-"; then
            return 0
        fi
    done
    return 1
}

need runc command -v runc
need containernetworking-plugins has_plugins
need busybox-static has_static_busybox
need iproute2 command -v ip

if [ -z "$missing" ]; then
    echo "test tools: all there"
    exit 0
fi
if ! command -v apt-get >/dev/null; then
    echo "test tools: please install$missing by this system's own means" >&2
    exit 1
fi
echo "test tools: installing$missing"
export DEBIAN_FRONTEND=noninteractive
apt-get update -qq
# shellcheck disable=SC2086 # a list of words
apt-get install -y -qq --no-install-recommends $missing
