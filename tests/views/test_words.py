"""Numbers as a reader wants them, and as one types them."""

from math import inf, nan

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zoexplore import BOUNDS, guarantee
from zoexplore.bounds.words import words_of
from zoexplore.run.formatting import format_count, format_exact, format_number, parse_number
from zoexplore.run.presets import DEMONSTRATION

THIN = "\u202f"


@pytest.mark.parametrize(
    ("x", "shown"),
    [
        (3.7435, "3.75"),
        (3.75, "3.75"),
        (0.1, "0.100"),
        (0.026631, "0.0267"),
        (0.30000000000000004, "0.301"),
        (12345.0, f"12{THIN}400"),
        (0.94, "0.940"),
        (9.996, "10.0"),
        (999.6, f"1{THIN}000"),
        (7158.2, f"7{THIN}160"),
        (2754112.9, f"2.76{THIN}×{THIN}10⁶"),
        (1.5e-9, f"1.50{THIN}×{THIN}10⁻⁹"),
        (0.0, "0"),
        (inf, "∞"),
        (nan, "–"),
    ],
)
def test_three_significant_digits(x, shown):
    assert format_number(x) == shown


@given(st.floats(1e-300, 1e300), st.integers(1, 6))
def test_what_is_shown_is_never_smaller_and_hardly_larger(x, figures):
    mantissa, _, exponent = format_number(x, figures).replace(THIN, "").partition("×10")
    shown = float(
        f"{mantissa}e{exponent.translate(str.maketrans('⁻⁰¹²³⁴⁵⁶⁷⁸⁹', '-0123456789')) or 0}"
    )
    assert x <= shown <= x * (1 + 10.0 ** (1 - figures)) * (1 + 1e-12)


EXACT = [
    1,
    260,
    20_000,
    999_999,
    2_500_000,
    1_234_567,
    10**9,
    1e-5,
    0.001,
    0.31,
    346.6666666666667,
    inf,
]
TYPED = [("23456", 23456), ("20 000", 20_000), ("1e-3", 1e-3), ("∞", inf), ("inf", inf)]
TYPED += [("1,000,000", 10**6), ("20,000.5", 20_000.5)]


@pytest.mark.parametrize("x", EXACT)
def test_what_is_shown_for_editing_is_the_exact_value(x):
    assert parse_number(format_exact(x)) == x


@pytest.mark.parametrize(("text", "x"), TYPED)
def test_what_people_type(text, x):
    assert parse_number(text) == x


def test_whole_numbers_stay_whole():
    assert isinstance(parse_number("600"), int)


@pytest.mark.parametrize("text", ["0,001", "1,5", "20,000", "1,000", "1e-3,5", "0,000,001"])
def test_a_comma_that_may_be_a_point_is_refused_with_a_hint(text):
    with pytest.raises(ValueError, match="with a decimal point and no commas"):
        parse_number(text)


@pytest.mark.parametrize("text", ["", "many", "1..2"])
def test_what_is_no_number(text):
    with pytest.raises(ValueError):
        parse_number(text)


def test_counts_are_grouped():
    assert format_count(1234567) == f"1{THIN}234{THIN}567"


@pytest.mark.parametrize(
    "bound", ["composition", "output-perturbation", "corollary", "theorem", "sharp"]
)
@pytest.mark.parametrize("T", [1, 200, 10**6])
def test_every_bound_of_the_run_can_say_why(bound, T):
    if bound in BOUNDS:
        assert len(words_of(bound).explain(guarantee(DEMONSTRATION.replace(T=T), bound))) > 40
