"""The planted faults: what a hurried hand could change, and the tests that must notice."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]

BINDING = ("tests/rules/binding",)
TRANSACTION = ("tests/rules/test_transaction.py",)
RECLAIMING = ("tests/rules/test_reclaiming.py",)
PROVISIONING = ("tests/rules/test_provisioning.py",)
CREATING = ("tests/controllers/provisioning",)
LEDGER = ("tests/rules/test_ledger.py",)
PLACEMENT = ("tests/rules/test_placement.py",)
MIG = ("tests/rules/mig",)
HOLDERS = ("tests/rules/test_holders.py", "tests/rules/test_handover.py")
PROTECTION = ("tests/controllers/test_protection.py",)
HANDING = ("tests/rules/handing",)
ACCEPTING = ("tests/rules/test_accepting.py",)
STORE = ("tests/transport/test_store.py",)
QUANTITY = ("tests/api/test_quantity.py",)
VOCABULARY = ("tests/rules/test_vocabulary.py",)
GROWING = ("tests/rules/test_growing.py",)
KINDS = ("tests/api/test_kinds.py", "tests/api/test_stored.py")
CONDITIONS = ("tests/api/test_conditions.py",)
QUEUE = ("tests/transport/test_workqueue.py",)
MPS = ("provisioners/mps/tests/test_mps.py",)
IMPORTING = ("tests/rules/importing",)
LEASE = ("tests/transport/test_lease.py",)
SCENARIOS = "tests/scenarios/test_embedded.py::test_scenario"


@dataclass(frozen=True)
class Fault:
    """In `file`, once, `old` becomes `new`; some of `tests` must fail then."""

    name: str
    file: str
    old: str
    new: str
    tests: tuple[str, ...]


def plant(fault: Fault, tree: Path) -> None:
    """Change the file in that copy of the tree. Raises ValueError if the text is not there once."""
    path = tree / fault.file
    text = path.read_text()
    if text.count(fault.old) != 1:
        raise ValueError(f"{fault.name}: its text occurs {text.count(fault.old)} times")
    path.write_text(text.replace(fault.old, fault.new))


FAULTS = [
    Fault(
        "a device of an earlier claim of the name is ours",
        "elasticgpu/rules/binding.py",
        "    for device in view.reserved:\n        if device.claim_uid == view.claim.uid:\n",
        "    for device in view.reserved:\n        if True:\n",
        BINDING,
    ),
    Fault(
        "a terminating claim is bound",
        "elasticgpu/rules/binding.py",
        "    if claim.terminating:\n        return _leaving(view)",
        "    if claim.terminating and claim.uid == '':\n        return _leaving(view)",
        BINDING,
    ),
    Fault(
        "a device of another uid is no loss",
        "elasticgpu/rules/binding.py",
        "    if ref is not None and ref.uid != claim.uid:\n        return Lost",
        "    if ref is not None and ref.key != claim.key:\n        return Lost",
        BINDING,
    ),
    Fault(
        "bind-completed is believed without the status",
        "elasticgpu/rules/binding.py",
        'if claim.status.phase not in (BOUND, "Lost") and not (',
        'if claim.status.phase == "Never" and not (',
        BINDING,
    ),
    Fault(
        "the largest fit is taken",
        "elasticgpu/rules/fitting.py",
        "    return (waste, over_core, over_memory, device.name)",
        "    return (-waste, -over_core, -over_memory, device.name)",
        BINDING,
    ),
    Fault(
        "a device that is being deleted fits",
        "elasticgpu/rules/fitting.py",
        "    if device.terminating:\n        return",
        "    if device.terminating and by_name:\n        return",
        BINDING,
    ),
    Fault(
        "memory is not compared",
        "elasticgpu/rules/fitting.py",
        "    if memory < want.memory:\n",
        "    if memory < 0:\n",
        BINDING,
    ),
    Fault(
        "the claim's uid is not written",
        "elasticgpu/rules/transaction.py",
        "ref = ObjectReference(namespace=claim.namespace, name=claim.name, uid=claim.uid)",
        "ref = ObjectReference(namespace=claim.namespace, name=claim.name)",
        TRANSACTION,
    ),
    Fault(
        "a reserved device is called ours",
        "elasticgpu/rules/transaction.py",
        "    if device.spec.claim_ref is None:\n        annotations[",
        "    if True:\n        annotations[",
        TRANSACTION,
    ),
    Fault(
        "bind-completed is not written",
        "elasticgpu/rules/transaction.py",
        'annotations={**annotations, BIND_COMPLETED: "yes", **chosen}',
        "annotations={**annotations, **chosen}",
        TRANSACTION,
    ),
    Fault(
        "the claim is bound without its finalizer",
        "elasticgpu/rules/transaction.py",
        "        .with_finalizers(CLAIM_PROTECTION)\n",
        "",
        TRANSACTION,
    ),
    Fault(
        "the node that was tried is not remembered",
        "elasticgpu/rules/transaction.py",
        "excluded_nodes=[*tried, node][-MOST_EXCLUDED:]",
        "excluded_nodes=tried[-MOST_EXCLUDED:]",
        BINDING,
    ),
    Fault(
        "a claim that is being deleted does not miss its device",
        "elasticgpu/rules/binding.py",
        "return answer if isinstance(answer, Bind | Lost) else Settled()",
        "return Settled()",
        BINDING,
    ),
    Fault(
        "a device that was deleted goes though its claim is about to point at it again",
        "elasticgpu/rules/reclaiming.py",
        "    if view.named_by is not None:\n",
        "    if view.named_by is not None and not device.terminating:\n",
        RECLAIMING,
    ),
    Fault(
        "a node is excluded for pods for which it was never tried",
        "elasticgpu/rules/company.py",
        "return waiting.isdisjoint(said.excluded_for or waiting)",
        "return not waiting",
        ("tests/rules/test_exclusion.py",),
    ),
    Fault(
        "a device grows on a card without room",
        "elasticgpu/rules/growing.py",
        "said := _lacks(part, view)",
        "said := None",
        GROWING,
    ),
    Fault(
        "a device that grew shrinks on the cards where it was larger",
        "elasticgpu/rules/growing.py",
        "return part if part.memory_bytes >= least else part",
        "return part",
        GROWING,
    ),
    Fault(
        "the room of a growth counts only once it is written",
        "elasticgpu/controllers/world.py",
        "        self.growing[larger.name] = larger\n        self.ledger.set_device(larger)\n",
        "        self.growing[larger.name] = larger\n",
        ("tests/controllers/test_growing.py",),
    ),
    Fault(
        "a growth without an answer is forgotten with the next list",
        "elasticgpu/controllers/world.py",
        "if sent and sent.metadata.resource_version == device.metadata.resource_version:",
        "if sent and sent == device:",
        ("tests/controllers/test_growing.py",),
    ),
    Fault(
        "the node does not judge what grew",
        "elasticgpu/agent/judge.py",
        "    return Room(cards.values(), map(_taking, others.values())).lacks(_taking(device))\n",
        "    return None\n",
        ("tests/agent/test_resize.py",),
    ),
    Fault(
        "a pod in between gets what nobody judged",
        "elasticgpu/agent/materialise.py",
        "    return record.but(device=next(there, record.device))\n",
        "    return record\n",
        ("tests/agent/test_resize.py",),
    ),
    Fault(
        "a device is released under a claim that lives",
        "elasticgpu/rules/reclaiming.py",
        "return view.claim is not None and view.claim.uid == view.device.claim_uid",
        "return view.claim is not None and view.claim.uid != view.device.claim_uid",
        RECLAIMING,
    ),
    Fault(
        "a retained device is deleted",
        "elasticgpu/rules/reclaiming.py",
        'return Delete() if device.spec.reclaim_policy == "Delete" else Keep()',
        "return Delete()",
        RECLAIMING,
    ),
    Fault(
        "deletion skips Released",
        "elasticgpu/rules/reclaiming.py",
        'if device.status.phase not in ("Released", "Failed"):\n        return Release()',
        'if device.status.phase == "Never":\n        return Release()',
        RECLAIMING,
    ),
    Fault(
        "a provisioner is asked before the request is written down",
        "elasticgpu/rules/provisioning.py",
        "not claim.terminating and not is_marked(claim, view.request)",
        "not claim.terminating and PROVISIONING not in claim.metadata.finalizers",
        PROVISIONING,
    ),
    Fault(
        "a claim that is deleted is forgotten while its provisioner works",
        "elasticgpu/rules/provisioning.py",
        "    if not view.asked and not wanted(claim):\n",
        "    if not wanted(claim):\n",
        PROVISIONING,
    ),
    Fault(
        "what fails in an unknown way is taken for final",
        "elasticgpu/rules/answers.py",
        'Kind.UNCLEAR: Effect("ProvisioningFailed", warn=True)',
        'Kind.UNCLEAR: Effect("ProvisioningFailed", final=True, warn=True)',
        PROVISIONING,
    ),
    Fault(
        "while its cleanup is repeated a claim says what came before",
        "elasticgpu/rules/provisioning.py",
        "    if view.calling:\n        return Rest(_last(view))\n",
        "    if view.calling:\n        return Rest(view.answer)\n",
        PROVISIONING,
    ),
    Fault(
        "a provisioner may answer other cards",
        "elasticgpu/rules/checking.py",
        '    ("source.devices", lambda d: d.spec.source.devices),\n',
        "",
        ("tests/rules/test_checking.py",),
    ),
    Fault(
        "the object goes before its provisioner has freed it",
        "elasticgpu/rules/releasing.py",
        "view.answer.kind is Kind.DONE",
        "view.answer.kind is not Kind.FOREIGN",
        ("tests/rules/test_releasing.py",),
    ),
    Fault(
        "the bind to another device lets go what is being made",
        "elasticgpu/rules/transaction.py",
        "    return device.name == device_name(claim.uid)\n",
        "    return True\n",
        TRANSACTION,
    ),
    Fault(
        "Released counts as free",
        "elasticgpu/rules/ledger.py",
        'case "Available" | "Bound" | "Released":\n            return True',
        'case "Available" | "Bound" | "Released":\n            return device.claim_uid != ""',
        ("tests/rules/test_ledger.py::test_who_holds_room",),
    ),
    Fault(
        "a card may serve two modes",
        "elasticgpu/rules/ledger.py",
        "    if view.mode and view.mode != driver:",
        "    if view.mode and view.mode != driver and not view.gpu:",
        LEDGER,
    ),
    Fault(
        "a part that cannot be read holds nothing",
        "elasticgpu/rules/ledger.py",
        "    except ValueError:\n        return UNREADABLE\n",
        "    except ValueError:\n        return 0\n",
        LEDGER,
    ),
    Fault(
        "an unhealthy card serves",
        "elasticgpu/rules/placement.py",
        '    if status.health != "Healthy":',
        '    if status.health == "Never":',
        PLACEMENT,
    ),
    Fault(
        "of a MIG instance only the first memory slice counts",
        "elasticgpu/rules/mig.py",
        "if not self.slices & _bits(row, start)]",
        "if not self.slices & 1 << start]",
        MIG,
    ),
    Fault(
        "MIG: compute slices that are held are free",
        "elasticgpu/rules/mig.py",
        "if compute(row) > whole - self.compute:",
        "if compute(row) > whole:",
        MIG,
    ),
    Fault(
        "a MIG instance starts at the first free slice",
        "elasticgpu/rules/mig.py",
        "return max(room.starts(row), key=left, default=None)",
        "return min(room.starts(row), default=None)",
        MIG,
    ),
    Fault(
        "a card takes MIG claims before the reset that its mode needs",
        "elasticgpu/rules/mig.py",
        'if wanted and status.mig_needs_reset and now != "Enabled":',
        'if wanted and status.mig_needs_reset and pending != "Enabled":',
        MIG,
    ),
    Fault(
        "MIG mode goes with any instance, not the last",
        "provisioners/mig/elasticgpu_mig/life.py",
        "and not await nvml.gpu_instances(card.name)",
        "and await nvml.gpu_instances(card.name) is not None",
        ("provisioners/mig/tests/test_mig.py",),
    ),
    Fault(
        "a MIG instance in the way is destroyed, whoever made it",
        "provisioners/mig/elasticgpu_mig/life.py",
        "if (one.profile, one.start) == (row.id, part.mig_start)]:",
        "if one.start >= part.mig_start]:",
        ("provisioners/mig/tests/test_mig.py",),
    ),
    Fault(
        "devices that an admin wrote may overlap on a MIG card",
        "elasticgpu/rules/ledger.py",
        "return mig.lacks((part,), view.gpu, view.held) or shortage(",
        "return shortage(",
        MIG,
    ),
    Fault(
        "two pods hold an unshared claim",
        "elasticgpu/rules/holders.py",
        "    return tuple(waiting[:1]) if not rows else ()",
        "    return tuple(waiting[:1])",
        HOLDERS,
    ),
    Fault(
        "a pod that the cache lacks is taken for gone",
        "elasticgpu/controllers/holders.py",
        "            if pod.uid == row.pod_uid and not pod.finished:",
        "            if False:",
        PROTECTION,
    ),
    Fault(
        "a row goes while the node still has the device",
        "elasticgpu/rules/holders.py",
        "row.pod_uid in alive or row.pod_uid in prepared",
        "row.pod_uid in alive",
        HOLDERS,
    ),
    Fault(
        "an allocation is written without our reservation",
        "elasticgpu/rules/allocation.py",
        "    if action.reserve:\n",
        "    if action.reserve and not node:\n",
        HANDING,
    ),
    Fault(
        "half of a pod's claims are handed over",
        "elasticgpu/rules/handing.py",
        "    if len(ready) < len(view.entries):\n        return []\n",
        "",
        HANDING,
    ),
    Fault(
        "words: 1Mi still counts the vendor's unit",
        "elasticgpu/api/quantity.py",
        "exact * unit if exact < MI else exact",
        "exact * unit if exact <= MI else exact",
        QUANTITY,
    ),
    Fault(
        "words: HAMi's amounts are of all cards together",
        "elasticgpu/api/vocabulary.py",
        '            asked[word.dimension] *= asked.get("count", 1)\n',
        '            asked[word.dimension] *= min(asked.get("count", 1), 1)\n',
        VOCABULARY,
    ),
    Fault(
        "words: a lone nvidia.com/gpu is HAMi's in every namespace",
        "elasticgpu/api/words.py",
        ' or self.mode not in ("", mode):\n',
        ":\n",
        VOCABULARY,
    ),
    Fault(
        "words: Alibaba's count of cards is not looked for",
        "elasticgpu/api/words.py",
        "(self.label and self.label not in labels) or ",
        "self.label or ",
        VOCABULARY,
    ),
    Fault(
        "words: a total need not divide evenly",
        "elasticgpu/api/canonical.py",
        "        if total % want.count:\n",
        "        if total < want.count and total:\n",
        VOCABULARY,
    ),
    Fault(
        "words: a share of the memory is rounded down",
        "elasticgpu/api/canonical.py",
        "-(-card * self.memory_percentage // 100)",
        "card * self.memory_percentage // 100",
        ("elasticgpu/api/canonical.py", "provisioners/qgpu/tests/test_qgpu.py"),
    ),
    Fault(
        "objects: what a newer release wrote is dropped",
        "elasticgpu/api/meta.py",
        '        extra="allow",\n',
        '        extra="ignore",\n',
        KINDS,
    ),
    Fault(
        "objects: a condition is as old as its last sentence",
        "elasticgpu/api/meta.py",
        "old.last_transition_time if old and old.status == new.status else now",
        "old.last_transition_time if old and old == new else now",
        CONDITIONS,
    ),
    Fault(
        "the second and the third write are swapped",
        "elasticgpu/controllers/binder.py",
        """        device = await self._write(
            device, transaction.device_bound(device, now=timestamp()), "status"
        )
        claim = await self._write(claim, transaction.pointing(claim, device))
