"""What the chart makes: names, roles, policies' vocabulary, and the two workloads."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from elasticgpu.api import names
from elasticgpu.cli.main import main
from tests.chart.conftest import CHART, Object, Render, named

CRDS = Path(__file__).parents[2] / "crds"
FLEET = "nodes:\n  node-0: [{model: H200, count: 8}]\n"


def test_crd_copies_are_equal() -> None:
    """The chart's CRDs are the repository's; `make crds` copies them."""
    copies = CHART / "files" / "crds"
    assert {f.name: f.read_text() for f in copies.iterdir()} == {
        f.name: f.read_text() for f in CRDS.glob("*.yaml")
    }


def test_crds_survive_an_uninstall(render: Render) -> None:
    """Each CRD is installed as it was generated, and helm is told to keep it."""
    rendered = {o["metadata"]["name"]: o for o in kind(render(), "CustomResourceDefinition")}
    originals = [yaml.safe_load(f.read_text()) for f in CRDS.glob("*.yaml")]
    assert set(rendered) == {o["metadata"]["name"] for o in originals}
    for original in originals:
        crd = rendered[original["metadata"]["name"]]
        assert crd["metadata"].pop("annotations") == {
            **original["metadata"].pop("annotations", {}),
            "helm.sh/resource-policy": "keep",
        }
        assert crd == original


def kind(objects: list[Object], *kinds: str) -> list[Object]:
    """Objects of these kinds."""
    return [one for one in objects if one["kind"] in kinds]


NAMES = {
    "ClusterRole/elasticgpu-agent",
    "ClusterRole/elasticgpu-controller",
    "ClusterRoleBinding/elasticgpu-agent",
    "ClusterRoleBinding/elasticgpu-controller",
    "DaemonSet/elasticgpu-agent",
    "Deployment/elasticgpu-controller",
    "DeviceClass/elasticgpu.io",
    "MutatingAdmissionPolicy/elasticgpu-pods",
    "MutatingAdmissionPolicyBinding/elasticgpu-pods",
    "ClusterRole/elasticgpu-edit",
    "ClusterRole/elasticgpu-operator",
    "ClusterRole/elasticgpu-reader",
    "ClusterRole/elasticgpu-view",
    "Role/elasticgpu-controller",
    "RoleBinding/elasticgpu-controller",
    "ServiceAccount/elasticgpu-agent",
    "ServiceAccount/elasticgpu-controller",
    "ValidatingAdmissionPolicy/elasticgpu-agent",
    "ValidatingAdmissionPolicy/elasticgpu-new-pods",
    "ValidatingAdmissionPolicy/elasticgpu-pod-edits",
    "ValidatingAdmissionPolicy/elasticgpu-pod-typos",
    "ValidatingAdmissionPolicy/elasticgpu-resourceclaims",
    "ValidatingAdmissionPolicy/elasticgpu-resourceclaims-status",
    "ValidatingAdmissionPolicyBinding/elasticgpu-agent",
    "ValidatingAdmissionPolicyBinding/elasticgpu-new-pods",
    "ValidatingAdmissionPolicyBinding/elasticgpu-pod-edits",
    "ValidatingAdmissionPolicyBinding/elasticgpu-pod-typos",
    "ValidatingAdmissionPolicyBinding/elasticgpu-resourceclaims",
    "ValidatingAdmissionPolicyBinding/elasticgpu-resourceclaims-status",
}


def test_names(render: Render) -> None:
    """A release called elasticgpu makes exactly these objects beside the CRDs."""
    assert titles(render("crds.install=false")) == NAMES


def test_names_of_another_release(render: Render) -> None:
    """Another release has its own names, but for the accounts and the DeviceClass."""
    other = titles(render("crds.install=false", release="second"))
    fixed = {n for n in NAMES if n.startswith(("ServiceAccount/", "DeviceClass/"))}
    assert other == {n if n in fixed else n.replace("/", "/second-") for n in NAMES}


def titles(objects: list[Object]) -> set[str]:
    """`kind/name` of each."""
    return {f"{one['kind']}/{one['metadata']['name']}" for one in objects}


@pytest.mark.parametrize(
    ("value", "gone"),
    [
        ("crds.install", "CustomResourceDefinition"),
        ("deviceClass.install", "DeviceClass"),
        ("admission.install", "AdmissionPolicy"),
        ("rbac.create", "Role"),
        ("controller.enabled", "Deployment"),
        ("agent.enabled", "DaemonSet"),
        ("controller.serviceAccount.create", "ServiceAccount/elasticgpu-controller"),
        ("agent.serviceAccount.create", "ServiceAccount/elasticgpu-agent"),
    ],
)
def test_gates(render: Render, value: str, gone: str) -> None:
    """A gate takes away what it names and nothing else."""
    before, after = titles(render()), titles(render(f"{value}=false"))
    assert before - after == {title for title in before if gone in title}


def test_bindings_lead_somewhere(render: Render) -> None:
    """Each binding names a policy or role of the release, each subject an account of it."""
    objects = render("agent.serviceAccount.name=a", "controller.serviceAccount.name=c")
    made = titles(objects)
    for one in kind(objects, "ClusterRoleBinding", "RoleBinding"):
        assert f"{one['roleRef']['kind']}/{one['roleRef']['name']}" in made
        for subject in one["subjects"]:
            assert f"ServiceAccount/{subject['name']}" in made
            assert subject["namespace"] == "gpu"
    for one in objects:
        if one["kind"].endswith("PolicyBinding"):
            assert f"{one['kind'].removesuffix('Binding')}/{one['spec']['policyName']}" in made
    for workload, account in (("Deployment", "c"), ("DaemonSet", "a")):
        assert pod_of(named(objects, workload))["serviceAccountName"] == account
    policy = named(objects, "ValidatingAdmissionPolicy", "elasticgpu-agent")
    assert "'system:serviceaccount:gpu:a'" in policy["spec"]["matchConditions"][0]["expression"]


def test_least_privilege(render: Render) -> None:
    """No rule has a wildcard, reads secrets, runs commands, or hands out rights."""
    for role in kind(render(), "ClusterRole", "Role"):
        for rule in role["rules"]:
            assert set(rule) == {"apiGroups", "resources", "verbs"}
            words = {*rule["apiGroups"], *rule["resources"], *rule["verbs"]}
            assert not any("*" in word for word in words), rule
            assert not words & {"secrets", "pods/exec", "serviceaccounts/token", "nodes/proxy"}
            assert not words & {"impersonate", "escalate", "bind", "deletecollection"}
            assert "rbac.authorization.k8s.io" not in words


def test_the_controller_writes_no_pod_or_node(render: Render) -> None:
    """Of pods it may only patch, of nodes and templates only read; the agent reads both."""
    objects = render()
    controller = rights(named(objects, "ClusterRole", "elasticgpu-controller"))
    assert controller["pods"] == {"get", "list", "watch", "patch"}
    assert controller["nodes"] == {"get", "list", "watch"}
    assert "update" not in controller["resourceclaimtemplates"]
    assert "leases" not in controller
    agent = rights(named(objects, "ClusterRole", "elasticgpu-agent"))
    assert agent["pods"] == agent["nodes"] == agent["resourceclaims"] == {"get"}
    assert agent["elasticgpus"] == {"get", "list", "watch", "update"}


def rights(role: Object) -> dict[str, set[str]]:
    """Per resource, its verbs."""
    found: dict[str, set[str]] = {}
    for rule in role["rules"]:
        for resource in rule["resources"]:
            found.setdefault(resource, set()).update(rule["verbs"])
    return found


def test_policies_speak_the_librarys_names(render: Render) -> None:
    """Annotations, prefixes, label and finalizer are those of `elasticgpu.api.names`."""
    objects = render()
    for policy in ("MutatingAdmissionPolicy", "ValidatingAdmissionPolicy"):
        name = "elasticgpu-pods" if policy.startswith("M") else "elasticgpu-new-pods"
        spec = named(objects, policy, name)["spec"]
        variables = {v["name"]: v["expression"] for v in spec["variables"]}
        assert yaml.safe_load(variables["forms"]) == {
            names.CLAIM_ANNOTATION: names.CLAIM_TEMPLATE_PREFIX,
            names.OLD_CLAIM_ANNOTATION: names.CLAIM_TEMPLATE_PREFIX,
            names.TEMPLATE_ANNOTATION: names.TEMPLATE_TEMPLATE_PREFIX,
        }
        for prefix in (
            names.CLAIM_ANNOTATION,
            names.OLD_CLAIM_ANNOTATION,
            names.TEMPLATE_ANNOTATION,
        ):
            assert f"key.startsWith('{prefix}')" in spec["matchConditions"][0]["expression"]
    pods = str(named(objects, "MutatingAdmissionPolicy"))
    assert f"'{names.PODS_LABEL}': 'true'" in pods
    assert f"'{names.ENTRY_PREFIX}' + string(n)" in pods
    agent = str(named(objects, "ValidatingAdmissionPolicy", "elasticgpu-agent"))
    assert f"f != '{names.NODE_FINALIZER}'" in agent
    assert named(objects, "DeviceClass")["metadata"]["name"] == names.DRIVER


def test_policies_fail_closed_and_ask_little(render: Render) -> None:
    """A policy that breaks refuses, and each says first whom it concerns."""
    for one in kind(render(), "MutatingAdmissionPolicy", "ValidatingAdmissionPolicy"):
        assert one["spec"]["failurePolicy"] == "Fail"
        assert one["spec"]["matchConditions"]


def pod_of(workload: Object) -> Any:
    """The pod's spec inside a workload."""
    return workload["spec"]["template"]["spec"]


