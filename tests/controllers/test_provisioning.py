"""Provisioning by a plugin that asks somebody else, over an API server in memory.

Numbers are the scenarios of Kubernetes' PersistentVolume tests.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from elasticgpu.api.claim import GPUSelector
from elasticgpu.api.elasticgpu import (
    CardSlice,
    ElasticGPU,
    ElasticGPUSpec,
    ElasticGPUStatus,
    ReclaimPolicy,
)
from elasticgpu.api.gpu import GPU
from elasticgpu.api.gpuclass import ElasticGPUClass
from elasticgpu.api.meta import ObjectReference, OwnerReference
from elasticgpu.api.names import CLAIM_PROTECTION, PROVISIONED_BY, PROVISIONING
from elasticgpu.errors import (
    ApiError,
    Forbidden,
    Invalid,
    NotOurs,
    Refused,
    Reschedule,
    Retry,
    Unavailable,
    Working,
)
from elasticgpu.provisioner import Slice
from elasticgpu.rules import marks

from .plugins import Backend, answers, raises
from .server import Json
from .stage import TEAM, Stage


def marked(stage: Stage) -> bool:
    """The claim shows that it is in progress."""
    claim = stage.claim()
    return (
        claim is not None
        and PROVISIONING in claim.metadata.finalizers
        and claim.status.provisioning is not None
    )


def unmarked(stage: Stage) -> bool:
    """It does not, in any way."""
    claim = stage.claim()
    return claim is not None and not marks.has_marks(claim)


async def test_42_success(stage: Stage) -> None:
    """The request is on the claim before the backend is asked; four writes later it is Bound."""
    await stage.start()
    claim = stage.ask()
    await stage.until(stage.bound)
    name = f"egpu-{claim.uid}"
    assert stage.server.writes == [
        "replace elasticgpuclaims train",
        "replace elasticgpuclaims/status train",
        f"create elasticgpus {name}",
        f"replace elasticgpus/status {name}",
        "replace elasticgpuclaims train",
        "replace elasticgpuclaims/status train",
    ]
    bound = stage.claim()
    assert bound is not None
    assert bound.metadata.finalizers == [CLAIM_PROTECTION]
    assert bound.status.provisioning is None
    assert stage.events() == []
    assert list(stage.backend.assets) == [name]
    assert len(stage.backend.requests) == 1
    (device,) = stage.devices()
    assert device.spec.source.handle == f"asset-of-{name}"
    assert device.spec.source.attributes == {"cut": "card-a"}


async def test_49_the_default_needs_four_writes(stage: Stage) -> None:
    """A plugin that builds the object alone can orphan nothing: no finalizer, nothing written."""
    await stage.start()
    claim = stage.ask(of="plain")
    await stage.until(stage.bound)
    assert stage.server.writes == [
        f"create elasticgpus egpu-{claim.uid}",
        f"replace elasticgpus/status egpu-{claim.uid}",
        "replace elasticgpuclaims train",
        "replace elasticgpuclaims/status train",
    ]


FAILING: list[tuple[str, BaseException, str]] = [
    ("temporary", Retry("quota is used up", after=0.02), "quota is used up"),
    ("unclear", ConnectionError("reset by peer"), "reset by peer"),
    ("timeout", TimeoutError(), "did not answer in time"),
    ("exits", SystemExit(3), "SystemExit(3)"),
    ("cancels-itself", asyncio.CancelledError(), "was cancelled"),
    ("an-api-error", Unavailable(503, "Busy", "try later"), "try later"),
]


@pytest.mark.parametrize(
    ("error", "said"), [pytest.param(error, said, id=name) for name, error, said in FAILING]
)
async def test_60_asked_again(stage: Stage, error: BaseException, said: str) -> None:
    """After what is no final answer the same request comes again, and the claim says why."""
    stage.backend.script = [raises(error)] * 3
    await stage.start()
    stage.ask()
    assert said in await stage.until(lambda: stage.says("ProvisioningFailed"))
    await stage.until(stage.bound)
    first, *others = stage.backend.requests
    assert len(others) == 3
    assert all((r.node, r.place, r.want) == (first.node, first.place, first.want) for r in others)
    await stage.told("ProvisioningFailed")


async def test_60_working_in_the_background(stage: Stage) -> None:
    """It is asked until it is done; that is no failure, and no event."""
    stage.backend.script = [raises(Working("40 % done", after=0.02))] * 3
    await stage.start()
    stage.ask()
    await stage.until(lambda: "40 % done" in stage.says("Provisioning"))
    await stage.until(stage.bound)
    assert len(stage.backend.requests) == 4
    assert stage.events() == []


async def test_never_sooner_than_it_says(stage: Stage) -> None:
    """`after` counts, whatever happens to the claim meanwhile."""
    stage.backend.script = [raises(Retry("an hour", after=3600))]
    await stage.start()
    stage.ask()
    await stage.until(lambda: stage.says("ProvisioningFailed"))
    claim = stage.claim()
    assert claim is not None
    stage.server.put(claim.with_metadata(labels={"a": "b"}))
    await stage.still(lambda: len(stage.backend.requests) == 1)
    assert marked(stage)


async def test_43_refused(stage: Stage) -> None:
    """Said once, nothing left behind, room given back; not asked again until something changes."""
    stage.backend.script = [raises(Refused("no contract for this team"))] * 3
    await stage.start()
    claim = stage.ask(core=100)
    await stage.until(lambda: stage.says("ProvisioningFailed") and unmarked(stage))
    assert "no contract for this team" in stage.says("ProvisioningFailed")
    stage.ask("other", of="plain", core=100)
    stage.ask("third", of="plain", core=100)
    await stage.until(lambda: stage.bound("other") and stage.bound("third"))
    await stage.still(lambda: len(stage.backend.requests) == 1)
    await stage.told("ProvisioningFailed")
    assert len(stage.events()) == 1
    for name in ("other", "third"):
        stage.delete(name)
    await stage.until(lambda: not stage.devices())
    await stage.still(lambda: len(stage.backend.requests) == 1)
    now = stage.claim()
    assert now is not None
    stage.server.put(now.but(spec=now.spec.but(gpu_selector=GPUSelector(node_name="node-b"))))
    await stage.until(lambda: len(stage.backend.requests) == 2 and unmarked(stage))
    assert stage.backend.requests[1].node == "node-b"
    gold = stage.server.see(ElasticGPUClass, "backend")
    assert gold is not None
    stage.server.delete(ElasticGPUClass, "backend")
    await stage.until(lambda: stage.says("UnknownClass"))
    stage.add_class(stage.backend)
    await stage.until(lambda: len(stage.backend.requests) == 3 and unmarked(stage))
    assert claim.uid == now.uid
    assert stage.devices() == []


async def test_refused_is_asked_again_slowly(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a refusal was about may change where nobody here sees it."""
    monkeypatch.setattr("elasticgpu.controllers.provisioning.SLOW", 0.1)
    stage.backend.script = [raises(Refused("no"))] * 2
    await stage.start()
    stage.ask()
    await stage.until(stage.bound)
    assert len(stage.backend.requests) == 3


