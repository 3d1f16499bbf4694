"""The commands against a real API server and a scene that stands still: what a person sees.

`UPDATE_GOLDEN=1` writes the golden files anew.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.cluster import binaries
from tests.cluster.api import wait_for

from .conftest import Run
from .scene import OURS, Object, Scene

pytestmark = [
    pytest.mark.filterwarnings("ignore::DeprecationWarning:kubernetes_asyncio"),
    pytest.mark.usefixtures("scene"),
]
GOLDEN = Path(__file__).parent / "golden"
CHART = Path(__file__).parents[2] / "helm" / "elasticgpu"
DEVICES = f"{OURS}/elasticgpus"

SEEN = {
    "get": ("get", "-n", "team"),
    "get-wide": ("get", "claims", "-A", "-o", "wide"),
    "get-name": ("get", "egpuc", "-n", "team", "-o", "name"),
    "get-named": ("get", "claims", "train", "big", "-n", "team"),
    "get-some-missing": ("get", "claim/train", "claims/brain", "-n", "team"),
    "get-missing": ("get", "claim/trian", "-n", "team"),
    "get-elsewhere": ("get", "claim/train", "-n", "empty"),
    "get-none": ("get", "-n", "empty"),
    "get-nothing-like-it": ("get", "class/xyz"),
    "get-all-and-a-name": ("get", "claim/train", "-A"),
    "get-devices": ("get", "devices"),
    "get-devices-wide": ("get", "elasticgpus.elasticgpu.io", "-o", "wide"),
    "get-gpus": ("get", "gpus"),
    "get-gpus-wide": ("get", "cards", "-o", "wide"),
    "get-classes": ("get", "classes", "-o", "wide"),
    "get-templates": ("get", "templates", "-n", "team"),
    "tree": ("tree",),
    "tree-namespace": ("tree", "-n", "other"),
    "tree-node": ("tree", "--node", "node-2"),
    "tree-no-such-node": ("tree", "--node", "node-9"),
    "tree-json": ("tree", "-o", "json"),
    "why-without-room": ("why", "big", "-n", "team"),
    "why-json": ("why", "claim/big", "-n", "team", "-o", "json"),
    "why-unheard": ("why", "modest", "-n", "team"),
    "why-bound": ("why", "claim/train", "-n", "team"),
    "why-no-class": ("why", "astray", "-n", "team"),
    "why-lost": ("why", "lost", "-n", "team"),
    "why-ambiguous": ("why", "both", "-n", "team"),
    "why-refused": ("why", "claim/both", "-n", "team"),
    "why-pod-without-claims": ("why", "pod/both", "-n", "team"),
    "why-pod-running": ("why", "po/trainer", "-n", "team"),
    "why-pod-waits-for-a-pod": ("why", "next", "-n", "team"),
    "why-pod-waits-for-claims": ("why", "starved", "-n", "team"),
    "why-missing": ("why", "bog", "-n", "team"),
    "why-a-card": ("why", "gpu/x"),
    "release-bound": ("release", "egpu-train"),
    "release-failed": ("release", "egpu-made"),
    "release-dry-run": ("release", "--all-released", "--dry-run"),
    "release-dry-run-team": ("release", "--all-released", "--delete", "--dry-run", "-n", "team"),
    "release-none": ("release", "--all-released", "--yes", "-n", "empty"),
    "release-unconfirmed": ("release", "--all-released"),
    "release-some": ("release", "egpu-old-1", "egpu-train", "egpu-odd", "--dry-run"),
}  # fmt: skip


@pytest.mark.parametrize("name", SEEN)
def test_seen(elasticgpu: Run, scene: Scene, name: str) -> None:
    """What is printed, to the letter, where it is printed, and the exit code."""
    words = SEEN[name]
    done = elasticgpu(*words)
    whole = f"$ elasticgpu {' '.join(words)}\n{done.stdout}"
    whole += "".join(f"! {line}\n" for line in done.stderr.splitlines())
    whole += f"[exit code {done.exit_code}]\n"
    whole = whole.replace(scene.cluster.server, "https://server").replace(scene.now, "NOW")
    whole = re.sub(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", "UID", whole)
    file = GOLDEN / f"{name}.txt"
    if os.environ.get("UPDATE_GOLDEN"):
        file.write_text(whole)
    assert whole == file.read_text()


def test_every_golden_file_is_used() -> None:
    """None is left of a case that is gone."""
    assert {file.stem for file in GOLDEN.iterdir()} == set(SEEN)


@pytest.mark.parametrize(
    "words",
    [
        ("elasticgpuclaims", "-n", "team"),
        ("elasticgpuclaim", "train", "-n", "team"),
        ("elasticgpus", "egpu-old-1", "egpu-old-2"),
        ("gpus",),
        ("elasticgpuclasses", "batch"),
    ],
)
@pytest.mark.parametrize("output", ["json", "yaml"])
def test_as_kubectl_prints_it(
    elasticgpu: Run, scene: Scene, words: tuple[str, ...], output: str
) -> None:
    """JSON and YAML are kubectl's, to the letter."""
    theirs = scene.cluster.kubectl("get", *words, "-o", output)
    assert elasticgpu("get", *words, "-o", output).stdout == theirs


