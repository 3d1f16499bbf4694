"""Names: which are taken, and those that the server makes up."""

from __future__ import annotations

import re
from random import Random
from typing import Literal

_ALPHABET = "bcdfghjklmnpqrstvwxz2456789"
_LONGEST_BASE = 58
_LABEL = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")
_SUBDOMAIN = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")

_NO_SUBDOMAIN = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or "
    "'.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used "
    "for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
)
_NO_LABEL = (
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and "
    "must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used "
    "for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')"
)


def made_up(base: str, random: Random) -> str:
    """A fresh name that begins with `base`."""
    return base[:_LONGEST_BASE] + "".join(random.choices(_ALPHABET, k=5))


def faults(name: str, grammar: Literal["subdomain", "label", "path"]) -> list[str]:
    """What is wrong with a name, in Kubernetes' words.

    >>> faults("train-0", "label"), faults("a.b", "subdomain"), len(faults("Train", "subdomain"))
    ([], [], 1)
    """
    if grammar == "path":
        return [f"may not contain '{bad}'" for bad in ("/", "%") if bad in name]
    most, pattern, words = (
        (253, _SUBDOMAIN, _NO_SUBDOMAIN) if grammar == "subdomain" else (63, _LABEL, _NO_LABEL)
    )
    long = [f"must be no more than {most} bytes"] if len(name) > most else []
    return long + ([] if pattern.fullmatch(name) else [words])