async def test_54_rescheduled(stage: Stage) -> None:
    """The node is remembered until another one is found; nobody is to blame."""
    stage.backend.script = [raises(Reschedule("no uplink"))]
    await stage.start()
    stage.ask()
    await stage.until(stage.bound)
    assert [r.node for r in stage.backend.requests] == ["node-a", "node-b"]
    claim = stage.claim()
    assert claim is not None
    assert claim.status.excluded_nodes == []
    assert stage.events() == []


async def test_54_rescheduled_everywhere(stage: Stage) -> None:
    """Every node once, then it is said that all were tried, and there is a pause."""
    stage.backend.script = [raises(Reschedule("no uplink"))] * 5
    await stage.start()
    stage.ask()
    await stage.until(lambda: stage.says("TriedInVain") and unmarked(stage))
    await stage.still(lambda: len(stage.backend.requests) == 2)
    assert [r.node for r in stage.backend.requests] == ["node-a", "node-b"]


async def test_61_not_ours(stage: Stage) -> None:
    """Somebody else serves it: no object, no event, no retry, nothing left on the claim."""
    stage.backend.script = [raises(NotOurs())] * 3
    await stage.start()
    stage.ask()
    await stage.until(lambda: stage.backend.requests and stage.says("NotOurs") and unmarked(stage))
    await stage.still(lambda: len(stage.backend.requests) == 1)
    assert (stage.devices(), stage.events()) == ([], [])


