"""`elasticgpu demo`: it ends with 0 only if all came as its script says, and in order on Ctrl-C."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import click
import pytest
import yaml

from elasticgpu.agent import fleet
from elasticgpu.cli.demo import drawing, expecting, script, show, steps
from elasticgpu.cli.demo.script import Apply, Refuse
from elasticgpu.cli.forest import Card, Forest, Leaf, Node, Room, Waiting

ROOT = Path(__file__).parents[2]
COMMAND = [sys.executable, "-m", "elasticgpu", "demo"]
GI = 1 << 30


def test_the_demo() -> None:
    """All of it, as a newcomer runs it, without a terminal: plain lines, nothing on stderr."""
    done = subprocess.run(COMMAND, capture_output=True, text=True, timeout=120, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert "\x1b" not in done.stdout
    assert "\r" not in done.stdout
    for step in script.STEPS:
        assert f"== {step.title}\n" in done.stdout
    for said in (
        r"claim qgpu-egpuc: Bound to egpu-",
        r"pod qgpu-pod: Running on node-",
        r"ELASTICGPU_0_CORE=10\n",
        r"├─ node-a-cf362980 H200 +qgpu +▓+░* \d+% of 100%",
        r"lab-share +▓{6}░{4} 60% .* Bound +lab +lab\n",
        r"No card can give that; 12 were looked at",
        r"All of it came as the script says",
    ):
        assert re.search(said, done.stdout), said


def test_ctrl_c(tmp_path: Path) -> None:
    """`--keep` serves until Ctrl-C, then ends in order and leaves nothing behind."""
    env = {**os.environ, "TMPDIR": "/tmp"}
    with subprocess.Popen(
        [*COMMAND, "--keep"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=env
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        config = next(
            Path(line.partition("=")[2].strip())
            for line in process.stdout
            if line.startswith("export KUBECONFIG=")
        )
        tree = [sys.executable, "-m", "elasticgpu", "tree", "--kubeconfig", str(config)]
        shown = subprocess.run(tree, capture_output=True, text=True, timeout=60, check=True)
        assert "default/qgpu-egpuc" in shown.stdout
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 130
        assert process.stderr.read() == ""
    assert not config.parent.exists()


@pytest.mark.parametrize(
    "step",
    [
        Apply("impossible", "1-shared-card.yaml", (expecting.serves("qgpu-egpuc", "another"),)),
        Refuse("not refused", "1-shared-card.yaml", "no"),
        Refuse("refused otherwise", "16-misspelt.yaml", "no such words"),
    ],
    ids=lambda step: step.title,
)
async def test_what_does_not_come_is_said(
    step: script.Step, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The demo is no success then, and names it."""
    monkeypatch.setattr(show, "STEPS", (step, *script.STEPS))
    monkeypatch.setattr(steps, "PATIENCE", 1.0)
    assert not await show.run(keep=False)
    said = capsys.readouterr().out
    assert "did not come as the script says" in said
    assert script.STEPS[0].title not in said


def test_manifests() -> None:
    """The first is the example's, the static device lies on a card that the fleet has."""
    first = (steps.HERE / "manifests" / "1-shared-card.yaml").read_text("utf-8")
    assert first == (ROOT / "examples" / "01-shared-card" / "elastic-gpu.yaml").read_text("utf-8")
    static = (steps.HERE / "manifests" / "11-static-device.yaml").read_text("utf-8")
    (part,) = next(yaml.safe_load_all(static))["spec"]["source"]["devices"]
    cards = fleet.load(steps.HERE / "fleet.yaml").cards("node-b")
    assert (part["gpu"], part["uuid"]) in [(card.name, card.status.uuid) for card in cards]


def test_drawing() -> None:
    """Devices lie side by side on their card; what is there at all is seen."""
    whole = Room(100, 20 * GI)
    parts = [
        Leaf("egpu-0a1b2c3d-4e5f", "Bound", Room(30, GI), Room(30, GI), "team/a", ("p", "q")),
        Leaf("made", "Released", Room(50, 10 * GI), Room(50, 10 * GI), "team/b", (), "3g.71gb"),
    ]
    held = parts[0].held + parts[1].held
    card = Card("node-0", "NVIDIA H200", "Healthy", True, whole, held, tuple(parts), "mig")
    remote = (Leaf("far", "Bound", Room(100, GI), Room(), "team/r", ("s",)),)
    node = Node("node", whole, held, (card,))
    waiting = (Waiting("team", "c", "Pending", "10% 900Gi"),)
    forest = Forest(whole, held, nodes=(node,), remote=remote, waiting=waiting)
    lines = map(click.unstyle, drawing.lines(forest, None))
    assert [" ".join(line.split()) for line in lines] == [
        "MODE CORE MEMORY PHASE CLAIM POD",
        "node ▓▓▓▓▓▓▓▓░░ 80% of 100% ▓▓▓▓▓▓░░░░ 11Gi of 20Gi",
        "└─ node-0 H200 mig ▓▓▓▓▓▓▓▓░░ 80% of 100% ▓▓▓▓▓▓░░░░ 11Gi of 20Gi Healthy",
        "├─ egpu-0a1b2c3d… ▓▓▓░░░░░░░ 30% ▓░░░░░░░░░ 1Gi Bound a p,q",
        "└─ made 3g.71gb ░░░▓▓▓▓▓░░ 50% ▓▓▓▓▓▓░░░░ 10Gi Released b",
        "remote",
        "└─ far 100% 1Gi Bound r s",
        "waiting",
        "└─ c 10% 900Gi Pending c",
    ]
