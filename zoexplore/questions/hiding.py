"""Where hiding the iterates helps, over one field or two: by how much, by which bound, or why not."""

from collections.abc import Iterable
from dataclasses import dataclass
from decimal import ROUND_FLOOR, Context
from math import exp, inf, sqrt

import numpy as np

from zoexplore.bounds import BOUNDS, curve
from zoexplore.bounds.guarantee import DEFAULT, epsilon
from zoexplore.bounds.run_arrays import RunArrays
from zoexplore.run.formatting import format_short
from zoexplore.run.setting import Accounting, Setting

FEW_DIRECTIONS = 0.25  # K T/d up to which "far below" is said
LITTLE = 1.25  # times what must be paid: no more than that can be gained
LEAST_GAIN = 1.05  # a ratio of composition to the least bound below this counts as no gain
PUBLIC = "composition"
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
        neither has.
        """
        with np.errstate(invalid="ignore", divide="ignore"):
            both_nothing = (self.least == 0) & (self.composition == 0)
            return np.where(both_nothing, 1.0, self.composition / self.least)


def gain_along(
    setting: Setting, field: str, values: Iterable[float], accounting: Accounting = DEFAULT
) -> Gain:
    """The gain of hiding along a field, with all bounds compared under the run's own supposition.

    Raises:
        ValueError: the field is unknown, or a value is not allowed.

    >>> from zoexplore.run.presets import DEMONSTRATION
    >>> found = gain_along(DEMONSTRATION, "beta", [0.5, 1.0])
    >>> found.winner.tolist(), bool(found.ratio[0] > 9), found.why[1].partition(":")[0]
    (['sharp', 'composition'], True, 'β = 1')
    """
    values = np.asarray(list(values), float)
    names = [bound for bound, entry in BOUNDS.items() if entry.of_this_run]
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
    """The gain of hiding over two fields: arrays of shape (len(ys), len(xs)).

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


def least_provable(setting: Setting) -> float:
    """About the least epsilon that an analysis which reveals the directions can prove of the last
    iterate; 0 where none is known.

    The losses may be linear, and K T directions in d dimensions are nearly orthogonal: then the
    last iterate shows what a record added along each, under that step's own noise and what all
    steps' noise across their directions adds there (docs/bounds.md, section 11). Steps that
    contract do so along K directions, so that a squared distance keeps exp(-K T/d) of it.

    >>> run = Setting(n=20_000, d=10**9, K=64, T=10_000, sigma=0.01, beta=0.5, batch=200)
    >>> 0.7 < least_provable(run) / epsilon(run, "composition") <= 1
    True
    """
    s, part = setting, setting.K * setting.T / setting.d
    if (
        not _is_fresh(s)
        or part >= 1
        or (s.R, s.lipschitz) != (inf, inf)
        or (not s.full_batch and s.records_per_person > 1)
    ):
        return 0.0
    late = min(s.cooldown, s.T)
    shares = [(s.beta, s.T - late), (s.beta_at(s.T - 1), late)]
    along = max(beta for beta, count in shares if count)
    across = sum(count * (1 - beta) for beta, count in shares) * s.K / s.d / (1 - sqrt(part)) ** 2
    pulled = exp(part) if s.m > 0 or s.ridge > 0 else 1.0
    shown = {"beta": 1.0, "cooldown": 0, "sigma": s.sigma * sqrt((along + across) * pulled)}
    # Where all other records push one way, one that is replaced pushes twice as far as one that is
    # removed, and is met as often.
    kick = s.clip if s.full_batch or s.neighbours == "add-remove" else 2 * s.clip
    pair = {} if s.full_batch else {"neighbours": "add-remove", "sampling": "poisson", "clip": kick}
    return epsilon(s.replace(**shown, **pair), PUBLIC)


def _is_fresh(setting: Setting) -> bool:
    return setting.full_batch or setting.sampling in ("without-replacement", "poisson")


def truth(setting: Setting) -> str:
    """That composition is the truth, or nearly so, with the number; empty where nothing is known of
    it.

    >>> truth(Setting(n=20_000, d=10**9, K=1, T=1000, sigma=0.001, beta=0.5)).partition(",")[0]
    'KT ≪ d: composition is the truth'
    """
    least, public = least_provable(setting), epsilon(setting, PUBLIC)
    if setting.K * setting.T <= FEW_DIRECTIONS * setting.d and 0 < public <= LITTLE * least:
        within = (
            "within the digits shown"
            if public <= 1.005 * least
            else f"within a factor of {format_short(public / least, 3)}"
        )
        return (
            f"KT ≪ d: composition is the truth, {within}, for every analysis that reveals the directions. "
            f"None of them can prove less than about {format_short(_rounded_down(least))}."
        )
    runs = RunArrays.of(setting)
    pulls = setting.ridge > 0 or (runs.c < 1 and not runs.acting)
    if pulls or setting.R < inf or not _is_fresh(setting):
        return ""
    if setting.clipping == "joint":
        return "For linear losses without contraction hiding is worth nothing under a joint clip, on all records."
    most = "at most 25\u202f% of ε on all records, on fresh batches somewhat more"
    return f"For linear losses without contraction hiding is worth {most}."


def _rounded_down(x: float) -> float:
    return float(Context(prec=3, rounding=ROUND_FLOOR).create_decimal(repr(x)))


def _why_not(runs: RunArrays, accounting: Accounting) -> np.ndarray:
    """Why the sharper bound is not below composition, run by run: the first reason that holds."""
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