""",
        """        claim = await self._write(claim, transaction.pointing(claim, device))
        device = await self._write(
            device, transaction.device_bound(device, now=timestamp()), "status"
        )
""",
        (f"{SCENARIOS}[01]",),
    ),
    Fault(
        "AlreadyExists is taken for ours",
        "elasticgpu/controllers/creating.py",
        "    if found.claim_uid != device.claim_uid:",
        "    if found.name != device.name:",
        CREATING,
    ),
    Fault(
        "a device is released on a cached absence",
        "elasticgpu/controllers/reclaimer.py",
        """                await self._confirm_gone(device)
                await self._phase(device, "Released")
""",
        """                await self._phase(device, "Released")
""",
        (f"{SCENARIOS}[35 not in the cache]",),
    ),
    Fault(
        "who waits does not hear of a device that comes to lie idle",
        "elasticgpu/controllers/waking.py",
        "        elif _idle(change.old) != _idle(change.new):\n",
        "        elif _idle(change.old) and _idle(change.new):\n",
        ("tests/controllers/test_waiting.py",),
    ),
    Fault(
        "an older event overwrites our own write",
        "elasticgpu/cluster/store.py",
        "newer = known is None or version > version_of(known)",
        "newer = known is None or version != version_of(known)",
        STORE,
    ),
    Fault(
        "a deletion comes when its turn is",
        "elasticgpu/cluster/workqueue.py",
        "place = (-priority, next(self._order))",
        "place = (0, next(self._order))",
        QUEUE,
    ),
    Fault(
        "a lease is free as soon as it is seen",
        "elasticgpu/cluster/lease.py",
        "expired = asyncio.get_running_loop().time() >= self._seen_at + lasts",
        "expired = asyncio.get_running_loop().time() >= self._seen_at",
        LEASE,
    ),
    Fault(
        "apiserver: an old version is taken",
        "elasticgpu/testing/apiserver/life.py",
        '    if version and version != before["resourceVersion"]:\n',
        "    if not version:\n",
        (
            "tests/conformance/test_replacing.py::test_a_put_with_an_old_version_is_409_conflict[embedded]",
        ),
    ),
    Fault(
        "apiserver: a watch repeats the event it begins after",
        "elasticgpu/testing/apiserver/watching.py",
        "or event.version <= wanted.version:",
        "or event.version < wanted.version:",
        (
            "tests/conformance/test_watches.py::test_a_watch_from_a_version_tells_what_came_after[embedded]",
        ),
    ),
    Fault(
        "apiserver: pages are of what is there now",
        "elasticgpu/testing/apiserver/listing.py",
        "        version = version or store.version\n",
        "        version = store.version\n",
        ("tests/conformance/test_lists.py::test_pages_are_as_of_one_version[embedded]",),
    ),
    Fault(
        "apiserver: finalizers keep nothing",
        "elasticgpu/testing/apiserver/leaving.py",
        'or meta.get("finalizers") or kind.waits(body):',
        "or kind.waits(body):",
        (
            "tests/conformance/test_deletion.py::test_a_finalizer_keeps_an_object_being_deleted[embedded]",
        ),
    ),
    Fault(
        "apiserver: preconditions of a delete are not read",
        "elasticgpu/testing/apiserver/leaving.py",
        "        if wanted and wanted != found:\n",
        "        if not found:\n",
        ("tests/conformance/test_deletion.py::test_preconditions_of_a_delete[embedded-uid]",),
    ),
    Fault(
        "apiserver: an owner of the same name will do",
        "elasticgpu/testing/apiserver/collecting.py",
        "if self._lives(one, key[0])]",
        "if self._find(one, key[0])]",
        (
            "tests/conformance/test_owners.py::test_an_owner_that_never_was_takes_its_dependent_along[embedded]",
        ),
    ),
    Fault(
        "apiserver: rules of change are not asked",
        "elasticgpu/testing/apiserver/ruling.py",
        "        if before or not rule.transition:\n",
        "        if not rule.transition:\n",
        (
            "tests/conformance/test_schemas.py::test_a_rule_of_change_holds_from_the_first_value_on[embedded]",
        ),
    ),
    Fault(
        "apiserver: an apply takes by force",
        "elasticgpu/testing/apiserver/applying.py",
        "    if any(contested.values()) and not wish.force:\n",
        "    if not contested:\n",
        ("tests/conformance/test_applying.py::test_a_conflict_names_field_and_manager[embedded]",),
    ),
    Fault(
        "mps: a 49th client",
        "provisioners/mps/elasticgpu_mps/__init__.py",
        "    return len(card.held) < clients(card.gpu)\n",
        "    return len(card.held) <= clients(card.gpu)\n",
        MPS,
    ),
    Fault(
        "mps: cards of a set can be shared",
        "provisioners/mps/elasticgpu_mps/__init__.py",
        "            tuple(_whole(card) for card in cards),\n",
        "            tuple(limits),\n",
        MPS,
    ),
    Fault(
        "mps: the limit is not read back",
        "provisioners/mps/elasticgpu_mps/control.py",
        "        if not same(kept, value):\n",
        "        if not kept:\n",
        MPS,
    ),
    Fault(
        "mps: servers that run keep the old limit",
        "provisioners/mps/elasticgpu_mps/control.py",
        '[("default_",), *(("", pid) for pid in servers)]',
        '[("default_",)]',
        MPS,
    ),
    Fault(
        "mps: the first device to leave ends the daemon",
        "provisioners/mps/elasticgpu_mps/daemon.py",
        "        if left:\n",
        "        if len(left) > 1:\n",
        MPS,
    ),
    Fault(
        "mps: the card stays exclusive",
        "provisioners/mps/elasticgpu_mps/daemon.py",
        'set_compute_mode(gpu, "DEFAULT")',
        'set_compute_mode(gpu, "EXCLUSIVE_PROCESS")',
        MPS,
    ),
    Fault(
        "import: cards that are not named may be shared",
        "elasticgpu/rules/importing.py",
        "[WHOLE, *migs]",
        "[MIG, *migs]",
        IMPORTING,
    ),
    Fault(
        "import: the last cards instead of the first",
        "elasticgpu/rules/imported_sharing.py",
        "cards[: by.devices]",
        "cards[-by.devices :]",
        IMPORTING,
    ),
    Fault(
        "import: a filter that nobody matches",
        "elasticgpu/rules/imported_mig.py",
        "16) in part.device_filter",
        "16) not in part.device_filter",
        IMPORTING,
    ),
    Fault(
        "import: a node takes two entries of a kind",
        "elasticgpu/rules/importing.py",
        "        if (node, choice.entry.label) in found:\n",
        "        if False:\n",
        IMPORTING,
    ),
    Fault(
        "a class says each time what it says already",
        "elasticgpu/rules/accepting.py",
        "    if all(_same(find_condition(there, new.type), new) for new in conditions):",
        "    if False:",
        ACCEPTING,
    ),
    Fault(
        "refused parameters are said to be taken",
        "elasticgpu/rules/accepting.py",
        "    if view.misfit:\n        return Condition(",
        "    if False:\n        return Condition(",
        ACCEPTING,
    ),
    Fault(
        "nobody is warned of a class that cannot serve",
        "elasticgpu/controllers/classes.py",
        "                if warning:",
        "                if False:",
        ("tests/controllers/test_classes.py",),
    ),
    Fault(
        "the contract suite believes that a crash tidies up",
        "elasticgpu/testing/contract/watching.py",
        "(self._for_good or self._steps == (self._at or 0) + 1)",
        "self._steps == (self._at or 0) + 1",
        ("tests/testing/test_contract.py",),
    ),
    Fault(
        "what is held of a pool is not counted",
        "elasticgpu/rules/ledger.py",
        'NodeView("", tuple(self._sum(card, "") for card in cards))',
        'NodeView("", tuple(CardView(card, WHOLE, card.memory) for card in cards))',
        LEDGER,
    ),
    Fault(
        "two claims of a company take the same part of a pool",
        "elasticgpu/rules/colocation.py",
        "        left = _taken(left, place, mode)\n",
        "        left = left if seeker.pool else _taken(left, place, mode)\n",
        ("tests/rules/test_colocation.py",),
    ),
    Fault(
        "a backend cuts finer than its driver",
        "elasticgpu/rules/cutting.py",
        "-(-core // self.core) * self.core",
        "core",
        ("tests/rules/test_cutting.py",),
    ),
    Fault(
        "of two values of a variable the larger is taken",
        "elasticgpu/rules/variables.py",
        "if shared and values.get(name, value) != value:",
        "if shared and values.get(name, value) > value:",
        ("tests/rules/test_variables.py",),
    ),
    Fault(
        "two claims that come at once do not see each other's variables",
        "elasticgpu/agent/materialise.py",
        "        undisputed(node, asked, edits)\n",
        "        pass\n",
        ("tests/agent/test_edits.py",),
    ),
    Fault(
        "a refusal is written again each time",
        "elasticgpu/agent/edits.py",
        "return now if merged == now.status.conditions else now.with_status",
        "return now.with_status",
        ("tests/agent/test_edits.py",),
    ),
    Fault(
        "a device on no node is marked by the node",
        "elasticgpu/agent/materialise.py",
        "        if not now.spec.node_name:\n",
        "        if not now.spec.node_name and now.terminating:\n",
        ("tests/agent/test_remote.py",),
    ),
]
