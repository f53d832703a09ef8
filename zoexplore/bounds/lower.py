"""Where composition can hardly be improved: the least epsilon that an analysis can prove if it
reveals the directions (docs/bounds.md, section 11).
"""

from decimal import ROUND_FLOOR, Context
from math import exp, inf, sqrt

from zoexplore.bounds.epsilons import epsilon
from zoexplore.bounds.run_arrays import RunArrays
from zoexplore.run.formatting import format_short
from zoexplore.run.setting import Setting

PUBLIC = "composition"
FEW_DIRECTIONS = 0.25  # the largest K T/d at which K T counts as far below d
LITTLE = 1.25  # within this factor of the least provable epsilon, composition counts as the truth


def least_provable(setting: Setting) -> float:
    """Estimate the least epsilon that an analysis can prove for the last iterate if it reveals the
    directions; 0 if no estimate is known.

    The losses may be linear, and K T directions in d dimensions are nearly orthogonal. So the last
    iterate shows what a record added along each direction (docs/bounds.md, section 11). Only two
    kinds of noise cover this: the step's own noise along the direction, and the noise of all steps
    across their directions. A step contracts along its K directions alone, so a fraction exp(-K
    T/d) of a squared distance stays.

    >>> run = Setting(n=20_000, d=10**9, K=64, T=10_000, sigma=0.01, beta=0.5, batch=200)
    >>> round(least_provable(run), 3)
    13.926
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
    # If all other records push one way, a replaced record pushes twice as far as a removed one, and
    # batches hold it as often.
    kick = s.clip if s.full_batch or s.neighbours == "add-remove" else 2 * s.clip
    pair = {} if s.full_batch else {"neighbours": "add-remove", "sampling": "poisson", "clip": kick}
    return epsilon(s.replace(**shown, **pair), PUBLIC)


def _is_fresh(setting: Setting) -> bool:
    return setting.full_batch or setting.sampling in ("without-replacement", "poisson")


def truth(setting: Setting) -> str:
    """Say how near composition is to what can be proved, or how little hiding is worth; return ""
    if neither is known.

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