def test_nothing_is_written_by_asking(elasticgpu: Run, scene: Scene) -> None:
    """Whatever is asked, no object of ours changes; a dry run is no release either."""
    before = scene.api.writes(group="elasticgpu.io")
    for words in (("get",), ("tree",), ("why", "big", "-n", "team")):
        assert elasticgpu(*words).exit_code == 0
    assert elasticgpu("release", "--all-released", "--dry-run").exit_code == 0
    assert scene.api.writes(group="elasticgpu.io") == before


def test_why_reads_no_more_than_it_needs(elasticgpu: Run, scene: Scene) -> None:
    """A bound claim needs its own device, not all there are."""
    before = listed(scene)
    assert elasticgpu("why", "claim/train", "-n", "team").exit_code == 0
    assert listed(scene) == before
    assert elasticgpu("why", "claim/big", "-n", "team").exit_code == 0
    assert listed(scene) == before + 2


def listed(scene: Scene) -> int:
    """How often all devices or all cards were read."""
    return sum(
        count
        for request, count in scene.api.metrics().items()
        if request.verb == "LIST" and request.resource in ("elasticgpus", "gpus")
    )


def spare(scene: Scene, name: str, claim: Object | None = None) -> Object:
    """A Released device of the test's own."""
    spec = {
        "capacity": {"elasticgpu.io/gpu-core": 1, "elasticgpu.io/gpu-memory": "1Gi"},
        "elasticGPUClassName": "shares",
        "reclaimPolicy": "Retain",
        "nodeName": "node-1",
        "claimRef": claim or {"namespace": "spare", "name": name, "uid": f"gone-{name}"},
        "source": {
            "driver": "elasticgpu.io/qgpu",
            "devices": [{"gpu": "node-1-a10-1", "core": 1, "memory": "1Gi"}],
        },
    }
    return scene.put(
        {
            "apiVersion": "elasticgpu.io/v1alpha1",
            "kind": "ElasticGPU",
            "metadata": {
                "name": name,
                "annotations": {"elasticgpu.io/bound-by-controller": "yes", "keep": "me"},
                "finalizers": ["elasticgpu.io/device-protection"],
            },
            "spec": spec,
            "status": {"phase": "Released"},
        }
    )


@pytest.fixture
def spares(scene: Scene) -> Iterator[list[str]]:
    """Two of them; a third, if the test makes it, goes as well."""
    names = ["egpu-spare-1", "egpu-spare-2"]
    for name in names:
        spare(scene, name)
    yield names
    for name in (*names, "egpu-spare-3"):
        scene.remove(f"{DEVICES}/{name}")


def test_release(elasticgpu: Run, scene: Scene, spares: list[str]) -> None:
    """The claimRef and its mark go, the rest stays; a second time there is nothing to do."""
    done = elasticgpu("release", *spares)
    assert done.stdout == "elasticgpu egpu-spare-1 released\nelasticgpu egpu-spare-2 released\n"
    for name in spares:
        device = scene.api.get(f"{DEVICES}/{name}")
        assert "claimRef" not in device["spec"]
        assert device["metadata"]["annotations"] == {"keep": "me"}
        assert device["status"]["phase"] == "Released"
    again = elasticgpu("release", spares[0])
    assert (again.exit_code, again.stdout) == (1, "")
    assert "it was given back already" in again.stderr


def test_release_all_of_a_namespace(elasticgpu: Run, scene: Scene, spares: list[str]) -> None:
    """Only those that its claims left; --yes asks nothing and shows nothing else."""
    done = elasticgpu("release", "--all-released", "-n", "spare", "--delete", "--yes")
    assert (done.exit_code, done.stderr) == (0, "")
    assert done.stdout == "elasticgpu egpu-spare-1 deleted\nelasticgpu egpu-spare-2 deleted\n"
    for name in spares:
        assert "deletionTimestamp" in scene.api.get(f"{DEVICES}/{name}")["metadata"]
    assert scene.api.get(f"{DEVICES}/egpu-old-1")["spec"]["claimRef"]["name"] == "old-1"


