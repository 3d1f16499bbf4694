"""`docs/names.md`: every word a claim may ask in, from the table that the vocabulary reads by.

`make names` writes the page; a test says whether it is what the table says now.
"""

from __future__ import annotations

from pathlib import Path

from elasticgpu.api.quantity import MI
from elasticgpu.api.words import RULES, Rule, Word

PAGE = Path(__file__).parents[2] / "docs" / "names.md"

HEAD = """\
# What a claim may be asked in

<!-- Generated from elasticgpu/api/words.py; do not edit, run: make names -->

A claim is asked in the words of one vendor, in ours, or in a vendor's completed by ours where those
say something else. Tables are tried from the first to the last; the first whose words are there
takes them. Amounts are Kubernetes quantities and never rounded: what does not come out even is
refused. **Memory** below 1Mi counts the unit in the table, anything above is bytes: `4` may be
4 GiB, `4Gi` is 4 GiB everywhere.

The provisioner is the one that these words were made for. Which one really serves a claim is said
by its class; this release brings `elasticgpu.io/qgpu`.
"""
"""What stands above the tables."""

SAYS = {
    "gpus": "whole cards",
    "core": "percent of a card's compute",
    "memory": "memory",
    "memory_percentage": "percent of each card's memory",
    "count": "number of cards of one node",
    "tflops": "TFLOPS, dense FP16",
    "priority": "priority among the containers on a card, 0 before 1",
    "mig": "instances of that MIG profile, a claim each",
    "share": "equal shares of a card, a claim each",
}
"""What a word of each dimension says."""


def page() -> str:
    """The page, as it has to be."""
    return "\n".join([HEAD, *("\n".join(_section(rule)) for rule in RULES)])


def _section(rule: Rule) -> list[str]:
    title, _, note = rule.source.partition(": ")
    when = [f"under label `{rule.label}`, the number of cards"] if rule.label else []
    when += [f"in a namespace whose mode is `{rule.mode}`"] if rule.mode else []
    backend = f"Provisioner `{rule.backend}`." if rule.backend else "Any provisioner."
    title = title[0].upper() + title[1:] + "".join(f", {one}" for one in when)
    lines = [f"## {title}", "", f"{note[0].upper()}{note[1:]}. {backend}", ""]
    if rule.refusal:
        return [*lines, f"With {_names(rule)} refused: {rule.refusal}.", ""]
    rows = (f"| `{_name(name)}` | {_said(word)} |" for name, word in rule.words.items())
    return [*lines, "| name | asks for |", "|---|---|", *rows, ""]


def _names(rule: Rule) -> str:
    return ", ".join(f"`{_name(name)}`" for name in rule.words)


def _name(name: str) -> str:
    return f"{name}<profile>" if name.endswith("-") else name


def _said(word: Word) -> str:
    unit = "" if word.dimension != "memory" else " in MiB" if word.unit == MI else " in GiB"
    each = ", of each card" if word.each and word.dimension == "memory" else ""
    return f"{SAYS[word.dimension]}{unit}{each}"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