POLICIES: list[ReclaimPolicy] = ["Delete", "Retain"]


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize(
    "answer", [Working("soon", after=0.02), TimeoutError()], ids=["working", "unclear"]
)
async def test_50_60_deleted_meanwhile(
    stage: Stage, answer: BaseException, policy: ReclaimPolicy
) -> None:
    """A claim that is deleted while its provisioner is at work is seen to the end: the device is
    stored, then reclaimed by its policy, and nothing is left outside the cluster."""
    stage.add_class(stage.backend, "gold", policy)
    stage.backend.script = [raises(answer, made=True)] * 4
    await stage.start()
    stage.ask(of="gold")
    await stage.until(lambda: len(stage.backend.requests) >= 2)
    stage.delete()
    await stage.until(lambda: stage.claim() is None)
    if policy == "Delete":
        await stage.until(lambda: stage.backend.releases and not stage.devices())
        assert stage.backend.assets == {}
    else:
        await stage.until(lambda: [d.status.phase for d in stage.devices()] == ["Released"])
        assert len(stage.backend.assets) == 1
        assert stage.backend.releases == []


async def test_deleted_after_a_final_answer(stage: Stage) -> None:
    """Nothing was under way: the claim goes at once, and nobody is asked anything."""
    stage.backend.script = [raises(Retry("an hour", after=3600))]
    await stage.start()
    stage.ask()
    await stage.until(lambda: stage.says("ProvisioningFailed"))
    stage.delete()
    await stage.until(lambda: stage.claim() is None)
    assert (len(stage.backend.requests), stage.devices()) == (1, [])


async def test_finalizer_taken_away(stage: Stage) -> None:
    """A claim that vanishes while its provisioner is at work is seen to the end all the same."""
    stage.backend.script = [raises(Working("soon", after=0.05), made=True)] * 4
    await stage.start()
    stage.ask()
    await stage.until(lambda: len(stage.backend.requests) >= 1 and marked(stage))
    claim = stage.claim()
    assert claim is not None
    stage.server.put(claim.without_finalizers(PROVISIONING))
    stage.delete()
    await stage.until(lambda: stage.backend.releases and not stage.devices())
    assert stage.backend.assets == {}


async def test_another_device_taken_meanwhile(stage: Stage) -> None:
    """A person who names a device does not stop what is under way: the spare one is reclaimed."""
    stage.ask("first", of="backend")
    await stage.start()
    await stage.until(lambda: stage.bound("first"))
    stage.backend.script = [raises(Working("soon", after=0.05), made=True)] * 4
    stage.ask()
    await stage.until(lambda: len(stage.backend.requests) >= 2 and marked(stage))
    (spare,) = stage.devices()
    made = spare.but(spec=spare.spec.but(claim_ref=None)).with_metadata(
        name="by-hand", uid="", resource_version="", annotations={}, finalizers=[]
    )
    source = spare.spec.source.but(devices=[])
    stage.server.add(made.but(spec=made.spec.but(source=source)).with_status(phase="Available"))
    claim = stage.claim()
    assert claim is not None
    stage.server.put(claim.but(spec=claim.spec.but(elastic_gpu_name="by-hand")))
    await stage.until(stage.bound)
    await stage.until(lambda: len(stage.devices()) == 2 and unmarked(stage))
    assert len(stage.backend.assets) == 1
    now = stage.claim()
    assert now is not None
    assert (now.status.phase, now.spec.elastic_gpu_name) == ("Bound", "by-hand")


async def test_room_is_counted_from_the_choice_on(stage: Stage) -> None:
    """While a provisioner is at work its place is taken, before a restart and after it."""
    stage.backend.script = [raises(Working("soon", after=0.03))] * 1000
    await stage.start()
    stage.ask("one", core=100)
    stage.ask("two", core=100)
    await stage.until(lambda: len({r.node for r in stage.backend.requests}) == 2)
    stage.ask("late", of="plain", core=10)
    assert "serves example.com/backend" in await stage.until(
        lambda: stage.says("NoCapacity", "late")
    )
    await stage.kill()
    late = stage.claim("late")
    assert late is not None
    stage.server.put(late.with_status(conditions=[]), "status")
    await stage.start()
    await stage.until(lambda: stage.says("NoCapacity", "late"))
    stage.backend.script.clear()
    await stage.until(lambda: stage.bound("one") and stage.bound("two"))


