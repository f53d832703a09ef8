"""Several runs on the same data: what they cost together, and what a search among them costs
(docs/batches.md, "Several runs").

>>> from zoexplore import Setting
>>> run = Setting(n=20_000, d=520, K=1, T=100, sigma=0.002, beta=1.0)
>>> together = compose([gaussian(10.0), *[run] * 3])
>>> round(together.epsilon, 2), [round(part.epsilon, 2) for part in together.parts][:2]
(3.74, [0.34, 1.99])
"""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from math import exp, inf, isnan, log, sqrt
from typing import Any, NamedTuple

import numpy as np
import scipy

from zoexplore.bounds import Guarantee, guarantee
from zoexplore.bounds.conversion import epsilon_of
from zoexplore.bounds.epsilons import BEST, DEFAULT
from zoexplore.bounds.guarantee import RISK_DELTAS
from zoexplore.bounds.kernels.gaussian import ROUND_UP
from zoexplore.bounds.known_pairs import Pairs
from zoexplore.bounds.loss_distribution import Part as Alike
from zoexplore.bounds.loss_distribution import epsilon_of_parts
from zoexplore.bounds.run_arrays import RunArrays
from zoexplore.bounds.subsampling import Sampled
from zoexplore.bounds.tradeoff import Answers, TradeOff
from zoexplore.run.refusals import number, shown, whole
from zoexplore.run.setting import Accounting, Setting

# the neighbours for each way of drawing a batch
NEIGHBOURS_OF = {"poisson": "add-remove", "without-replacement": "replace-one"}
LAWS = ("poisson", "geometric", "logarithmic")
RATES = np.append(0.0, np.geomspace(1e-15, 1.0, 20_000))  # rates of false alarms
KINDS = 48  # with more kinds of steps than this, similar kinds are merged
SLACK = 1e-9  # the relative error of a law's mean


@dataclass(frozen=True)
class Steps:
    """`count` equal steps with Gaussian noise. A step uses the record with chance `q`, and the
    record then moves the step by `mu` standard deviations of the noise. With q = 1 the steps are a
    Gaussian shift. `neighbours` is empty if any kind will do.
    """

    count: float
    q: float
    mu: float
    neighbours: str = ""


def gaussian(noise_multiplier: float, times: int = 1) -> Steps:
    """Describe `times` numbers that are released with Gaussian noise, such as counts or means. The
    noise multiplier is the noise's standard deviation divided by the most by which a number differs
    between neighbours. Neighbours are the same as for the other runs: they differ by a record that
    is added or replaced, or by a person's records.

    Raises:
        ValueError: a number is not allowed.
    """
    mu = 1 / number("noise_multiplier", noise_multiplier, above=0.0)
    return Steps(float(whole("times", times)), 1.0, mu)


def subsampled(
    noise_multiplier: float, rate: float, times: int, sampling: str = "poisson"
) -> Steps:
    """Describe steps of DP-SGD: sums over secret batches with Gaussian noise.

    Args:
        noise_multiplier: the noise's standard deviation divided by the most by which a batch's sum
            differs between neighbours.
        rate: the fraction of the records that a batch has, in (0, 1).
        times: the number of steps.
        sampling: "poisson", for a record that is added or removed, or "without-replacement", for
            one that is replaced.

    Raises:
        ValueError: a number or the sampling is not allowed.
    """
    if sampling not in NEIGHBOURS_OF:
        raise ValueError(
            f"sampling = {shown(sampling)} is not allowed: give one of {', '.join(map(repr, NEIGHBOURS_OF))}"
        )
    q = number("rate", rate, above=0.0, below=1.0)
    return replace(gaussian(noise_multiplier, times), q=q, neighbours=NEIGHBOURS_OF[sampling])