def test_release_of_what_the_node_has(elasticgpu: Run, scene: Scene, spares: list[str]) -> None:
    """A container may still use it: neither freed nor deleted."""
    path = f"{DEVICES}/{spares[0]}/status"
    scene.api.patch(path, {"status": {"preparedFor": ["uid-of-a-pod"]}})
    for words in ((), ("--delete",)):
        done = elasticgpu("release", spares[0], *words)
        assert done.exit_code == 1
        assert "node node-1 still has it ready for the pods with uid uid-of-a-pod" in done.stderr
    assert scene.api.get(f"{DEVICES}/{spares[0]}")["spec"]["claimRef"]["name"] == spares[0]


@pytest.mark.usefixtures("spares")
def test_release_of_what_a_claim_has(elasticgpu: Run, scene: Scene) -> None:
    """Not the phase decides, but whether the claim with that uid is there."""
    uid = scene.uids["ElasticGPUClaim/train"]
    spare(scene, "egpu-spare-3", {"namespace": "team", "name": "train", "uid": uid})
    done = elasticgpu("release", "egpu-spare-3", "--delete")
    assert done.exit_code == 1
    assert "it belongs to ElasticGPUClaim team/train, which exists" in done.stderr
    assert "deletionTimestamp" not in scene.api.get(f"{DEVICES}/egpu-spare-3")["metadata"]


@pytest.mark.usefixtures("spares")
def test_release_of_a_name_that_another_claim_has(elasticgpu: Run, scene: Scene) -> None:
    """A claim made anew under the old one's name does not keep the old one's device."""
    spare(scene, "egpu-spare-3", {"namespace": "team", "name": "train", "uid": "an-older-one"})
    assert elasticgpu("release", "egpu-spare-3").exit_code == 0


