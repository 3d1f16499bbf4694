"""The contract suite itself: a sound plugin passes, and every fault is caught by name."""

from __future__ import annotations

from typing import ClassVar

import pytest

from elasticgpu.agent.fleet import Fleet, Row
from elasticgpu.api.gpu import GPU, MigProfile
from elasticgpu.provisioner import Provisioner
from elasticgpu.testing import ProvisionerContract
from elasticgpu.testing.contract import watching
from elasticgpu.testing.host import FakeNode

from . import faulty

RULES = sorted(name for name in dir(ProvisionerContract) if name.startswith("test_"))
"""Every test of the suite."""


def mig_cards() -> list[GPU]:
    """A card that may be cut into MIG instances."""
    (card,) = Fleet(nodes={"*": [Row(model="H200")]}).cards("node-a")
    row = MigProfile(name="1g.18gb", id=19, memory="18Gi", slices=1, starts=[0, 1], max=2)
    return [card.but(status=card.status.but(mig=[row]))]


class TestSound(ProvisionerContract):
    """One that keeps files, mounts and parameters passes all of it."""

    plugin = faulty.Sound
    parameters: ClassVar = {"size": "4096"}
    bad_parameters = (({"size": "0"}, "size"), ({"size": "many"}, "size"))


class TestGrows(ProvisionerContract):
    """One whose devices grow in use passes all of it."""

    plugin = faulty.Grows


class RemoteContract(ProvisionerContract):
    """Of plugins that have something outside the cluster."""

    class Node(FakeNode):
        backend: faulty.Backend

    def node(self) -> FakeNode:
        node = self.Node(super().node().cards)
        node.backend = faulty.Backend()
        return node

    def make(self, node: FakeNode) -> Provisioner:
        assert isinstance(node, self.Node)
        return self.plugin(node.backend)  # type: ignore[call-arg]

    def remains(self, node: FakeNode) -> object:
        assert isinstance(node, self.Node)
        return node.backend.things


class TestRemote(RemoteContract):
    """One that asks somebody else passes all of it."""

    plugin = faulty.Remote


