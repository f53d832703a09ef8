"""What may vary from step to step: shares, noise, clip and batch by a plan that is made before the run."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import inf

import numpy as np

from zoexplore.bounds import Guarantee, guarantee
from zoexplore.bounds.bound import Trajectory
from zoexplore.bounds.conversion import epsilon_of
from zoexplore.bounds.kernels.gaussian import ROUND_UP
from zoexplore.bounds.run_arrays import LEAST_UNIT, RunArrays
from zoexplore.setting import Accounting, Setting

SCHEDULED = ("beta", "sigma", "clip", "batch")  # the learning rate is torch's schedulers' to vary
Schedule = Mapping[str, Sequence[float]] | Sequence[float] | np.ndarray | Trajectory | None


def planned(schedule: Schedule, setting: Setting) -> dict[str, list]:
    """Each scheduled field's T values; of fields that are not there the setting's holds throughout.

    Shares alone may be given as such, or as a bound's trajectory. It knows its counted steps, the last ones; those before, of
    which the bound takes nothing for granted, get its first share.

    Raises:
        ValueError: a field cannot be scheduled, there are not T values, or one is not allowed.
    """
    if schedule is None:
        return {}
    given = schedule if isinstance(schedule, Mapping) else {"beta": schedule}
    found = {}
    for name, values in given.items():
        if name not in SCHEDULED:
            raise ValueError(
                f"a schedule of {name!r} is not allowed: give {', '.join(SCHEDULED)}; eta follows torch's schedulers"
            )
        if isinstance(values, Trajectory):
            early = setting.T - len(values.beta)
            values = np.concatenate([np.full(max(early, 0), values.beta[0]), values.beta])
        values = np.asarray(values, float)
        if values.shape != (setting.T,):
            raise ValueError(f"a schedule of shape {values.shape} is not allowed: give T = {setting.T} values of {name}")
        for value in np.unique(values).tolist():
            setting.replace(**{name: value})  # refuses what cannot be
        found[name] = [int(value) if name == "batch" else float(value) for value in values]
    return found


def theorem_of(beta: np.ndarray, setting: Setting, accounting: Accounting) -> Guarantee:
    """The hidden-state theorem for given shares (full batch): shifts a_t that are best for other shares, paid at these ones.

    The theorem holds for any shifts that bring the distance to 0 and any shares. Tried are the shifts for free shares, so that
    the accountant's optimal shares give the optimal number, and those for the constant mean share.
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
    counted, runs = beta[len(beta) - len(path.beta) :], RunArrays.of(setting).counted_by(accounting)
    with np.errstate(divide="ignore", invalid="ignore"):
        data = runs.record_sensitivity**2 / 2 / counted
        shift = np.where(path.a > 0, setting.d / 2 * (path.a / runs.unit) ** 2 / (1 - counted), 0.0)
        rho = float(np.sum(data + shift)) * ROUND_UP if runs.unit > LEAST_UNIT else inf  # a has lost its digits there
    epsilon = float(epsilon_of(rho, setting.delta - reference.delta_f, accounting.conversion))
    reason = "" if epsilon < inf else "at some counted step the shares leave no noise of the kind that the theorem needs"
    return replace(reference, epsilon=epsilon, rho=rho, reason=reason, note="the theorem's sum at the run's own shares β_t")
