"""Numbers as text: for reading, for input boxes, and in TeX."""

import re
from decimal import ROUND_CEILING, Context, Decimal
from math import inf, isfinite, isnan
from typing import SupportsFloat

_SUPERSCRIPTS, _PLAIN = (
    str.maketrans(*each)
    for each in (("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"), ("⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "-0123456789"))
)
THIN = "\u202f"  # a narrow no-break space
_TEX = {f"{THIN}×{THIN}": r"\cdot ", THIN: r"\,", "∞": r"\infty", "−": "-"}
LONGEST_TYPED = 12  # characters that fit in an input box

# numbers in which commas can only separate groups of three digits
_GROUPED = re.compile(r"[+-]?[1-9]\d{0,2}(,\d{3}){2,}(\.\d*)?|[+-]?[1-9]\d{0,2}(,\d{3})+\.\d*")
_SPACED = re.compile(r"[+-]?\d{1,3}([\s_]\d{3})+(\.\d*)?")
_INFINITE = re.compile(r"([+-]?)(?:∞|\.?inf(?:inity)?)", re.IGNORECASE)


def format_power(exponent: int) -> str:
    """Write 10 to a whole power, in Unicode."""
    return "10" + str(exponent).translate(_SUPERSCRIPTS)


def format_number(x: float, figures: int = 3) -> str:
    """Write a number rounded up, as a privacy loss must be, to `figures` digits: 3.75, 0.0267,
    7 160, 2.76 × 10⁶, ∞.
    """
    if isnan(x):
        return "–"
    if not isfinite(x):
        return "∞" if x > 0 else "−∞"
    if x == 0:
        return "0"
    rounded = _up(x, figures)
    exponent = rounded.adjusted()
    if -4 <= exponent < 5:
        return f"{rounded:,.{max(figures - 1 - exponent, 0)}f}".replace(",", THIN)
    return f"{rounded.scaleb(-exponent):.{figures - 1}f}{THIN}×{THIN}{format_power(exponent)}"


def _up(x: float, figures: int) -> Decimal:
    """Round up the shortest decimal of a float, which is 1.5 for 1.5, to `figures` digits."""
    return Context(prec=figures, rounding=ROUND_CEILING).create_decimal(repr(float(x)))


def format_percent(x: float, figures: int = 2) -> str:
    """Write a probability in percent, rounded up: 1.9 %.

    >>> format_percent(0.0183), format_percent(0.07), format_percent(1)
    ('1.9\u202f%', '7.0\u202f%', '100\u202f%')
    """
    return f"{format_number(_hundredfold(x), figures)}{THIN}%"


def format_share(x: float, space: str = " ") -> str:
    """Write a probability in percent, exactly, with `space` before the sign."""
    return f"{format_exact(_hundredfold(x))}{space}%"


def _hundredfold(x: float) -> float:
    """Return 100 x without rounding: 100 * 0.07 is a little more than 7 in doubles."""
    return float(Decimal(repr(float(x))).scaleb(2))


def format_sentence(words: str) -> str:
    """Turn clauses into sentences, without the last full stop. A sentence begins with a capital,
    unless it begins with a symbol.

    >>> format_sentence("a clip may act; b = 8 is below n")
    'A clip may act. b = 8 is below n'
    """
    return ". ".join(
        re.sub(r"^(?!\S+ = )(a |[a-z]{2})", lambda first: first[0].capitalize(), each)
        for each in words.split("; ")
    )


def format_count(count: SupportsFloat) -> str:
    """Write a count in groups of three digits."""
    x = float(count)
    return f"{x:,.0f}".replace(",", THIN) if x < 1e15 else format_number(x)


def format_short(number: SupportsFloat, figures: int = 3) -> str:
    """Write a number in its shortest form, rounded to the nearest: 10⁻⁵, 2 × 10⁻⁶, 0.001, 0.25,
    1 000, ∞.
    """
    x = float(number)
    if not isfinite(x) or x == 0:
        return format_number(x)
    mantissa, exponent = f"{x:.{figures - 1}e}".split("e")
    if -4 < int(exponent) < 5:
        return f"{float(f'{x:.{figures}g}'):,}".removesuffix(".0").replace(",", THIN)
    power, times = format_power(int(exponent)), f"{float(mantissa):.{figures}g}"
    return power if times == "1" else f"{times}{THIN}×{THIN}{power}"


def format_delta(delta: float) -> str:
    """Write a target δ in its shortest form, rounded up, so that no guarantee is shown at a smaller
    δ than it was computed for.

    >>> format_delta(1e-5), format_delta(1 / 8103)
    ('10⁻⁵', '1.24\u202f×\u202f10⁻⁴')
    """
    return format_short(round_up(delta, 3))


def format_exact(x: float | None) -> str:
    """Return the shortest text that reads back as exactly this value."""
    if x is None:
        return ""
    if x == inf:
        return "∞"
    if isinstance(x, int) and (abs(x) < 10**6 or int(float(f"{x:.3e}")) != x):
        return str(x)
    text = f"{x:.3e}" if isinstance(x, int) else repr(float(x))
    mantissa, e, exponent = text.partition("e")
    if "." in mantissa:
        mantissa = mantissa.rstrip("0").rstrip(".")
    return mantissa + (f"e{int(exponent)}" if e else "")


def format_typed(x: float | None) -> str:
    """Write a value for an input box. Whole numbers are exact: in groups of three digits or, from
    10⁹ on, with an exponent if four digits suffice. Other long numbers have six digits, so that no
    exponent is cut off.

    >>> [format_typed(x).replace(THIN, " ") for x in (10**6, 10**9, 2**31, 0.001, 3.293432762980055e-08)]
    ['1 000 000', '1e9', '2 147 483 648', '0.001', '3.29343e-8']
    """
    exact = format_exact(x)
    if isinstance(x, int) and (abs(x) < 10**9 or exact.isdigit()):
        return format_count(x)
    if isinstance(x, float) and len(exact) > LONGEST_TYPED:
        return format_exact(float(f"{x:.6g}"))
    return exact


def parse_number(text: str) -> float:
    """Read a number that somebody typed or wrote in a file: 23456, 016, 20 000, 1,000,000, 1e-3, ∞,
    .inf. All digits are decimal.

    Raises:
        ValueError: the text is not a number, or a comma in it is ambiguous, as in 0,001 and 20,000.
    """
    cleaned = text.strip().replace("−", "-")
    if _SPACED.fullmatch(cleaned):
        cleaned = re.sub(r"[\s_]", "", cleaned)
    if _GROUPED.fullmatch(cleaned):
        cleaned = cleaned.replace(",", "")
    elif "," in cleaned:
        raise ValueError("give a number with a decimal point and no commas, such as 0.001 or 20000")
    if infinite := _INFINITE.fullmatch(cleaned):
        return float(f"{infinite[1]}inf")
    try:
        cleaned = cleaned.replace("_", "?")  # Python accepts _ between any digits
        return int(cleaned) if cleaned.lstrip("+-").isdigit() else float(cleaned)
    except ValueError:
        raise ValueError("give a number, such as 20, 0.001 or 1e-3") from None


def format_tex(x: float) -> str:
    """Write a number in TeX, rounded to the nearest: 0.5, 20\\,000, 2.75\\cdot 10^{6}, 10^{-6};
    "undefined" for nan.
    """
    if isnan(x):
        return r"\text{undefined}"
    text = format_count(x) if abs(x) < 1e6 and x == int(x) else format_short(x, 4)
    for shown, tex in _TEX.items():
        text = text.replace(shown, tex)
    return re.sub("[⁻⁰¹²³⁴-⁹]+", lambda power: f"^{{{power[0].translate(_PLAIN)}}}", text)


def bound_in_tex(x: float) -> str:
    """Write an upper bound in TeX, rounded up."""
    return format_tex(round_up(x))


def round_up(x: float, figures: int = 4) -> float:
    """Round x up, to `figures` digits, so that no loss is shown smaller than it is."""
    return float(_up(x, figures))
