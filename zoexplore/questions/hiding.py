"""Where hiding the iterates helps, over one field or two: by how much, by which bound, or why not."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from zoexplore.bounds import BOUNDS, curve
from zoexplore.bounds.epsilons import DEFAULT, on_this_run
from zoexplore.bounds.lower import PUBLIC
from zoexplore.bounds.run_arrays import RunArrays
from zoexplore.run.setting import Accounting, Setting

# nothing counts as gained if composition exceeds the least bound by less than this factor
LEAST_GAIN = 1.05
ALONG_ALL = "β = 1: all noise is along the directions, so that none covers what earlier steps left across them; only composition is left."
IN_SHUFFLED_ORDER = (
    "Batches are shuffled: the worst order in which they can come costs as much as composition."
)
NO_RIDGE = (
    "The clip may act, and then only a ridge outside it pulls two runs together; there is none."
)
NO_PULL = "A step does not pull two runs together: the loss is not strongly convex, or the step too large."
TOO_SHORT = "The run is too short, or its steps too weak, to wear down what earlier steps left."


@dataclass(frozen=True)
class Gain:
    """The gain of hiding the iterates for some runs: arrays of one shape.

    Args:
        composition: epsilon if every iterate is published.
        least: the least epsilon of the bounds on this run, composition among them.
        winner: that bound's id; composition's where nothing is gained, empty where no bound
            applies.
        why: the reason for no gain, as a sentence; empty where there is a gain.
    """

    composition: np.ndarray
    least: np.ndarray
    winner: np.ndarray
    why: np.ndarray

    @property
    def ratio(self) -> np.ndarray:
        """composition/least, at least 1; inf where only hidden iterates have a guarantee, nan where
        there is none at all.
        """
        with np.errstate(invalid="ignore", divide="ignore"):
            both_nothing = (self.least == 0) & (self.composition == 0)
            return np.where(both_nothing, 1.0, self.composition / self.least)


def gain_along(
    setting: Setting, field: str, values: Iterable[float], accounting: Accounting = DEFAULT
) -> Gain:
    """Return the gain of hiding along a field, with all bounds compared under the run's own
    assumptions.

    Raises:
        ValueError: the field is unknown, or a value is not allowed.

    >>> from zoexplore.run.presets import DEMONSTRATION
    >>> found = gain_along(DEMONSTRATION, "beta", [0.5, 1.0])
    >>> found.winner.tolist(), bool(found.ratio[0] > 9), found.why[1].partition(":")[0]
    (['sharp', 'composition'], True, 'β = 1')
    """
    values = np.asarray(list(values), float)
    names = on_this_run()
    epsilons = curve(setting, field, values, names, accounting.replace(printed=False))
    rows = np.array([epsilons[name] for name in names])
    composition, least = epsilons[PUBLIC], rows.min(axis=0)
    with np.errstate(invalid="ignore"):
        gained = (composition > LEAST_GAIN * least) & np.isfinite(least)
    best = np.array(names, dtype=object)[rows.argmin(axis=0)]
    winner = np.where(gained, best, np.where(np.isfinite(composition), PUBLIC, ""))
    runs = RunArrays.along(setting, field, values).counted_by(accounting)
    return Gain(composition, least, winner, np.where(gained, "", _why_not(runs, accounting)))


def gain_map(
    setting: Setting,
    x: str,
    y: str,
    xs: Iterable[float],
    ys: Iterable[float],
    accounting: Accounting = DEFAULT,
) -> Gain:
    """Return the gain of hiding over two fields: arrays of shape (len(ys), len(xs)).

    Raises:
        ValueError: a field is unknown, or a value is not allowed.

    >>> from zoexplore.run.presets import DEMONSTRATION
    >>> gain_map(DEMONSTRATION, "T", "beta", [1, 1000], [0.5, 1.0]).ratio.round()
    array([[ 1., 25.],
           [ 1.,  1.]])
    """
    xs = list(xs)
    rows = [gain_along(setting.replace(**{y: value}), x, xs, accounting) for value in ys]
    return Gain(*(np.array([getattr(row, name) for row in rows]) for name in Gain.__annotations__))


def _why_not(runs: RunArrays, accounting: Accounting) -> np.ndarray:
    """Return, run by run, the first reason why the sharper bound is not below composition."""
    with np.errstate(all="ignore"):
        reasons = {
            ALONG_ALL: (runs.last_beta == 1) & (runs.K < runs.d),
            **{
                f"An assumption fails: {assumption.words}": ~np.asarray(
                    assumption.holds(runs, accounting)
                )
                for assumption in BOUNDS["sharp"].assumptions
                if assumption.holds
            },
            IN_SHUFFLED_ORDER: (runs.batch < runs.n) & (runs.setting.sampling == "shuffled"),
            NO_RIDGE: runs.acting & (runs.ridge == 0),
            NO_PULL: ~(runs.c < 1),
        }
    holding = [np.broadcast_to(holds, runs.shape) for holds in reasons.values()]
    return np.select(holding, list(reasons), TOO_SHORT).astype(object)