class Part(NamedTuple):
    """One of the runs: its `guarantee`, which names the bound (None if no bound was chosen);
    `epsilon`, of this run alone; its `losses`; and what it `supposes`.
    """

    guarantee: Guarantee | None
    epsilon: float
    losses: tuple[Steps | Pairs, ...]
    supposes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Composed(Answers):
    """A guarantee for several runs on the same data together, at `delta`. `neighbours` is empty if
    any kind will do.
    """

    parts: tuple[Part, ...]
    delta: float
    neighbours: str

    @cached_property
    def epsilon(self) -> float:
        """The epsilon of all runs together; inf if a part has none."""
        return self.at(self.delta)

    @property
    def valid(self) -> bool:
        return self.epsilon < inf

    @property
    def reason(self) -> str:
        """Why there is no guarantee; empty if there is one."""
        if self.valid:
            return ""
        for i, (g, *_) in enumerate(self.parts, 1):
            if g and not g.valid:
                return f"run {i} has no guarantee: {g.reason}"
        return f"the losses are too large, or known at too few δ, for δ = {self.delta:g}"

    @property
    def supposes(self) -> tuple[str, ...]:
        """The assumptions of the parts that no number can check."""
        return tuple(dict.fromkeys(words for part in self.parts for words in part.supposes))

    @cached_property
    def risk(self) -> TradeOff:
        """What all runs together allow an attacker."""
        if not self.valid:
            return TradeOff()
        shift, others = self._merged
        if not others:
            return TradeOff(rho=shift / 2)
        deltas = (*RISK_DELTAS, self.delta)
        return TradeOff(epsilons=tuple(map(self.at, deltas)), deltas=deltas)

    @cached_property
    def _merged(self) -> tuple[float, list[Steps | Pairs]]:
        """The sum of the squared Gaussian shifts, and the other losses, with equal losses merged."""
        counts: dict[Any, float] = defaultdict(float)
        for losses in (losses for part in self.parts for losses in part.losses):
            counts[replace(losses, count=1.0)] += losses.count
        shift, others = 0.0, []
        for alike, count in counts.items():
            if isinstance(alike, Steps) and alike.q == 1:
                shift += count * alike.mu**2
            else:
                others.append(replace(alike, count=count))
        return shift * ROUND_UP, others

    def at(self, delta: float) -> float:
        """Return epsilon at another delta; inf if a part has none."""
        if not all(part.losses for part in self.parts):
            return inf
        shift, others = self._merged
        if not others:
            return float(epsilon_of(shift / 2, delta))
        drawn = [
            Alike.of(s.count, s.q, [s.mu], [1.0])
            for s in _few_kinds([s for s in others if isinstance(s, Steps)])
        ]
        known = [atoms for s in others if isinstance(s, Pairs) and (atoms := s.atoms).lossy]
        sampling = "poisson" if self.neighbours == "add-remove" else "without-replacement"
        return float(
            epsilon_of_parts(sampling, drawn, np.array([shift / 2]), np.array([delta]), known)[0]
        )


def compose(
    runs: Iterable[Any], delta: float | None = None, accounting: Accounting = DEFAULT
) -> Composed:
    """Compute what runs on the same data cost together, from the distribution of their privacy
    losses. Each run is counted by its best bound.

    Args:
        runs: settings, guarantees, reports of the mechanism, results of `gaussian` and
            `subsampled`, searches, and other compositions. What a run does may depend on what
            earlier runs released; its privacy and the number of runs may not.
        delta: the delta of all together; if None, the one that all runs share.
        accounting: how the settings are counted.

    Raises:
        ValueError: there is no run; the runs have unlike neighbours, records per person or deltas;
            a run cannot be composed; or several reports may share noise or secret batches.
    """
    runs = list(runs)
    if not runs:
        raise ValueError("runs = [] is not allowed: give at least one")
    branched = _branched(
        [run.record for run in {id(run): run for run in runs}.values() if hasattr(run, "record")]
    )
    runs = [_reported(run, branched) for run in runs]
    about = [getattr(run, "setting", run) for run in runs]  # of a guarantee, its setting
    if delta is None:
        deltas = sorted({run.delta for run in about if not isinstance(run, Steps)})
        if len(deltas) != 1:
            given = ", ".join(f"{d:g}" for d in deltas) or "nothing"
            raise ValueError(f"the runs have δ = {given}: give the delta of all together")
        delta = deltas[0]
    delta = number("delta", delta, above=0.0, below=1.0)
    neighbours = {run.neighbours for run in about} - {""}
    persons = {run.records_per_person for run in about if isinstance(run, Setting)}
    for unlike, words in ((persons, "records a person"), (neighbours, "neighbours")):
        if len(unlike) > 1:
            raise ValueError(
                f"runs with unlike {words} are not composed: {', '.join(map(str, sorted(unlike)))}"
            )
    once = {id(run): run for run in runs}
    parts = {
        key: run.parts if isinstance(run, Composed) else (_part(run, delta, accounting),)
        for key, run in once.items()
    }
    return Composed(
        tuple(part for run in runs for part in parts[id(run)]), delta, next(iter(neighbours), "")
    )


