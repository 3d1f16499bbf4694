"""Quantities: exact, whoever wrote them; one rule for the unit of memory."""

from __future__ import annotations

import re
from decimal import Context
from fractions import Fraction
from typing import NamedTuple

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from elasticgpu.api.quantity import MI, format_bytes, memory_bytes, parse, to_int

GI = 1 << 30
DECIMAL = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
BINARY = {"Ki": 1, "Mi": 2, "Gi": 3, "Ti": 4, "Pi": 5, "Ei": 6}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (0, 0),
        (10, 10),
        (-3, -3),
        ("10", 10),
        ("+10", 10),
        ("-10", -10),
        ("5.", 5),
        (".5", Fraction(1, 2)),
        ("1.25", Fraction(5, 4)),
        ("100m", Fraction(1, 10)),
        ("1u", Fraction(1, 10**6)),
        ("1n", Fraction(1, 10**9)),
        ("3k", 3000),
        ("3M", 3 * 10**6),
        ("1E", 10**18),
        ("1e3", 1000),
        ("1E3", 1000),
        ("1e-3", Fraction(1, 1000)),
        ("2E+2", 200),
        ("1Ki", 1024),
        ("1.5Gi", 3 << 29),
        ("8Ei", 8 << 60),
        ("0.1Ki", Fraction(1024, 10)),
    ],
)
def test_the_grammar_of_kubernetes(text: int | str, value: int | Fraction) -> None:
    """Numbers, decimal and binary suffixes, exponents; beyond 64 bits too."""
    assert parse(text) == value


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "k",
        ".",
        "-",
        "1.2.3",
        "4GB",
        "4gi",
        "4 Gi",
        "1K",
        "1e",
        "0x10",
        "1_000",
        "\u0661",
        "NaN",
        "inf",
        "1e1.5",
        "--1",
        "10\n",
        "1" * 33,
        "1e100",
        "1e999999999",
        "1e-999999999",
    ],
)
def test_what_is_no_quantity(text: str) -> None:
    """Refused at once, with what to write instead."""
    with pytest.raises(ValueError, match="is not a quantity: write a number such as 10, 4Gi or 3k"):
        parse(text)


class Written(NamedTuple):
    """A quantity as it is written, and what it is by whole numbers alone: over / under."""

    text: str
    over: int
    under: int


@st.composite
def quantities(draw: st.DrawFn) -> Written:
    """All that the grammar allows: signs, digits on either side of a point, every suffix."""
    sign = draw(st.sampled_from(["", "+", "-"]))
    digits = st.text("0123456789", max_size=13)
    whole, after = draw(digits), draw(st.none() | digits)
    assume(whole or after)
    suffix = draw(st.sampled_from([*DECIMAL, *BINARY]) | EXPONENTS)
    over, under = int(whole + (after or "")), 10 ** len(after or "")
    if suffix in BINARY:
        over *= 1024 ** BINARY[suffix]
    else:
        power = DECIMAL[suffix] if suffix in DECIMAL else int(suffix[1:])
        over, under = over * 10 ** max(power, 0), under * 10 ** max(-power, 0)
    point = "" if after is None else f".{after}"
    return Written(f"{sign}{whole}{point}{suffix}", -over if sign == "-" else over, under)


EXPONENTS = st.builds(
    "{}{}{}".format, st.sampled_from("eE"), st.sampled_from(["", "+", "-"]), st.integers(0, 99)
)
# Enough digits that the standard library's decimals do not round what 32 characters can say.
EXACT = Context(prec=400)


@given(quantities())
def test_every_quantity_is_exact(one: Written) -> None:
    """By whole numbers, which know neither fractions nor suffixes."""
    value = parse(one.text)
    assert value.numerator * one.under == one.over * value.denominator


@given(quantities())
def test_decimals_agree(one: Written) -> None:
    """The standard library's other exact numbers, from the text and its suffix."""
    number, suffix = re.fullmatch(r"([-+0-9.]+)(.*)", one.text, re.DOTALL).groups()  # type: ignore[union-attr]
    value = EXACT.create_decimal(number)
    if suffix in BINARY:
        value = EXACT.multiply(value, 1024 ** BINARY[suffix])
    else:
        value = EXACT.scaleb(value, DECIMAL[suffix] if suffix in DECIMAL else int(suffix[1:]))
    assert parse(one.text) == Fraction(value)


@given(quantities(), quantities())
def test_quantities_compare_as_what_they_are(one: Written, other: Written) -> None:
    """However they are written, and however far beyond 64 bits."""
    left, right = one.over * other.under, other.over * one.under
    assert (parse(one.text) < parse(other.text)) == (left < right)
    assert (parse(one.text) == parse(other.text)) == (left == right)