FAULTS: list[tuple[type[Provisioner], str, str]] = [
    (faulty.ServesNothing, "serves_something", "serves something"),
    (faulty.Impure, "place_is_pure", "place is pure"),
    (faulty.NeverGivesBack, "place_is_pure", "place is pure"),
    (faulty.MarksItsCards, "place_leaves_its_arguments", "leaves its arguments"),
    (faulty.ReadsAFile, "place_reaches_out_for_nothing", "no I/O.*/proc/self/stat"),
    (faulty.GivesLess, "place_answers_what_was_asked", "not smaller than asked"),
    (faulty.NamesACardTwice, "place_answers_what_was_asked", "each card once"),
    (faulty.NamesAnotherCard, "place_answers_what_was_asked", "elsewhere is not"),
    (faulty.SaysAnotherUuid, "place_answers_what_was_asked", "its card's uuid"),
    (faulty.GivesMoreThanIsFree, "place_never_exceeds_the_node", "no more than is free"),
    (faulty.OverlapsInstances, "place_never_exceeds_the_node", "do not overlap"),
    (faulty.NeverGivesBack, "place_again_after_release", "is given again"),
    (faulty.IsNeverFull, "place_again_after_release", "full some day"),
    (faulty.RefusesWhenFull, "a_full_node_is_no_refusal", "No room now is None"),
    (faulty.SaysNothing, "refusals_say_why", "refused with the reason"),
    (faulty.RefusesWithoutReason, "refusals_say_why", "is a sentence"),
    (faulty.RefusesWithoutNaming, "refusals_say_why", "names what was asked"),
    (faulty.RaisesAnything, "refusals_say_why", "it raised KeyError"),
    (faulty.AnswersAnotherSize, "provision_answers_what_was_asked", "capacity"),
    (faulty.MakesAnother, "provision_twice_is_once", "another device"),
    (faulty.MakesTwo, "provision_twice_is_once", "something twice"),
    (faulty.ReleasesNothing, "release_leaves_nothing", "leaves nothing outside"),
    (faulty.ReleasesOnce, "release_twice_or_of_nothing", "release succeeds"),
    (faulty.OrphansWhenCancelled, "provision_cancelled_at_any_wait", "leaves nothing outside"),
    (faulty.ReleasesHalf, "release_cancelled_at_any_wait", "leaves nothing outside"),
    (faulty.HasNoName, "has_a_name", "has a name"),
    (faulty.HasOtherParameters, "parameters_are_declared", "extends"),
    (faulty.TakesAnyParameter, "unknown_parameters_are_refused", "nobody knows"),
    (faulty.RefusesNamelessly, "unknown_parameters_are_refused", "is named"),
    (faulty.RefusesNamelessly, "bad_parameters_are_refused_by_name", "is named"),
    (faulty.MountsARelativePath, "edits_are_valid_cdi", "valid CDI.*paths begin with /"),
    (faulty.HasNoEquals, "edits_are_valid_cdi", "valid CDI.*NAME=value"),
    (faulty.AnswersNoEdits, "edits_are_valid_cdi", "answers ContainerEdits"),
    (faulty.AppendsEachTime, "prepare_twice_is_once", "log was changed"),
    (faulty.NumbersItsProcess, "prepare_after_a_restart", "nothing of its process"),
    (faulty.LeavesAFile, "unprepare_leaves_nothing", "file .* is left"),
    (faulty.LeavesADirectory, "unprepare_leaves_nothing", "directory .* is left"),
    (faulty.LeavesAMode, "unprepare_leaves_nothing", "is EXCLUSIVE_PROCESS, it was DEFAULT"),
    (faulty.LeavesMigMode, "unprepare_leaves_nothing", "MIG mode of .* is Enabled, .* it was Dis"),
    (faulty.UndoesOnce, "unprepare_twice", "the second time it raised"),
    (faulty.UndoesOnce, "unprepare_of_what_never_was", "never was prepared it raised"),
    (faulty.Remembers, "unprepare_after_a_restart", "is left"),
    (faulty.TrustsTheBoot, "unprepare_after_a_reboot", "is left"),
    (faulty.TakesAnyCard, "prepare_of_a_card_that_is_gone", "is refused"),
    (faulty.Hangs, "prepare_twice_is_once", "hangs"),
    (faulty.SwallowsCancellation, "prepare_cancelled_at_any_wait", "as if nothing had been"),
    (faulty.RenamesCancellation, "prepare_cancelled_at_any_wait", "let"),
    (faulty.MarksLast, "prepare_cancelled_at_any_wait", "is left"),
    (faulty.MarksLast, "crash_in_prepare_between_any_two_steps", "is left"),
    (faulty.TidiesUpItself, "crash_in_prepare_between_any_two_steps", "is left"),
    (faulty.LocksItself, "crash_in_prepare_between_any_two_steps", "being prepared"),
    (faulty.UnmarksFirst, "unprepare_cancelled_at_any_wait", "is left"),
    (faulty.UnmarksFirst, "crash_in_unprepare_between_any_two_steps", "is left"),
    (faulty.AnswersHalf, "prepare_when_the_node_says_not_now", "has done all of it"),
    (faulty.GivesUpUndoing, "unprepare_when_the_node_says_not_now", "is left"),
    (faulty.ForgetsToResize, "resize_is_as_prepared_larger", "limits was changed"),
    (faulty.RefusesToResize, "resize_is_as_prepared_larger", "it refused .*: not today"),
    (faulty.ResizesNobody, "resize_of_what_never_was", "makes nothing"),
    (faulty.ResizesSecretly, "resize_is_refused_without_grows", "that say `grows`"),
    (faulty.RemovesNeighbours, "a_neighbour_is_left_alone", "leaves neighbours alone"),
    (faulty.HasOneDeviceInMind, "neighbours_at_once", "does not mind its neighbours"),
    (faulty.KeepsAFileAPod, "a_second_pod", "nothing new"),
]
"""A plugin's one fault, the rule that catches it, and what of that rule is said."""


@pytest.mark.parametrize(
    ("plugin", "rule", "said"),
    [pytest.param(*row, id=f"{row[0].__name__}-{row[1]}") for row in FAULTS],
)
def test_a_fault_is_caught(
    plugin: type[Provisioner], rule: str, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the test that is named for it, in words."""
    monkeypatch.setattr(watching, "PATIENCE", 0.5 if plugin is faulty.Hangs else 60.0)
    with pytest.raises(AssertionError, match=said):
        getattr(contract(plugin), f"test_{rule}")()


def test_every_rule_catches_something() -> None:
    """A test that no fault fails would be none."""
    assert sorted({f"test_{rule}" for _, rule, _ in FAULTS}) == RULES


def contract(plugin: type[Provisioner]) -> ProvisionerContract:
    """The suite as the author of this plugin would write it."""
    base = RemoteContract if issubclass(plugin, faulty.Remote) else ProvisionerContract
    said: dict[str, object] = {"plugin": plugin}
    if plugin is faulty.OverlapsInstances:
        said["cards"] = mig_cards()
    found: ProvisionerContract = type("TestIt", (base,), said)()
    return found
