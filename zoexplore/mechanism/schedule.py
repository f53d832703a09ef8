"""The directional share of every step: constant, or a schedule of its own."""

from collections.abc import Sequence
from dataclasses import replace
from math import inf

import numpy as np

from zoexplore.bounds import Guarantee, guarantee
from zoexplore.bounds.bound import Trajectory
from zoexplore.bounds.conversion import epsilon_of
from zoexplore.bounds.runs import LEAST_UNIT, Runs
from zoexplore.setting import Accounting, Setting

ROUND_UP = 1 + 1e-12
ULPS_UP = 1 + 4e-16
Schedule = Sequence[float] | np.ndarray | Trajectory | None


def shares(schedule: Schedule, setting: Setting) -> np.ndarray | None:
    """The shares beta_t of all T steps, shape (T,); None where they all are the setting's.

    A bound's trajectory knows its counted steps, the last ones; those before, of which the bound takes nothing for granted, get
    its first share.

    Raises:
        ValueError: there are not T shares, or one is not in [0, 1].
    """
    if schedule is None:
        return None
    if isinstance(schedule, Trajectory):
        early = setting.T - len(schedule.beta)
        beta = np.concatenate([np.full(max(early, 0), schedule.beta[0]), schedule.beta])
    else:
        beta = np.array(schedule, float)
    if beta.shape != (setting.T,):
        raise ValueError(f"a schedule of shape {beta.shape} is not allowed: give T = {setting.T} shares, or a bound's trajectory")
    wrong = beta[~((beta >= 0) & (beta <= 1))]
    if wrong.size:
        raise ValueError(f"a share of {wrong[0]} is not allowed: give numbers in [0, 1]")
    return beta


def constant_of_composition(beta: np.ndarray, setting: Setting) -> float:
    """The constant share whose composition costs what the given shares cost together, or a little more (full batch).

    A step costs (2 Delta/n)^2/(2 sigma^2 h_t) with h_t = beta_t + (1 - beta_t) K/d, so that h is the harmonic mean.
    """
    least = setting.K / setting.d
    if least == 1:
        return float(beta.min())  # the directions span everything: the split changes nothing
    h = 1 / np.mean(1 / np.maximum(beta + (1 - beta) * least, 1e-300))
    return float(np.clip((h - least) / (1 - least) - (ROUND_UP - 1), beta.min(), beta.max()))


def dominated(beta: np.ndarray, setting: Setting) -> Setting:
    """A run of constant share, no more private by any bound than the one with the given shares.

    Each step's noise has variance S_t in the span and s2_t outside it. A run with constant S = min S_t and s2 = min s2_t becomes
    the given one by adding independent noise, drawn without looking at the data: for each value of that noise the step
    maps are shifted by the same vector for both data sets, and every bound holds as it stands; so it does for the mixture.
    S and s2 are those of a setting with a smaller sigma and a share in between.
    """
    low, high, ratio = float(beta.min()), float(beta.max()), setting.K / setting.d
    along, across = low + (high - low) * ratio, 1 - high
    power = along + across
    if low == high or power == 0:
        return setting.replace(beta=low)
    return setting.replace(sigma=setting.sigma * np.sqrt(power) / ROUND_UP, beta=min(1.0, along / power * ULPS_UP))


def theorem_of(beta: np.ndarray, setting: Setting, accounting: Accounting) -> Guarantee:
    """The hidden-state theorem for given shares (full batch): shifts a_t that are best for other shares, paid at these ones.

    The theorem holds for any shifts that bring the distance to 0 and any shares (BOUNDS section 5). Tried are the shifts
    for free shares, so that the accountant's optimal shares give the optimal number, and those for the constant mean share.
    """
    references = (
        guarantee(setting, "theorem", accounting.replace(schedule="optimal")),
        guarantee(setting.replace(beta=float(beta.mean())), "theorem", accounting),
    )
    return min((_paid_at(beta, reference) for reference in references), key=lambda g: g.epsilon)


def _paid_at(beta: np.ndarray, reference: Guarantee) -> Guarantee:
    """A guarantee of the theorem with the costs of its shifts, and of the data, at other shares."""
    setting, accounting, path = reference.setting, reference.accounting, reference.trajectory
    if path is None:
        return reference
    counted, runs = beta[len(beta) - len(path.beta) :], Runs.of(setting)
    with np.errstate(divide="ignore", invalid="ignore"):
        data = runs.record**2 / 2 / counted
        shift = np.where(path.a > 0, setting.d / 2 * (path.a / runs.unit) ** 2 / (1 - counted), 0.0)
        rho = float(np.sum(data + shift)) * ROUND_UP if runs.unit > LEAST_UNIT else inf  # a has lost its digits there
    epsilon = float(epsilon_of(rho, setting.delta - reference.delta_f, accounting.conversion))
    reason = "" if epsilon < inf else "at some counted step the shares leave no noise of the kind that the theorem needs"
    return replace(reference, epsilon=epsilon, rho=rho, reason=reason, note="the theorem's sum at the run's own shares β_t")
