"""Entries: what a pod's spec names, and what was made for it."""

from __future__ import annotations

import pytest

from elasticgpu.api.core import (
    Container,
    ContainerClaim,
    ContainerResources,
    Pod,
    PodResourceClaim,
    PodResourceClaimStatus,
    ResourceClaimTemplate,
)
from elasticgpu.api.meta import OwnerReference
from elasticgpu.rules import entries
from elasticgpu.rules.entries import Entry

from .build import claim, pod


def naming(*rows: tuple[str, str | None]) -> Pod:
    claims = [PodResourceClaim(name=n, resource_claim_template_name=t) for n, t in rows]
    return (base := pod("web", claims=())).but(spec=base.spec.but(resource_claims=claims))


NAMED: list[tuple[str, Pod, list[Entry]]] = [
    ("none", naming(), []),
    (
        "a-claim",
        naming(("egpu-0", "egpuc-train")),
        [Entry("egpu-0", "team", "egpuc-train", "train")],
    ),
    (
        "a-claim-template",
        naming(("egpu-1", "egpuct-big")),
        [Entry("egpu-1", "team", "egpuct-big", "web-egpu-1", "big")],
    ),
    (
        "a-claim-whose-name-looks-like-a-template",
        naming(("egpu-0", "egpuc-t-x")),
        [Entry("egpu-0", "team", "egpuc-t-x", "t-x")],
    ),
    (
        "called-by-a-person",
        naming(("my-gpu", "egpuc-train")),
        [Entry("my-gpu", "team", "egpuc-train", "train")],
    ),
    ("another-drivers-template", naming(("egpu-0", "gpu.example.com")), []),
    ("a-claim-by-name", naming(("egpu-0", None)), []),
    (
        "in-the-order-of-the-spec",
        naming(("egpu-1", "egpuc-b"), ("other", None), ("egpu-0", "egpuc-a")),
        [Entry("egpu-1", "team", "egpuc-b", "b"), Entry("egpu-0", "team", "egpuc-a", "a")],
    ),
]


@pytest.mark.parametrize(
    ("of", "want"), [pytest.param(of, want, id=name) for name, of, want in NAMED]
)
def test_entries(of: Pod, want: list[Entry]) -> None:
    """Ours are told by their template; a claim template's claim carries the pod's name."""
    assert entries.entries(of) == want


def test_entry_keys() -> None:
    """An entry leads to its claim and to its ResourceClaimTemplate."""
    (entry,) = entries.entries(naming(("egpu-0", "egpuct-big")))
    assert (entry.key, entry.template_key) == (("team", "web-egpu-0"), ("team", "egpuct-big"))


@pytest.mark.parametrize(
    ("name", "tag"), [("egpu-0", "0"), ("egpu-12", "12"), ("my-gpu", "MY_GPU"), ("a.b", "A_B")]
)
def test_tag(name: str, tag: str) -> None:
    """An entry's name as a part of a variable's name."""
    assert Entry(name, "team", "egpuc-train", "train").tag == tag


def test_containers_of_an_entry() -> None:
    """Init containers first, then containers, those that mention the entry."""

    def container(name: str, *uses: str) -> Container:
        claims = [ContainerClaim(name=entry) for entry in uses]
        return Container(name=name, resources=ContainerResources(claims=claims))

    of = naming(("egpu-0", "egpuc-a"), ("egpu-1", "egpuc-b"))
    of = of.but(
        spec=of.spec.but(
            containers=[container("one", "egpu-0"), container("both", "egpu-0", "egpu-1")],
            init_containers=[container("init", "egpu-1"), container("none")],
        )
    )
    assert [e.containers for e in entries.entries(of)] == [("one", "both"), ("init", "both")]


ASKING: list[tuple[str, dict[str, str], bool]] = [
    ("claim", {"elasticgpu.io/egpuc-main": "train"}, True),
    ("claim-template", {"elasticgpu.io/egpuct-main": "big"}, True),
    ("the-older-form", {"egpuc.elasticgpu.io/main": "train"}, True),
    ("something-else-of-ours", {"elasticgpu.io/egpu": "x"}, False),
    ("nothing", {}, False),
]


@pytest.mark.parametrize(
    ("annotations", "want"), [pytest.param(a, want, id=name) for name, a, want in ASKING]
)
def test_annotated_and_missed(annotations: dict[str, str], want: bool) -> None:
    """A pod that asks and has no entry was missed by admission; one that has some was not."""
    asks = pod(claims=(), annotations=annotations)
    assert entries.annotated(asks) is want
    assert entries.missed(asks) is want
    assert not entries.missed(pod(annotations=annotations))


def test_resource_claim_name() -> None:
    """It is what kube-controller-manager wrote for the entry, or empty before that."""
    of = pod(claims=["a", "b", "c"])
    made = [
        PodResourceClaimStatus(name="egpu-1", resource_claim_name="web-0-egpu-1-x7"),
        PodResourceClaimStatus(name="egpu-2"),
    ]
    of = of.but(status=of.status.but(resource_claim_statuses=made))
    names = [entries.resource_claim_name(of, entry) for entry in entries.entries(of)]
    assert names == ["", "web-0-egpu-1-x7", ""]


def test_made_for() -> None:
    """The pod that controls it; a claim that another kind owns, or nobody, was made by a person."""
    mine = OwnerReference(api_version="v1", kind="Pod", name="web-0", uid="u", controller=True)
    others = [mine.but(kind="Job"), mine.but(controller=None)]
    assert entries.made_for(claim().with_metadata(owner_references=[*others, mine])) == mine
    assert entries.made_for(claim().with_metadata(owner_references=others)) is None
    assert entries.made_for(claim()) is None


def test_template_is_ours_and_round_trips() -> None:
    """A template as the server gives it back is known as ours, a changed one is not."""
    made = entries.template(("team", "egpuc-train"))
    assert made.key == ("team", "egpuc-train")
    (asked,) = made.spec["spec"]["devices"]["requests"]
    assert asked["name"] == "egpu"
    assert asked["exactly"] == {
        "deviceClassName": "elasticgpu.io",
        "allocationMode": "ExactCount",
        "count": 1,
    }
    back = ResourceClaimTemplate.model_validate(made.wire())
    assert entries.is_ours(back)
    assert entries.is_ours(back.with_metadata(labels={}))
    assert not entries.is_ours(back.but(spec={"spec": {"devices": {}}}))
    assert not entries.is_ours(ResourceClaimTemplate())