async def test_uninstalled_meanwhile(stage: Stage) -> None:
    """A claim whose provisioner is gone stays in progress and says what to do."""
    stage.backend.script = [raises(TimeoutError(), made=True)] * 1000
    await stage.start()
    stage.ask()
    await stage.until(lambda: len(stage.backend.requests) > 1)
    await stage.kill()
    await stage.start(without=stage.backend.name)
    said = await stage.until(
        lambda: (
            "not installed" in stage.says("ProvisioningFailed") and stage.says("ProvisioningFailed")
        )
    )
    assert f"remove the finalizer {PROVISIONING}" in str(said)
    stage.delete()
    await stage.still(lambda: marked(stage))
    claim = stage.claim()
    assert claim is not None
    stage.server.put(claim.without_finalizers(PROVISIONING))
    stage.ask("other", of="plain", core=100)
    stage.ask("third", of="plain", core=100)
    await stage.until(lambda: stage.bound("other") and stage.bound("third"))


def spec(**changes: object) -> Callable[[ElasticGPU], ElasticGPU]:
    """The device with something else in its spec."""
    return lambda device: device.but(spec=device.spec.but(**changes))


def source(**changes: object) -> Callable[[ElasticGPU], ElasticGPU]:
    """The device with something else in its source."""
    return lambda d: d.but(spec=d.spec.but(source=d.spec.source.but(**changes)))


def meta(**changes: object) -> Callable[[ElasticGPU], ElasticGPU]:
    """The device with other metadata."""
    return lambda device: device.with_metadata(**changes)


STRANGER = ObjectReference(namespace=TEAM, name="train", uid="somebody-else")
OTHER_CARD = [CardSlice(gpu="card-b", core=10, memory="10Gi")]
SMALLER = [CardSlice(gpu="card-a", core=5, memory="10Gi")]
OWNER = OwnerReference(api_version="v1", kind="Pod", name="p", uid="u")
NONSENSE: list[tuple[str, Callable[[ElasticGPU], object], str]] = [
    ("nothing", lambda _: None, "a NoneType, not an ElasticGPU"),
    ("a-dict", lambda d: d.wire(), "a dict, not an ElasticGPU"),
    ("wrong-name", meta(name="egpu-other"), "name is (egpu-other), not (egpu-"),
    ("too-long-name", meta(name="e" * 300), "name is (eeee"),
    ("a-namespace", meta(namespace=TEAM), "namespace is (team), not ()"),
    ("other-cards", source(devices=OTHER_CARD), "source.devices is ("),
    ("undersized-part", source(devices=SMALLER), "source.devices is ("),
    ("undersized", spec(capacity={}), "capacity is ({}), not ("),
    ("another-class", spec(elastic_gpu_class_name="gold"), "class is (gold), not (backend)"),
    ("another-policy", spec(reclaim_policy="Retain"), "reclaimPolicy is (Retain), not (Delete)"),
    ("another-claim", spec(claim_ref=STRANGER), "claimRef is ("),
    ("no-claim", spec(claim_ref=None), "claimRef is (None), not ("),
    ("another-node", spec(node_name="node-b"), "nodeName is (node-b), not (node-a)"),
    ("another-driver", source(driver="example.com/x"), "source.driver is (example.com/x)"),
    ("no-protection", meta(finalizers=[]), "finalizers is ([]), not ("),
    ("an-owner", meta(owner_references=[OWNER]), "ownerReferences is ("),
    ("a-status", lambda d: d.with_status(phase="Available"), "status is ("),
    ("long-handle", source(handle="h" * 300), "source.handle: String should have at most 256"),
    ("long-attribute", source(attributes={"a": "b" * 300}), "attributes.a: String should have"),
    ("no-spec", lambda d: d.but(spec="none"), "not a valid ElasticGPU: spec"),
    ("not-a-spec", lambda d: d.but(spec=ElasticGPUSpec), "not a valid ElasticGPU: "),
]


