"""The commands of examples/03, and one look at everything while its pods run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.cases.backends.given import Given
from tests.cases.backends.promises import ALONE, TOGETHER, Use
from tests.cases.backends.seen import Seen, look
from tests.cases.case import OURS, Case
from tests.cluster.api import wait_for

Object = dict[str, Any]
EXAMPLE = Path(__file__).parents[3] / "examples" / "03-all-backends"
LABEL, APPLY, WAIT, GET, DELETE = (
    line.removeprefix("kubectl ").replace("NODE", "node-0").replace("-f .", f"-f {EXAMPLE}").split()
    for line in (EXAMPLE / "README.md").read_text().splitlines()
    if line.startswith("kubectl ") and not line.startswith("kubectl exec")
)
"""The README's five commands."""


@dataclass(frozen=True)
class World:
    """What the API server said and what was seen in the containers while all pods ran."""

    claims: Mapping[str, Object]
    devices: Mapping[str, Object]
    cards: Mapping[str, Object]
    seen: Mapping[tuple[str, str], Seen]
    """By pod and container."""
    promised: Mapping[Use, Seen]
    told: list[str]
    """What the stand-in of the MPS daemon was told."""
    shown: str
    """What `kubectl get` printed."""
    events: list[str]
    """What was said of the namespace's objects."""

    def device(self, claim: str) -> Object:
        """The device of a claim."""
        return self.devices[self.claims[claim]["spec"]["elasticGPUName"]]

    def compare(self, use: Use) -> Seen:
        """Assert that a container sees what is promised and nothing else; what it saw."""
        promised = self.promised[use]
        plain = self.seen["two-in-one-pod", "plain"]
        seen = self.seen[use.pod, use.container].beside(plain, promised.mounts)
        assert promised.env == seen.env
        assert promised.devices == seen.devices
        assert promised.mounts == seen.mounts
        return seen


def do(case: Case, words: list[str], *more: str) -> str:
    """Run a command of the README in the case's namespace; its output."""
    return case.cluster.kubectl(*words, "-n", case.namespace, *more, timeout=150)


def observed(case: Case) -> World:
    """Look at everything once."""
    shown = do(case, GET)
    pods = case.api.list(case.pod_path())
    claims = {o["metadata"]["name"]: o for o in case.api.list(case.claim_path())}
    devices = {o["metadata"]["name"]: o for o in case.api.list(f"{OURS}/elasticgpus")}
    cards = served(case)
    boxes = [(p["metadata"]["name"], c["name"]) for p in pods for c in p["spec"]["containers"]]
    seen = {(pod, box): look_into(case, pod, box) for pod, box in boxes}
    run_dir = case.ours.root / "agent-node-0" / "run"

    def promised(use: Use) -> Seen:
        device = devices[claims[use.claim]["spec"]["elasticGPUName"]]
        named = (part["gpu"] for part in device["spec"]["source"]["devices"])
        mine = tuple(cards[name] for name in named if name in cards)
        return use.promised(Given(device, mine, run_dir), case.namespace)

    promises = {use: promised(use) for use in (*ALONE.values(), *TOGETHER)}
    told = case.ours.stand_ins.told.read_text().splitlines()
    listed = case.api.list(f"/apis/events.k8s.io/v1/namespaces/{case.namespace}/events")
    events = [event.get("note", "") for event in listed]
    return World(claims, devices, cards, seen, promises, told, shown, events)


def served(case: Case) -> dict[str, Object]:
    """The cards, once each that is held shows the backend that has it. Before, the auditor."""
    case.settled()

    def check() -> dict[str, Object]:
        cards = {o["metadata"]["name"]: o for o in case.api.list(f"{OURS}/gpus")}
        late = [n for n, o in cards.items() if held(o) and not o["status"].get("mode")]
        assert not late, late
        return cards

    return wait_for(check, 30, "each card's mode shown")


def held(card: Object) -> list[Object]:
    """Who holds what of a card."""
    rows: list[Object] = card["status"].get("allocated", [])
    return rows


def look_into(case: Case, pod: str, container: str) -> Seen:
    """What one container sees."""
    words = ("exec", "-n", case.namespace, pod, "-c", container, "--", "sh", "-c")
    return look(lambda script: case.cluster.kubectl(*words, script))