def test_release_meets_another_writer(
    elasticgpu: Run, scene: Scene, spares: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who writes in between is noticed: everything is looked at again."""
    from elasticgpu.rules import recycling

    decide, writers = recycling.decide, ["somebody", "somebody else"]

    def meanwhile(*args: Any, **more: Any) -> recycling.Decision:
        if writers:
            note = {"metadata": {"annotations": {"by": writers.pop()}}}
            scene.api.patch(f"{DEVICES}/{spares[0]}", note)
        return decide(*args, **more)

    monkeypatch.setattr(recycling, "decide", meanwhile)
    assert elasticgpu("release", spares[0]).exit_code == 0
    assert writers == []
    annotations = scene.api.get(f"{DEVICES}/{spares[0]}")["metadata"]["annotations"]
    assert annotations == {"keep": "me", "by": "somebody"}


def test_release_asks(
    elasticgpu: Run, scene: Scene, spares: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a terminal, for several; no is no, and exit code 130 like Ctrl-C."""
    from click.testing import _NamedTextIOWrapper

    monkeypatch.setattr(_NamedTextIOWrapper, "isatty", lambda self: True, raising=False)
    done = elasticgpu("release", *spares, stdin="n\n")
    assert done.exit_code == 130
    assert "Give back 2 devices? [y/N]: " in done.stderr
    assert "claimRef" in scene.api.get(f"{DEVICES}/{spares[0]}")["spec"]
    done = elasticgpu("release", "--all-released", "-n", "spare", stdin="y\n")
    assert done.exit_code == 0
    assert [line.split()[0] for line in done.stderr.splitlines()[:3]] == ["NAME", *spares]
    assert "claimRef" not in scene.api.get(f"{DEVICES}/{spares[0]}")["spec"]


@pytest.fixture(scope="module")
def roles(scene: Scene) -> None:
    """The chart's roles for people, as helm renders them."""
    text = scene.cluster.helm(
        "template", "elasticgpu", str(CHART), "--show-only", "templates/user-roles.yaml"
    )
    scene.cluster.kubectl("apply", "-f", "-", input=text)

    def aggregated() -> bool:
        role = scene.api.get("/apis/rbac.authorization.k8s.io/v1/clusterroles/view")
        return any("elasticgpu.io" in rule.get("apiGroups", []) for rule in role["rules"])

    wait_for(aggregated, 60, "the role `view` with our kinds")


def someone(scene: Scene, name: str, *bindings: tuple[str, str]) -> Path:
    """A user with these roles: (role, namespace), the namespace empty for the whole cluster."""
    for role, namespace in bindings:
        kind = "rolebinding" if namespace else "clusterrolebinding"
        where = ["-n", namespace] if namespace else []
        scene.cluster.kubectl(
            "create", kind, f"{name}-{role}", f"--clusterrole={role}", f"--user={name}", *where
        )
    return scene.cluster.site.kubeconfig(name, name)


@pytest.mark.usefixtures("roles")
def test_who_may_read_a_namespace_only(elasticgpu: Run, scene: Scene) -> None:
    """`view` of one namespace: its claims, and why they wait, in the controller's words."""
    ann = someone(scene, "ann", ("view", "team"))

    def allowed() -> bool:
        return elasticgpu("get", "-n", "team", kubeconfig=ann).exit_code == 0

    wait_for(allowed, 60, "the binding in force")
    refused = elasticgpu("tree", "-n", "team", kubeconfig=ann)
    assert refused.exit_code == 1
    assert 'User "ann" cannot list resource "gpus"' in refused.stderr
    assert "names the role that is needed" in refused.stderr
    why = elasticgpu("why", "claim/big", "-n", "team", kubeconfig=ann)
    assert why.exit_code == 0
    assert "  No card can.\n" in why.stdout
    assert "  Cards and devices were not looked at: " in why.stdout
    pod = elasticgpu("why", "pod/trainer", "-n", "team", kubeconfig=ann)
    assert pod.exit_code == 0
    assert "  It uses ElasticGPUClaim train.\n" in pod.stdout
    assert "  Its device was not looked at: " in pod.stdout


@pytest.mark.usefixtures("roles")
def test_who_may_also_read_the_cluster(elasticgpu: Run, scene: Scene) -> None:
    """With the chart's reader role everything but other namespaces' claims is answered."""
    bob = someone(scene, "bob", ("view", "team"), ("elasticgpu-reader", ""))

    def allowed() -> bool:
        tree = elasticgpu("tree", "-n", "team", kubeconfig=bob)
        return tree.exit_code == 0 and tree.stdout == elasticgpu("tree", "-n", "team").stdout

    wait_for(allowed, 60, "the bindings in force")
    whole = elasticgpu("tree", kubeconfig=bob)
    assert whole.exit_code == 0
    assert "team/train" in whole.stdout
    assert whole.stderr.startswith("Pods and waiting claims are left out: ")
    for name in ("big", "starved"):
        words = ("why", name, "-n", "team")
        assert elasticgpu(*words, kubeconfig=bob).stdout == elasticgpu(*words).stdout
    refused = elasticgpu("release", "egpu-old-1", kubeconfig=bob)
    assert refused.exit_code == 1
    assert "elasticgpuclaims" in refused.stderr or "cannot update" in refused.stderr


@pytest.mark.usefixtures("roles")
def test_who_may_view_the_whole_cluster(elasticgpu: Run, scene: Scene) -> None:
    """The built-in `view` for all namespaces: all but the state of nodes."""
    eve = someone(scene, "eve", ("view", ""))
    wait_for(lambda: elasticgpu("tree", kubeconfig=eve).exit_code == 0, 60, "the binding in force")
    assert elasticgpu("tree", kubeconfig=eve).stdout == elasticgpu("tree").stdout
    words = ("why", "claim/big", "-n", "team")
    said = elasticgpu(*words, kubeconfig=eve).stdout.splitlines()
    note = [line for line in said if "Whether the nodes are in order was not looked at" in line]
    assert len(note) == 1
    said.remove(note[0])
    assert said == elasticgpu(*words).stdout.splitlines()


@pytest.mark.usefixtures("roles")
def test_who_operates(elasticgpu: Run, scene: Scene, spares: list[str]) -> None:
    """The chart's operator role is what `release` needs."""
    joe = someone(scene, "joe", ("elasticgpu-operator", ""))

    def allowed() -> bool:
        return elasticgpu("release", spares[0], "--dry-run", kubeconfig=joe).exit_code == 0

    wait_for(allowed, 60, "the binding in force")
    assert elasticgpu("release", spares[0], kubeconfig=joe).exit_code == 0
    assert elasticgpu("release", spares[1], "--delete", kubeconfig=joe).exit_code == 0


def test_as_a_plugin_of_kubectl(scene: Scene) -> None:
    """`kubectl elasticgpu …`, found on the PATH, is the same."""
    kubectl = binaries.find("kubectl")
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    env = {**os.environ, "PATH": path, "KUBECONFIG": str(scene.cluster.kubeconfig)}

    def run(*words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [kubectl, "elasticgpu", *words], env=env, capture_output=True, text=True, check=False
        )

    done = run("get", "claims", "-n", "team", "-o", "json")
    assert (done.returncode, done.stderr) == (0, "")
    assert len(json.loads(done.stdout)["items"]) == 6
    assert run("release").returncode == 2