def search(
    run: Any,
    *,
    runs: int | None = None,
    mean: float | None = None,
    law: str = "geometric",
    delta: float | None = None,
    accounting: Accounting = DEFAULT,
) -> Composed:
    """Compute what it costs to try several runs and to release the best one.

    Args:
        run: what is tried, as in `compose`; if the runs differ, the costliest. Each run's settings
            are drawn from a list that was made without the data, and a run is judged by what it
            releases.
        runs: the number of runs, if it is fixed. The runs are composed, and all of them may be
            seen.
        mean: the mean number of runs, above 1, in place of `runs`. The number is drawn first, by
            `law`, and nobody learns it; only the best run is released. This is cheaper (Papernot
            and Steinke 2022, doi:10.48550/arXiv.2110.03620).
        law: "geometric" (at least 1), "logarithmic" (at least 1, seldom large, the cheapest) or
            "poisson" (may be 0, seldom small).
        delta, accounting: as in `compose`.

    Raises:
        ValueError: as in `compose`; or not exactly one of `runs` and `mean` is given; or its value
            is not allowed.
    """
    if (runs is None) == (mean is None):
        raise ValueError("give either runs, how many there are, or mean, how many on average")
    if runs is not None:
        return compose([run] * whole("runs", runs), delta, accounting)
    if law not in LAWS:
        raise ValueError(
            f"law = {shown(law)} is not allowed: give one of {', '.join(map(repr, LAWS))}"
        )
    mean = number("mean", mean, above=1.0)
    alone = compose([run], delta, accounting)
    if not alone.valid:
        return alone
    deltas = RISK_DELTAS * mean * (1 + SLACK)
    kept = deltas < 1
    more = _log_ratio(alone.risk, law, mean)
    epsilons = [(alone.at(delta) + more) * ROUND_UP for delta in RISK_DELTAS[kept]]
    losses = (Pairs(tuple(epsilons), tuple(deltas[kept])),)
    return _alone(Part(None, inf, losses, alone.supposes), alone.delta, alone.neighbours)


def _log_ratio(risk: TradeOff, law: str, mean: float) -> float:
    """Return ln C, where C bounds the factor by which the ratio of the best run's density to any
    run's density differs between neighbours.
    """
    if law == "poisson":
        return mean * risk.advantage
    power, gamma = (2, 1 / mean) if law == "geometric" else (1, _gamma_of(mean))
    caught = risk.true_positive_rate(RATES[1:])
    return power * float(
        np.log((gamma + (1 - gamma) * caught) / (gamma + (1 - gamma) * RATES[:-1])).max()
    )


def _gamma_of(mean: float) -> float:
    """Return the parameter of the logarithmic law with this mean."""
    return exp(
        -scipy.optimize.brentq(lambda x: log(np.expm1(x) / x) - log(mean), 1e-12, 700.0, xtol=1e-14)
    )


