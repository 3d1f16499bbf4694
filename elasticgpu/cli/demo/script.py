"""The demo's script: what is done in which order, and what has to come of it."""

from __future__ import annotations

from dataclasses import dataclass

from .expecting import (
    Expected,
    bound,
    gone,
    lies_on,
    on_one_node,
    running,
    serves,
    told,
    waiting,
)


@dataclass(frozen=True, slots=True)
class Apply:
    """Apply a manifest, and see all that come."""

    title: str
    manifest: str
    expected: tuple[Expected, ...]


@dataclass(frozen=True, slots=True)
class Refuse:
    """Apply a manifest that the API server has to refuse with these words."""

    title: str
    manifest: str
    saying: str


@dataclass(frozen=True, slots=True)
class Delete:
    """Delete a pod, and see all that come."""

    title: str
    pod: str
    expected: tuple[Expected, ...]


Step = Apply | Refuse | Delete


STEPS: tuple[Step, ...] = (
    Apply(
        "A class, a claim for 10% of a card and 4Gi, and a pod that names the claim",
        "1-shared-card.yaml",
        (bound("qgpu-egpuc"), running("qgpu-pod")),
    ),
    Apply(
        "Half of a large card: the claim says which model",
        "2-big-share.yaml",
        (bound("training"), running("training", node="node-a")),
    ),
    Apply(
        "Two whole cards, for nobody else",
        "3-whole-cards.yaml",
        (bound("pretraining"), lies_on("pretraining", 2), running("pretraining", node="node-a")),
    ),
    Apply(
        "MIG: one claim names a profile, another what it needs",
        "4-mig.yaml",
        (bound("inference", "embedding"), running("inference", node="node-a")),
    ),
    Apply(
        "MPS: a card in four equal shares; two pods from one template, a claim for each",
        "5-mps.yaml",
        (bound("batch-1-egpu-0", "batch-2-egpu-0"), running("batch-1", "batch-2", node="node-b")),
    ),
    Apply(
        "Time slices: 8 GiB over two cards, half of it on each",
        "6-two-cards.yaml",
        (bound("mnist"), lies_on("mnist", 2), running("mnist", node="node-c")),
    ),
    Apply(
        "cGPU, in its own words",
        "7-cgpu.yaml",
        (bound("cuda-sample"), running("cuda-sample", node="node-b")),
    ),
    Apply(
        "A card of another host, over the network",
        "8-remote.yaml",
        (bound("rendering"), running("rendering")),
    ),
    Apply(
        "A device that an admin made ahead, chosen by its label",
        "11-static-device.yaml",
        (bound("lab"), serves("lab", "lab-share"), running("lab", node="node-b")),
    ),
    Apply(
        "Two claims for one pod: on one node, all or none",
        "12-colocated.yaml",
        (bound("left", "right"), on_one_node("left", "right"), running("pair")),
    ),
    Apply(
        "vCUDA, and WaitForFirstConsumer: nothing is cut before a pod comes",
        "13-first-consumer.yaml",
        (waiting("notebook", "pod"),),
    ),
    Apply(
        "The pod comes, and the device is cut where it can run",
        "14-its-consumer.yaml",
        (bound("notebook"), running("notebook", node="node-c")),
    ),
    Delete(
        "A pod ends: the claim made for it goes, its device too, and the card has room again",
        "batch-2",
        (gone("batch-2", "batch-2-egpu-0"),),
    ),
    Apply(
        "What no card can give waits, and says why",
        "15-too-large.yaml",
        (
            waiting("too-large", "no card can give"),
            told("Pod", "too-large", "WaitingForElasticGPU"),
        ),
    ),
    Refuse(
        "A mistake in an annotation is refused at once, by the chart's admission policies",
        "16-misspelt.yaml",
        'names container "mian", but the pod has main',
    ),
)