@pytest.mark.parametrize(
    ("less", "more"),
    [
        ("9223372036854775807", "9223372036854775808"),
        ("9223372036854775807", "8Ei"),
        ("8Ei", "9223372036854775809"),
        ("9007199254740992", "9007199254740993"),
        ("99E", "99000000000000000001"),
        ("9Ei", "11E"),
        ("1e-99", "1e-98"),
        ("0.1n", "1n"),
        ("-99E", "-1e-99"),
        ("9" * 32, "1e32"),
    ],
)
def test_beyond_64_bits_and_floats(less: str, more: str) -> None:
    """Where machine numbers, or Kubernetes' own, would call them equal."""
    assert parse(less) < parse(more)
    assert parse(more) > parse(less)
    assert parse(less) != parse(more)


@given(quantities())
def test_no_quantity_is_large(one: Written) -> None:
    """What 32 characters can say fits in a few hundred bits: no text costs more than another."""
    value = parse(one.text)
    assert value.numerator.bit_length() <= 32 * 4 + 99 * 4
    assert value.denominator.bit_length() <= 32 * 4 + 99 * 4


@pytest.mark.parametrize("text", ["1" * 10**6, "1e" + "9" * 10**6, "." * 10**6, 10**100, -(10**32)])
def test_what_is_too_long_is_not_looked_at(text: int | str) -> None:
    """And the refusal shows the beginning of it alone."""
    with pytest.raises(ValueError, match="is not a quantity") as refused:
        parse(text)
    assert len(str(refused.value)) < 120


@given(st.integers(-(1 << 63), (1 << 63) - 1))
def test_numbers_are_themselves(number: int) -> None:
    """As a number or as text."""
    assert parse(number) == parse(str(number)) == to_int(number) == number


@given(st.text(max_size=34))
def test_nothing_else_escapes(text: str) -> None:
    """Any text is a quantity or a ValueError."""
    try:
        value = parse(text)
    except ValueError:
        return
    assert isinstance(value, Fraction)


@pytest.mark.parametrize(
    ("text", "value"), [("3k", 3000), ("1.5k", 1500), ("1.0", 1), ("2000m", 2)]
)
def test_whole_numbers(text: str, value: int) -> None:
    """However they are written."""
    assert to_int(text) == value


@pytest.mark.parametrize("text", ["1.5", "100m", "0.1Ki"])
def test_broken_numbers(text: str) -> None:
    """Are not rounded."""
    with pytest.raises(ValueError, match=f"{re.escape(text)} is not a whole number"):
        to_int(text)


@pytest.mark.parametrize(
    ("count", "text"),
    [
        (0, "0"),
        (1, "1"),
        (1023, "1023"),
        (1024, "1Ki"),
        (1000, "1000"),
        (MI, "1Mi"),
        (4 * GI, "4Gi"),
        (1536 * MI, "1536Mi"),
        (1 << 60, "1Ei"),
        ((1 << 60) + 1, str((1 << 60) + 1)),
    ],
)
def test_bytes_in_words(count: int, text: str) -> None:
    """The largest suffix that keeps them exact."""
    assert format_bytes(count) == text


@given(st.integers(0, 1 << 70))
def test_bytes_in_words_and_back(count: int) -> None:
    """Nothing is lost on the way to a person."""
    assert parse(format_bytes(count)) == count


# -- the unit rule --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "in_mi", "in_gi"),
    [
        (1000, 1000 * MI, 1000 * GI),
        (3000, 3000 * MI, 3000 * GI),
        ("3000", 3000 * MI, 3000 * GI),
        ("3k", 3000 * MI, 3000 * GI),
        (4096, 4096 * MI, 4096 * GI),
        ("4Ki", 4096 * MI, 4096 * GI),
        ("4Gi", 4 * GI, 4 * GI),
        ("4G", 4 * 10**9, 4 * 10**9),
        (4, 4 * MI, 4 * GI),
        ("1.5", 1536 * 1024, 1536 * MI),
        (MI - 1, (MI - 1) * MI, (MI - 1) * GI),
        (MI, MI, MI),
        ("1Mi", MI, MI),
        ("0.5Mi", MI // 2 * MI, MI // 2 * GI),
        (143771 * MI, 143771 * MI, 143771 * MI),
    ],
)
def test_memory_has_one_unit_rule(value: int | str, in_mi: int, in_gi: int) -> None:
    """Below 1Mi it counts the vendor's unit, else bytes; the suffix says nothing."""
    assert memory_bytes(value) == memory_bytes(value, MI) == in_mi
    assert memory_bytes(value, GI) == in_gi


@given(st.integers(0, 1 << 40), st.sampled_from([MI, GI]))
def test_the_spelling_of_memory_does_not_matter(count: int, unit: int) -> None:
    """The API server rewrites quantities; the number of bytes stays."""
    spellings: list[int | str] = [
        count,
        str(count),
        f"{count}.0",
        f"{count}000m",
        format_bytes(count),
    ]
    if count % 1000 == 0:
        spellings.append(f"{count // 1000}k")
    assert {memory_bytes(one, unit) for one in spellings} == {memory_bytes(count, unit)}


@pytest.mark.parametrize("value", ["1048577.5", "0.0000001", "1n"])
def test_part_of_a_byte_is_refused(value: str) -> None:
    """And not rounded."""
    with pytest.raises(ValueError, match="is not a whole number of bytes"):
        memory_bytes(value)