@pytest.mark.parametrize(
    ("change", "said"), [pytest.param(change, said, id=name) for name, change, said in NONSENSE]
)
async def test_nonsense(stage: Stage, change: Callable[[ElasticGPU], object], said: str) -> None:
    """An answer that is not what was asked for is refused in words, and released again."""
    stage.backend.script = [answers(change)]
    await stage.start()
    stage.ask()
    await stage.until(lambda: stage.says("ProvisioningFailed") and unmarked(stage))
    assert said in stage.says("ProvisioningFailed")
    assert (stage.devices(), stage.backend.assets) == ([], {})
    await stage.told("ProvisioningFailed")


async def test_what_an_answer_may_add(stage: Stage) -> None:
    """A handle, attributes, labels and annotations; ours among them stay as they are."""

    def more(device: ElasticGPU) -> ElasticGPU:
        changed = source(handle="h-1", attributes={"a": "b"})(device)
        return changed.with_metadata(labels={"l": "1"}, annotations={"n": "2", PROVISIONED_BY: "x"})

    stage.backend.script = [answers(more)]
    await stage.start()
    stage.ask()
    await stage.until(stage.bound)
    (device,) = stage.devices()
    assert device.spec.source.handle == "h-1"
    assert device.spec.source.attributes == {"a": "b"}
    assert device.metadata.labels == {"l": "1"}
    assert device.metadata.annotations["n"] == "2"
    assert device.metadata.annotations[PROVISIONED_BY] == stage.backend.name


def strikes(call: str, *errors: ApiError | None) -> Callable[[str, Json | None], None]:
    """Each time `call` comes, the next of these errors; None lets it pass."""
    left = list(errors)

    def fate(what: str, body: Json | None) -> None:
        if what.startswith(call) and left:
            error = left.pop(0)
            if error is not None:
                raise error

    return fate


LOST = Unavailable(0, "NoAnswer", "no answer")
INVALID = Invalid(422, "Invalid", "spec.source.handle: not like this")
FORBIDDEN = Forbidden(403, "Forbidden", "a policy says no")


async def test_46_create_fails_once(stage: Stage) -> None:
    """It is sent again; nothing is released and the backend not asked again."""
    stage.server.fate = strikes("before create elasticgpus", LOST, LOST)
    await stage.start()
    stage.ask()
    await stage.until(stage.bound)
    assert (len(stage.backend.requests), stage.backend.releases) == (1, [])


async def test_47_answer_lost(stage: Stage) -> None:
    """Created, and nobody was told: what exists is ours by its claimRef's uid, and is taken."""
    stage.server.fate = strikes("after create elasticgpus", LOST)
    await stage.start()
    stage.ask()
    await stage.until(stage.bound)
    assert (len(stage.devices()), stage.backend.releases) == (1, [])


async def test_45_47_the_name_is_anothers(stage: Stage) -> None:
    """An object of that name for another claim is not taken; what was made is released."""
    gate = asyncio.Event()

    async def wait(backend: Backend, request: object) -> ElasticGPU:
        while not gate.is_set():
            await asyncio.sleep(0.002)
        return backend.make(request)  # type: ignore[arg-type] # it is one

    stage.backend.script = [wait]
    await stage.start()
    claim = stage.ask()
    await stage.until(lambda: stage.backend.requests)
    (request,) = stage.backend.requests
    theirs = spec(claim_ref=STRANGER, reclaim_policy="Retain")(request.device())
    stage.server.add(theirs.with_metadata(annotations={}))
    gate.set()
    await stage.until(lambda: "not this claim's" in stage.says("ProvisioningFailed"))
    await stage.until(lambda: unmarked(stage))
    assert stage.backend.assets == {}
    (device,) = stage.devices()
    assert device.claim_uid != claim.uid


@pytest.mark.parametrize("error", [INVALID, FORBIDDEN], ids=["invalid", "forbidden"])
async def test_46_create_refused(stage: Stage, error: ApiError) -> None:
    """What the API server refuses for certain is released again, and the claim says why."""
    stage.server.fate = strikes("before create elasticgpus", error)
    await stage.start()
    stage.ask()
    await stage.until(lambda: stage.says("ProvisioningFailed") and unmarked(stage))
    assert error.message in stage.says("ProvisioningFailed")
    assert (stage.devices(), stage.backend.assets) == ([], {})
    assert len(stage.backend.releases) == 1
    await stage.told("ProvisioningFailed")


