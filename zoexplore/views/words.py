"""Numbers as a reader wants them, and what a lecturer would say of them."""

from decimal import ROUND_CEILING, Decimal
from math import inf, isfinite, isnan

from zoexplore.bounds import Guarantee

_SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
THIN = "\u202f"  # narrow, and not to be broken at


def power(exponent: int) -> str:
    """10 to a whole power, in Unicode."""
    return "10" + str(exponent).translate(_SUPERSCRIPTS)


def digits(x: float, figures: int = 3) -> str:
    """A number to so many significant digits: 3.75, 0.0267, 7 160, 2.76 × 10⁶, ∞.

    Rounded up, since most are privacy losses, and one must never be shown smaller than it is.
    """
    if isnan(x):
        return "–"
    if not isfinite(x):
        return "∞" if x > 0 else "−∞"
    if x == 0:
        return "0"
    exact = Decimal(repr(float(x)))  # the shortest decimal that is this float: 1.5 stays 1.5
    rounded = _up(exact, exact.adjusted(), figures)
    exponent = rounded.adjusted()  # 9.996 is 10.0
    rounded = _up(rounded, exponent, figures)
    if -4 <= exponent < 5:
        return f"{rounded:,.{max(figures - 1 - exponent, 0)}f}".replace(",", THIN)
    return f"{rounded.scaleb(-exponent):.{figures - 1}f}{THIN}×{THIN}{power(exponent)}"


def _up(x: Decimal, exponent: int, figures: int) -> Decimal:
    """The least decimal with so many figures from 10^exponent on that is no less than x."""
    return x.quantize(Decimal(1).scaleb(exponent + 1 - figures), rounding=ROUND_CEILING)


def whole(x: float) -> str:
    """A count, in groups of three digits."""
    return f"{x:,.0f}".replace(",", THIN) if x < 1e15 else digits(x)


def plain(x: float | None) -> str:
    """A value as one would type it: exact, and short where that is exact too."""
    if x is None:
        return ""
    if x == inf:
        return "∞"
    if isinstance(x, int):
        short = f"{x:.3e}"
        if abs(x) < 10**6 or int(float(short)) != x:
            return str(x)
        text = short
    else:
        text = repr(float(x))
    mantissa, e, exponent = text.partition("e")
    if "." in mantissa:
        mantissa = mantissa.rstrip("0").rstrip(".")
    return mantissa + (f"e{int(exponent)}" if e else "")


def number(text: str) -> float:
    """What somebody typed, as a number: 23456, 20 000, 1e-3, ∞.

    Raises:
        ValueError: it is none.
    """
    cleaned = "".join(text.split()).replace(THIN, "").replace("_", "").replace(",", "").replace("−", "-")
    if cleaned in ("∞", "+∞"):
        return inf
    return int(cleaned) if cleaned.lstrip("+-").isdigit() else float(cleaned)


def why(g: Guarantee) -> str:
    """Why a bound gives what it gives, in a sentence or two for somebody who has not read the paper."""
    teller = _WHY.get(g.bound)
    return teller(g) if teller else ""


def _composition(g: Guarantee) -> str:
    return (
        f"Every one of the {whole(g.setting.T)} steps is paid for, as if each iterate had been published: "
        "no bound that uses their being hidden is smaller here."
    )


def _hidden(g: Guarantee) -> str:
    T = g.setting.T
    if g.start == 0:
        return (
            "Only the last iterate is released. Two runs that differ in one record start at the same point; what the "
            f"record does early on, the later of the {whole(T)} steps shrink and cover with noise."
        )
    earlier = T - g.N
    free = f"The {whole(earlier)} before them are free, as are further ones." if earlier else "Further ones are free."
    return (
        f"Only the last iterate is released. Whatever happened before, two runs are at most 2R = {digits(g.start)} "
        f"apart, and the noise of the last {whole(g.N)} steps hides that distance. {free}"
    )


def _one_step(g: Guarantee) -> str:
    return (
        f"The last step's noise alone hides two runs that are as far apart as the ball is wide, "
        f"2R = {digits(g.start)}; how long they trained does not matter."
    )


_WHY = {
    "composition": _composition,
    "output-perturbation": _one_step,
    "corollary": _hidden,
    "theorem": _hidden,
    "sharp": _hidden,
}