def test_controller(render: Render) -> None:
    """It runs as nobody, on a read-only disk, without any capability."""
    deployment = named(render("controller.replicas=2"), "Deployment")
    assert deployment["spec"]["replicas"] == 2
    pod = pod_of(deployment)
    assert pod["securityContext"]["runAsNonRoot"]
    assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    (container,) = pod["containers"]
    assert container["args"] == [
        "controller", "--leader-elect", "--namespace=$(POD_NAMESPACE)", "--health-port=8081",
    ]  # fmt: skip
    assert container["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
    assert container["livenessProbe"]["httpGet"] == {"path": "/livez", "port": "health"}
    assert container["readinessProbe"]["httpGet"] == {"path": "/readyz", "port": "health"}
    assert container["ports"] == [{"name": "health", "containerPort": 8081}]
    assert "volumes" not in pod


def test_agent(render: Render) -> None:
    """It is told where the kubelet and the runtime look, and mounts exactly that."""
    sets = ("agent.kubeletDir=/data/kubelet", "agent.hostDirs[0]=/usr/local/vgpu")
    pod = pod_of(named(render(*sets), "DaemonSet"))
    (container,) = pod["containers"]
    assert container["args"] == [
        "agent", "--node-name=$(NODE_NAME)", "--kubelet-dir=/data/kubelet",
        "--cdi-dir=/var/run/cdi", "--state-dir=/var/lib/elasticgpu",
        "--run-dir=/run/elasticgpu", "--health-port=8081",
    ]  # fmt: skip
    assert container["securityContext"]["privileged"]
    assert container["securityContext"]["readOnlyRootFilesystem"]
    hosts = {v["name"]: v["hostPath"]["path"] for v in pod["volumes"] if "hostPath" in v}
    mounts = {m["name"]: m["mountPath"] for m in container["volumeMounts"] if m["name"] in hosts}
    assert hosts == mounts
    assert set(hosts.values()) == {
        "/data/kubelet/plugins", "/data/kubelet/plugins_registry", "/var/run/cdi",
        "/var/lib/elasticgpu", "/run/elasticgpu", "/usr/local/vgpu",
    }  # fmt: skip
    (run,) = (m for m in container["volumeMounts"] if m["name"] == "run")
    assert run["mountPropagation"] == "Bidirectional"
    assert not pod["hostPID"]
    assert not pod["hostNetwork"]


def test_simulated_agent(render: Render, tmp_path: Path) -> None:
    """A fleet text reaches the agent word for word, and pretended cards need no privilege."""
    values = tmp_path / "values.yaml"
    values.write_text(yaml.safe_dump({"agent": {"simulate": FLEET}}))
    objects = render(values=str(values))
    assert named(objects, "ConfigMap")["data"] == {"fleet.yaml": FLEET}
    pod = pod_of(named(objects, "DaemonSet"))
    (container,) = pod["containers"]
    assert "--simulate=/etc/elasticgpu/fleet.yaml" in container["args"]
    assert "privileged" not in container["securityContext"]
    assert container["securityContext"]["capabilities"] == {"drop": ["ALL"]}
    assert not any("mountPropagation" in mount for mount in container["volumeMounts"])
    assert not any(e["name"].startswith("NVIDIA") for e in container["env"])
    volume = next(v for v in pod["volumes"] if v["name"] == "fleet")
    assert volume["configMap"]["name"] == named(objects, "ConfigMap")["metadata"]["name"]


@pytest.mark.parametrize("workload", ["Deployment", "DaemonSet"])
def test_the_program_knows_its_arguments(render: Render, tmp_path: Path, workload: str) -> None:
    """What the chart writes behind `elasticgpu` is what the command line takes."""
    fleet = tmp_path / "fleet.yaml"
    fleet.write_text(FLEET)
    (container,) = pod_of(named(render("agent.simulate=x"), workload))["containers"]
    command, *words = container["args"]
    words = [word.replace("/etc/elasticgpu/fleet.yaml", str(fleet)) for word in words]
    assert main.commands[command].make_context(command, words).params["health_port"] == 8081


def test_another_fleet_restarts_the_agents(render: Render) -> None:
    """A changed fleet changes the pods, an unchanged one does not."""
    one, same, two = (
        named(render(f"agent.simulate={text}"), "DaemonSet")["spec"]["template"]
        for text in ("a", "a", "b")
    )
    assert one == same != two


@pytest.mark.parametrize("workload", ["Deployment", "DaemonSet"])
def test_common_values(render: Render, workload: str) -> None:
    """Image, address of the API server, further arguments and placement reach both."""
    part = "controller" if workload == "Deployment" else "agent"
    sets = (
        "image.repository=mirror/elasticgpu", "image.tag=v9", "image.pullPolicy=Never",
        "image.pullSecrets[0].name=pull",
        "kubernetesServiceHost=10.1.2.3", "kubernetesServicePort=6443",
        f"{part}.extraArgs[0]=--verbose", f"{part}.extraEnv[0].name=A",
        f"{part}.extraEnv[0].value=b", f"{part}.nodeSelector.gpu=yes", f"{part}.hostNetwork=true",
        f"{part}.tolerations[0].key=spot", f"{part}.priorityClassName=low",
        f"{part}.healthPort=9000", f"{part}.podLabels.team=x", f"{part}.podAnnotations.note=y",
        f"{part}.affinity.nodeAffinity.x=y", f"{part}.resources.limits.memory=1Gi",
    )  # fmt: skip
    found = named(render(*sets), workload)
    pod = pod_of(found)
    (container,) = pod["containers"]
    assert container["image"] == "mirror/elasticgpu:v9"
    assert container["imagePullPolicy"] == "Never"
    assert pod["imagePullSecrets"] == [{"name": "pull"}]
    environment = {e["name"]: e.get("value") for e in container["env"]}
    assert environment["KUBERNETES_SERVICE_HOST"] == "10.1.2.3"
    assert environment["KUBERNETES_SERVICE_PORT"] == "6443"
    assert environment["A"] == "b"
    assert len(environment) == len(container["env"]), "no name twice: server-side apply"
    assert container["args"][-2:] == ["--health-port=9000", "--verbose"]
    assert container["ports"][0]["containerPort"] == 9000
    assert container["resources"]["limits"] == {"memory": "1Gi"}
    assert pod["nodeSelector"] == {"gpu": "yes"}
    assert pod["tolerations"] == [{"key": "spot"}]
    assert pod["affinity"] == {"nodeAffinity": {"x": "y"}}
    assert pod["priorityClassName"] == "low"
    assert (pod["hostNetwork"], pod["dnsPolicy"]) == (True, "ClusterFirstWithHostNet")
    metadata = found["spec"]["template"]["metadata"]
    assert metadata["annotations"]["note"] == "y"
    assert metadata["labels"]["team"] == "x"
    assert metadata["labels"].items() >= found["spec"]["selector"]["matchLabels"].items()