async def test_46_cleanup_fails_too(stage: Stage) -> None:
    """It is tried again until it is done; both are said, and the claim stays in progress."""
    stage.server.fate = strikes("before create elasticgpus", INVALID)
    stage.backend.release_script = [raises(ConnectionError("reset by peer"))] * 3
    await stage.start()
    stage.ask()
    assert "reset by peer" in await stage.until(lambda: stage.says("ProvisioningCleanupFailed"))
    assert marked(stage)
    await stage.until(lambda: stage.says("ProvisioningFailed") and unmarked(stage))
    assert stage.backend.assets == {}
    assert len(stage.backend.releases) == 4
    await stage.told("ProvisioningFailed", "ProvisioningCleanupFailed")


async def test_request_that_cannot_be_written_down(stage: Stage) -> None:
    """Nobody is asked for what a restart would not know of; the claim says why."""
    stage.server.fate = strikes("before replace elasticgpuclaims/status", INVALID)
    await stage.start()
    stage.ask()
    await stage.until(lambda: "cannot be written down" in stage.says("ProvisioningFailed"))
    await stage.until(lambda: unmarked(stage))
    assert stage.backend.requests == []


async def test_place_that_is_none(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a provisioner's `place` answers can be nonsense too."""
    monkeypatch.setattr(
        stage.backend, "place", lambda want, node: Slice((), {"x": "y" * 300}), raising=False
    )
    await stage.start()
    stage.ask()
    assert "a place that is none" in await stage.until(lambda: stage.says("ProvisioningFailed"))
    assert stage.backend.requests == []


async def test_44_free_device_first(stage: Stage) -> None:
    """What is there already is taken, and no provisioner is asked."""
    await stage.start()
    stage.ask("first")
    await stage.until(lambda: stage.bound("first"))
    (device,) = stage.devices()
    ready = device.but(spec=device.spec.but(claim_ref=None)).with_metadata(
        name="ready", uid="", resource_version="", finalizers=[]
    )
    source = device.spec.source.but(devices=[CardSlice(gpu="card-b", core=10, memory="10Gi")])
    stage.server.add(ready.but(spec=ready.spec.but(source=source), status=ElasticGPUStatus()))
    await stage.until(lambda: "Available" in {device.status.phase for device in stage.devices()})
    stage.ask()
    await stage.until(stage.bound)
    assert len(stage.backend.requests) == 1


async def test_48_never_provisioned(stage: Stage) -> None:
    """Class "" and no class at all: nobody is asked."""
    await stage.start()
    stage.ask("never", of="")
    await stage.until(lambda: stage.says("NoDevice", "never"))
    assert (stage.backend.requests, stage.devices()) == ([], [])


async def test_43_unknown_class_and_provisioner(stage: Stage) -> None:
    """Said on the claim, and no object is made."""
    await stage.start(without=stage.backend.name)
    stage.ask("one", of="gold")
    stage.ask("two", of="backend")
    await stage.until(lambda: stage.says("UnknownClass", "one"))
    await stage.until(lambda: stage.says("NoProvisioner", "two"))
    assert stage.devices() == []


async def test_many_at_once(stage: Stage) -> None:
    """Twenty claims of a provisioner that fails now and then, each gets its own device."""
    stage.backend.script = [
        raises(Retry("busy", after=0.01)),
        raises(TimeoutError(), made=True),
    ] * 8
    await stage.start()
    for number in range(16):
        stage.ask(f"c{number}", core=5)
    await stage.until(lambda: all(stage.bound(f"c{number}") for number in range(16)))
    assert len(stage.devices()) == len(stage.backend.assets) == 16


async def test_card_gone_meanwhile(stage: Stage) -> None:
    """A restart repeats the request even if its card is not there any more."""
    stage.backend.script = [raises(Working("soon", after=0.02), made=True)] * 5
    await stage.start()
    stage.ask()
    await stage.until(lambda: len(stage.backend.requests) > 1)
    await stage.kill()
    stage.server.delete(GPU, stage.backend.requests[0].place.devices[0].gpu)
    await stage.start()
    await stage.until(stage.bound)
    first, *others = stage.backend.requests
    assert all(request.place == first.place for request in others)
