"""The numbers of a lesson: epsilon by each bound at each place of its sliders, rounded up."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import product
from math import inf
from typing import Any

import numpy as np

from zoexplore.bounds import BOUNDS, curve, guarantee
from zoexplore.bounds.guarantee import as_printed
from zoexplore.compute.computations import smallest
from zoexplore.run.axes import AXES
from zoexplore.run.refusals import Refused, in_symbols, shown
from zoexplore.run.setting import Accounting, Setting
from zoexplore.views.figures.by_bound import lack
from zoexplore.views.figures.game import allowed
from zoexplore.views.panels.readouts import odds
from zoexplore.views.style.inputs import rungs

# the number of places of a slider that moves alone, and of each of two that move together
ALONE, TOGETHER = 121, 31
REACH = 100.0  # a slider goes from the run's own value over REACH to REACH times that value
INFINITE, ZERO, FIRST = 0, 1, 2  # codes of inf, of 0, and of the first number with digits
_LEAST = -300  # the least exponent: below it doubles have fewer digits
# the fields with sliders: delta has none, since a change of delta changes every number
PLAIN = tuple(name for name in AXES if name != "delta")


@dataclass(frozen=True)
class Slider:
    """A field's places: its values in ascending order, and the index of the run's own value."""

    field: str
    values: tuple[float, ...]
    at: int

    @classmethod
    def of(cls, setting: Setting, field: str, points: int = ALONE) -> "Slider":
        """Make a slider of about `points` places around the run's own value. A slider of T or of a
        share covers its whole axis.

        Raises:
            ValueError: there is no such slider, or the run's value has no place on its axis.
        """
        if field not in PLAIN:
            raise ValueError(
                f"slider = {shown(field)} is not allowed: give some of {', '.join(PLAIN)}"
            )
        axis, own = AXES[field], getattr(setting, field)
        if own is None or not (axis.linear or 0 < own < inf):
            need = f"give the run a finite {field} above 0, or leave it out"
            raise ValueError(f"{field} = {shown(own)} has no place on a slider: {need}")
        values = sorted({*_values(setting, field, points), own})
        return cls(field, tuple(values), values.index(own))


def _values(setting: Setting, field: str, points: int) -> list[float]:
    """Return at most `points` of the values of the live page's slider. For T, return the values at
    which curves are computed.
    """
    axis, own = AXES[field], getattr(setting, field)
    if field == "T":
        return [int(x) for x in axis.values(setting)]
    low, high = axis.ends(setting)
    if not axis.linear:
        low, high = max(low, own / REACH), min(high, own * REACH)
    found = rungs(low, high, axis.whole, axis.linear)
    some = found[np.unique(np.linspace(0, found.size - 1, points).round().astype(int))]
    return [int(x) if axis.whole else float(x) for x in some]


def groups_of(setting: Setting, sliders: Iterable[str]) -> list[list[Slider]]:
    """Return groups of sliders that move together, from names such as "sigma" and "K+beta". T is in
    no group, because it can be moved along with each.

    Raises:
        ValueError: a name is not that of a slider or occurs twice, or a group has more than two.
    """
    named = [each.split("+") for each in sliders]
    flat = [name for group in named for name in group]
    if len(set(flat)) < len(flat) or any(len(group) > 2 for group in named):
        raise ValueError(
            f"sliders = {','.join(flat)} is not allowed: name each once, and at most two together, as in K+beta"
        )
    apart = [[name for name in group if name != "T"] for group in named]
    return [
        [Slider.of(setting, name, TOGETHER if len(g) > 1 else ALONE) for name in g]
        for g in apart
        if g
    ]


def table(
    setting: Setting, accounting: Accounting, group: Sequence[Slider], steps: Sequence[float]
) -> dict[str, Any]:
    """Return the numbers at every place of a group's sliders. The places are ordered with the last
    slider moving fastest.

    Args:
        setting: the run.
        accounting: how to count.
        group: sliders; none for the run itself.
        steps: the values of T along which every bound is tabled.

    Returns:
        `epsilons`: the numbers by place, bound and step, as differences of `codes`; `low`: the
        least exponent of the codes; `facts`: the words of `facts()` at each place for the run's T.
    """
    numbers, told, here = [], [], list(steps).index(setting.T)
    for values in product(*(slider.values for slider in group)):
        try:
            run = setting.replace(
                **{slider.field: value for slider, value in zip(group, values, strict=True)}
            )
        except Refused as error:
            numbers.append(np.full((len(BOUNDS), len(steps)), inf))
            told.append({"why": [in_symbols(str(error))] * len(BOUNDS)})
            continue
        numbers.append(np.array(list(curve(run, "T", list(steps), accounting=accounting).values())))
        own, known = facts(run, accounting)
        # take the live page's number: a curve may be a little lower, since its points exchange plans
        numbers[-1][:, here] = own
        told.append(known)
    return packed(np.array(numbers), told)


def packed(epsilons: np.ndarray, told: list[dict[str, Any]]) -> dict[str, Any]:
    """Pack epsilons by place, bound and step, shape (P, B, T), with the facts `told` of each place."""
    low, found = codes(epsilons)
    return {"low": low, "epsilons": _differences(found), "facts": told}


def facts(setting: Setting, accounting: Accounting) -> tuple[list[float], dict[str, Any]]:
    """Return (epsilons, words): a run's epsilon by each bound; and, in words, what an attacker may
    find under each way of publishing, and why a bound gives no guarantee.
    """
    found = {bound: guarantee(setting, bound, accounting) for bound in BOUNDS}
    both = {"every": found["composition"], "last": smallest(found)}
    said = {name: g.valid and not as_printed(g.bound, accounting) for name, g in both.items()}
    told = {name: odds(g.risk, setting.delta) if said[name] else "" for name, g in both.items()}
    known = {"why": [lack(g) for g in found.values()], "odds": told, "game": allowed(found)}
    return [g.epsilon for g in found.values()], known


def codes(epsilon: np.ndarray) -> tuple[int, np.ndarray]:
    """Round numbers up to four digits, and number the results on a ladder of all such numbers.

    The page shows three digits; the fourth keeps curves smooth. Rounding up to four digits and then
    to three gives the same as rounding up to three at once.

    Returns:
        (e, codes): e is the exponent of the ladder's first number, 1000 * 10^e. `codes` has
        epsilon's shape, and FIRST stands for that first number.

    >>> codes(np.array([1.0, 1.0001, 9.9996, 0.0, inf]))
    (-3, array([   2,    3, 9002,    1,    0]))
    """
    finite = (epsilon > 0) & (epsilon < inf)
    exponents = np.maximum(
        np.floor(np.log10(np.where(finite, epsilon, 1.0))).astype(int) - 3, _LEAST
    )
    low = int(exponents[finite].min(initial=0))
    found = np.where(epsilon == 0, ZERO, INFINITE)
    for e in np.unique(exponents[finite]):
        rungs, here = (
            [float(f"{digits}e{e}") for digits in range(1000, 10_000)],
            finite & (exponents == e),
        )
        found[here] = np.searchsorted(rungs, epsilon[here]) + 9000 * (e - low) + FIRST
    return low, found


def _differences(found: np.ndarray) -> list[int]:
    """Return the differences of codes along T and then from place to place. Most of them are 0."""
    along = np.diff(found, axis=-1, prepend=0)
    return [int(x) for x in np.diff(along, axis=0, prepend=0).ravel()]