def _branched(records: list[Any]) -> set[str]:
    """Return the roots that several reports share; such reports are branches of one run.

    Raises:
        ValueError: the reports may share noise, as demonstrations do, or secret batches.
    """
    if len(records) > 1 and not all(record.is_secure for record in records):
        raise ValueError(
            "several runs of which one is a demonstration may share their noise: only those of Sources.secure() are composed"
        )
    roots = [record.root for record in records]
    branched = {root for root in roots if root and roots.count(root) > 1}
    if any(record.has_secret_batches for record in records if record.root in branched):
        raise ValueError(
            "branches of one run share batches that were drawn before they parted, and several steps on one secret batch are not "
            "counted: make each run from the start"
        )
    return branched


def _reported(run: Any, branched: set[str]) -> Any:
    """Return what stands for a run in a composition. A report is counted by the guarantee with the
    least epsilon. A branch, some of whose steps other branches share, is counted by the guarantee
    that holds even if all iterates are seen. Anything else stands for itself.
    """
    guarantees = getattr(run, "guarantees", None)
    best = (
        min(guarantees.values(), key=lambda g: g.epsilon) if isinstance(guarantees, dict) else run
    )
    if isinstance(guarantees, dict) and run.record.root in branched:
        best = guarantees["composition"]
    if not isinstance(best, (Setting, Guarantee, Steps, Composed)):
        raise ValueError(
            f"{shown(run)} cannot be composed: give settings, guarantees, reports, gaussian() or subsampled()"
        )
    return best


def _part(run: Setting | Guarantee | Steps, delta: float, accounting: Accounting) -> Part:
    if isinstance(run, Steps):
        return _alone(Part(None, inf, (run,)), delta, run.neighbours).parts[0]
    if isinstance(run, Setting):
        run = guarantee(
            run.replace(delta=delta), BEST, accounting.replace(printed=False, schedule="constant")
        )
    if run.accounting.printed:
        raise ValueError("a guarantee with the printed constants cannot be composed: it is none")
    return Part(run, run.epsilon, _losses(run) if run.valid else (), run.supposes)


def _alone(part: Part, delta: float, neighbours: str) -> Composed:
    """Compose a single part, and fill in the part's own epsilon."""
    epsilon = Composed((part,), delta, neighbours).epsilon
    return Composed((part._replace(epsilon=epsilon),), delta, neighbours)


def _few_kinds(steps: list[Steps]) -> list[Steps]:
    """Return the steps; if more than `KINDS` differ, round each mu up to one of `KINDS` values."""
    if len(steps) <= KINDS:
        return steps
    mus, counts = [s.mu for s in steps], defaultdict[tuple[float, float], float](float)
    grid = np.geomspace(min(mus), max(mus) * ROUND_UP, KINDS)
    for s in steps:
        counts[s.q, float(grid[np.searchsorted(grid, s.mu)])] += s.count
    return [Steps(count, *kind) for kind, count in counts.items()]


def _losses(g: Guarantee) -> tuple[Steps | Pairs, ...]:
    """Return the losses of a valid guarantee: a Gaussian shift or equal steps on batches if the
    guarantee is one of these, else its pairs (epsilon, delta).
    """
    if g.rho < inf and g.delta_f == 0:
        return (Steps(1.0, 1.0, sqrt(2 * g.rho) * ROUND_UP),)
    if g.bound == "composition" and isnan(g.rho) and not g.setting.full_batch:
        runs = RunArrays.of(g.setting).counted_by(g.accounting)
        late = float(runs.cooled)
        kinds = ((g.setting.T - late, runs.s1 + runs.s2), (late, runs.last_noise))
        steps = [
            (count, Sampled.of(runs, noise, g.accounting)) for count, noise in kinds if count > 0
        ]
        return tuple(Steps(count, float(step.q), float(step.mu)) for count, step in steps)
    return (Pairs(tuple(map(float, g.risk.epsilons)), tuple(map(float, g.risk.deltas))),)
