"""The answer to “why”: what is said of a claim or a pod, with the cards looked at and what to do.

`why_claim` and `why_pod` find the answers: the functions that decide in the loops decide there too,
over the same views. Added is what a condition has no room for.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

CONTROLLER = "kubectl get pods -A -l app.kubernetes.io/component=controller"
AGENTS = "kubectl get pods -A -o wide -l app.kubernetes.io/component=agent"


@dataclass(frozen=True, slots=True)
class Step:
    """What somebody can do next, with the command for it where there is one."""

    text: str
    command: str = ""


@dataclass(frozen=True, slots=True)
class Holder:
    """A device on a card: what it holds of it, for which claim and pods."""

    device: str
    phase: str
    core: int
    memory: int
    claim: str = ""
    pods: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Look:
    """A card that was looked at: what is free of it, what it lacks for the claim, who holds it."""

    node: str
    card: str
    core_free: int
    memory_free: int
    lacks: str
    holders: tuple[Holder, ...] = ()


@dataclass(frozen=True, slots=True)
class Explanation:
    """The answer. `since` is a timestamp; `about` explains in turn what it waits for."""

    subject: str
    state: str
    since: str
    facts: tuple[str, ...]
    looks: tuple[Look, ...] = ()
    steps: tuple[Step, ...] = ()
    about: tuple[Explanation, ...] = ()


def sentence(text: str) -> str:
    """A clause of a condition as a sentence; a name at its beginning keeps its spelling.

    >>> sentence("no card can give 10% core"), sentence("x.io/gpu is 500")
    ('No card can give 10% core.', 'x.io/gpu is 500.')
    """
    word = text.partition(" ")[0]
    plain = word.isalpha() and word.islower()
    return f"{text[:1].upper() if plain else text[:1]}{text[1:]}."


def listed(kind: str, names: Sequence[str]) -> str:
    """The names behind their kind, in the right number.

    >>> listed("pod", ["a"]), listed("pod", ["a", "b"])
    ('pod a', 'pods a, b')
    """
    return f"{kind}{'s' if len(names) > 1 else ''} {', '.join(names)}"


def kubectl(verb: str, kind: str, namespace: str, *names: str) -> str:
    """The command for these objects.

    >>> kubectl("delete", "pod", "team", "web-0")
    'kubectl delete pod web-0 -n team'
    """
    return f"kubectl {verb} {kind} {' '.join(names)} -n {namespace}"
