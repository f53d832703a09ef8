"""What to run for a target epsilon: the directions, the share and the noise, and when to take fewer public steps instead."""

from dataclasses import dataclass, replace
from math import ceil, inf, log, log1p

import numpy as np

from zoexplore.bounds import BOUNDS, Guarantee, curve, guarantee
from zoexplore.bounds.contraction import gap, lipschitz
from zoexplore.bounds.guarantee import DEFAULT
from zoexplore.formatting import format_count, format_short
from zoexplore.planning.calibration import Unreachable, calibrate
from zoexplore.setting import Accounting, Refused, Setting

SHARES = (0.0, 0.25, 0.5, 0.75, 1.0)  # of the first grid; the best is refined
FINE_SHARES = np.concatenate([[0.0], 1 / (1 + np.exp(-np.linspace(-7, 7, 29))), [1.0]])
DIRECTIONS = 24  # values of K on a grid
ROUNDS, SETTLED = 4, 1e-3
TIE = 1 + 1e-6
SLACK, SAVING = 1.01, 0.9  # 1 % of sigma is given up to save a tenth of the forward passes or more
LEARNT = 100  # a run has learnt once the distance to its end point has fallen so many times


@dataclass(frozen=True)
class Alternative:
    """Composition at the same noise with every iterate public and beta = 1.

    Args:
        steps: how many steps it affords; 0 where not even one.
        setting: that run, of at most the plan's T steps; None where steps is 0.
        better: whether it is the better plan.
        reason: why, or why not.
    """

    steps: int
    setting: Setting | None
    better: bool
    reason: str


@dataclass(frozen=True)
class Plan:
    """A run that meets a target epsilon with the least noise for what it moves.

    Args:
        setting: the run.
        epsilon: what the bound gives for it, at most the target.
        energy: noise energy of one step, (eta sigma)^2, in squared units of the parameters.
        relative_energy: the same over the squared mean step for a gradient of length 1, (d sigma)^2.
        passes: forward passes per record over the whole run, 2 K T.
        reasons: why these values, with numbers.
        supposed: what it rests on and no number can show.
        warnings: what else to be aware of, and what it costs.
        alternative: composition with fewer steps.
    """

    setting: Setting
    epsilon: float
    energy: float
    relative_energy: float
    passes: int
    reasons: tuple[str, ...]
    supposed: tuple[str, ...]
    warnings: tuple[str, ...]
    alternative: Alternative


def recommend(
    setting: Setting,
    *,
    epsilon: float,
    most_directions: int | None = None,
    bound: str = "sharp",
    accounting: Accounting = DEFAULT,
) -> Plan:
    """The K, beta and sigma of least noise with which a run of T steps at eta = K/M meets a target epsilon.

    What is made least is the noise energy of a step over its squared mean length. The energy alone, (eta sigma)^2, falls
    with eta: it would always choose K = 1, a run that is quiet because it hardly moves. The mean step is (eta/d) grad L
    whatever K and beta, so the ratio for a gradient of length 1 is (d sigma)^2, and least noise means least sigma. More
    directions never need much more noise, so that alone would choose K as large as is allowed. Where 1 % more noise saves a
    tenth of the forward passes or more, the fewest directions that it makes enough are taken, but no fewer than a strongly
    convex loss needs for the mean distance to fall 100 times in T steps.

    Args:
        setting: the data, the loss and the length of the run; its own K, beta, sigma and eta are not used.
        epsilon: the target.
        most_directions: the largest K to consider, for the sake of forward passes; d where None.
        bound, accounting: what the target is met by. A plan is a run with one share, and it is the share that is counted:
            schedule="optimal" makes no difference here.

    Raises:
        Unreachable: no noise meets the target by that bound.
        ValueError: a value is not allowed, or M = inf leaves eta = K/M without a value.

    >>> from zoexplore.planning import recommend
    >>> from zoexplore.presets import DEMONSTRATION
    >>> plan = recommend(DEMONSTRATION, epsilon=1.0, most_directions=100)
    >>> plan.setting.K, round(plan.setting.beta, 2), plan.epsilon <= 1
    (100, 0.5, True)
    """
    if setting.M == inf:
        raise Refused("M = ∞ is not allowed: a plan takes η = K/M, so give the smoothness M of the loss", "M")
    accounting = accounting.replace(schedule="constant")
    base = setting.replace(K=1, beta=0.5, eta=None)
    most = base.replace(K=base.d if most_directions is None else most_directions).K
    target = _Target(base, epsilon, bound, accounting, min(_fewest(base), most), most)
    try:
        best = target.least_noise()
    except Unreachable:  # by that bound not with so many directions
        target = replace(target, fewest=1)
        best = target.least_noise()
    return target.plan(target.fewer_directions(best))


def steps_to_learn(setting: Setting) -> float:
    """Steps in which the mean squared distance between two noiseless runs falls `LEARNT`^2 times; inf without contraction.

    A step's mean squared factor is at most 1 - (1 - c^2) K/d (docs/bounds.md, "The sharper bound", order 1).

    >>> from zoexplore.presets import DEMONSTRATION
    >>> steps_to_learn(DEMONSTRATION.replace(K=52)), steps_to_learn(DEMONSTRATION.replace(K=260))
    (99, 16)
    """
    c = float(lipschitz(setting.regime, setting.eta / setting.K, setting.M, setting.m))
    rate = gap(c) * setting.K / setting.d
    if rate <= 0:
        return inf
    return 1 if rate >= 1 else ceil(-2 * log(LEARNT) / log1p(-rate))


def _fewest(base: Setting) -> int:
    """The smallest K with which T steps are enough to learn; 1 where nothing contracts, d where T is too short for any."""
    if steps_to_learn(base.replace(K=base.d)) == inf:
        return 1
    rate = gap(float(lipschitz(base.regime, 1 / base.M, base.M, base.m)))
    return min(base.d, ceil(base.d * -np.expm1(-2 * log(LEARNT) / base.T) / rate))


@dataclass(frozen=True)
class _Target:
    """The question: least sigma over beta and K from `fewest` to `most` for a target epsilon."""

    base: Setting
    epsilon: float
    bound: str
    accounting: Accounting
    fewest: int
    most: int

    def quietest(self, K: int, beta: float) -> Setting:
        return calibrate(
            self.base.replace(K=K, beta=beta), "sigma", epsilon=self.epsilon, bound=self.bound, accounting=self.accounting
        )

    def public(self, run: Setting) -> Setting:
        """The same run with the least noise by composition, whatever its K."""
        return calibrate(run.replace(beta=1.0), "sigma", epsilon=self.epsilon, bound="composition", accounting=self.accounting)

    def least_noise(self) -> Setting:
        """Alternates: the best K and beta at a sigma (`curve`, over a grid), and the least sigma for them.

        Epsilon falls with sigma for every K and beta, so whichever has the least epsilon at the least sigma is the best. The
        first sigma is composition's, which is at hand for every run.
        """
        public = self.public(self.base)
        Ks = np.geomspace(self.fewest, self.most, DIRECTIONS).round()
        Ks = np.append(Ks, np.clip(self.base.d // 2, self.fewest, self.most))  # where the closed form and the theorem end
        starts = [public.replace(K=self.most, beta=beta) for beta in SHARES]
        grid = [self._along(start, "K", Ks) for start in starts]
        found, run = min(grid, key=lambda x: x[0])
        best = None
        for _ in range(ROUNDS):
            if found == inf:
                break
            found, run = self._along(run, "beta", np.append(FINE_SHARES, run.beta))
            if best is not None and found >= self.epsilon * (1 - SETTLED):
                break
            best = self.quietest(run.K, run.beta)
            near = np.geomspace(best.K / 1.5, best.K * 1.5, DIRECTIONS).round()
            found, run = self._along(best, "K", np.concatenate([Ks, np.clip(near, self.fewest, self.most), [best.K]]))
        return self.quietest(run.K, run.beta) if best is None else best  # the former raises, with the reason

    def _along(self, run: Setting, name: str, values: np.ndarray) -> tuple[float, Setting]:
        """The least epsilon along a field, and the run that has it; of equals the fewest directions, the largest share."""
        values = np.unique(values)[:: -1 if name == "beta" else 1]
        found = curve(run, name, values, [self.bound], self.accounting)[self.bound]
        return found.min(), run.replace(**{name: values[np.flatnonzero(found <= found.min() * TIE)[0]]})

    def fewer_directions(self, best: Setting) -> Setting:
        """The fewest directions, from `fewest` on, that 1 % more noise makes enough, if that saves a tenth of them."""
        louder = best.replace(sigma=best.sigma * SLACK)
        try:
            few = calibrate(louder, "K", epsilon=self.epsilon, bound=self.bound, accounting=self.accounting).K
        except Unreachable:
            return best
        K = max(few, self.fewest)
        if K > SAVING * best.K:
            return best
        quieter = self.quietest(K, best.beta)
        return quieter if quieter.sigma <= louder.sigma else best

    def plan(self, run: Setting) -> Plan:
        g = guarantee(run, self.bound, self.accounting)
        return Plan(
            setting=run,
            epsilon=g.epsilon,
            energy=(run.eta * run.sigma) ** 2,
            relative_energy=(run.d * run.sigma) ** 2,
            passes=2 * run.K * run.T,
            reasons=tuple(self._reasons(run)),
            supposed=tuple(check.words for check in g.checks if check.met is None),
            warnings=tuple(self._warnings(g)),
            alternative=_alternative(run, self.epsilon, self.accounting),
        )

    def _reasons(self, run: Setting):
        least = f"the least noise with which {BOUNDS[self.bound].in_text} gives ε ≤ {format_short(self.epsilon, 6)}"
        mean = f"{format_short(run.d * run.sigma)} times as long as the mean step along a gradient of length 1"
        yield f"This σ is {least} for T = {format_count(run.T)} steps. One step's noise is {mean}."
        public = self.public(run).sigma
        if run.sigma >= public * (1 - SETTLED):
            yield "Composition gives the least, with β = 1: all noise along the directions."
            if self.accounting.sensitivity == "clip" and run.clipping == "each":
                yield "Its cost does not depend on K: with more directions a step learns more, and takes more forward passes."
        else:
            yield f"By composition, with β = 1, σ would have to be {format_short(public / run.sigma)} times as large."
            if run.K == run.d:
                yield "β makes no difference: the directions span everything."
            elif self.accounting.schedule == "constant":
                yield f"β = {format_short(run.beta)} needs the least noise."
            yield from self._fewer(run)
        learnt = steps_to_learn(run)
        if learnt <= run.T:
            falls = f"to 1/{LEARNT} within {format_count(learnt)} of the {format_count(run.T)} steps"
            yield f"The mean distance between two runs falls {falls}."

    def _fewer(self, run: Setting):
        fewer = max(run.K // 4, self.fewest)
        if fewer >= run.K:
            return
        instead = f"With K = {format_count(fewer)} directions instead of {format_count(run.K)}"
        try:
            ratio = self.quietest(fewer, 0.5 if run.K == run.d else run.beta).sigma / run.sigma
            yield f"{instead}, σ would have to be {format_short(ratio)} times as large."
        except Unreachable:
            yield f"{instead}, the bound does not apply."

    def _warnings(self, g: Guarantee):
        run = g.setting
        yield from filter(None, (g.reason, g.note))
        passes = format_count(2 * run.K * run.T)
        yield f"{passes} forward passes per record: two for each of the K directions, at each of the T steps."
        learnt = steps_to_learn(run)
        if run.T < learnt < inf:
            falls = f"takes {format_count(learnt)} steps to fall to 1/{LEARNT}"
            yield f"T = {format_count(run.T)} is short: with K = {format_count(run.K)} the mean distance {falls}."


def _alternative(run: Setting, target: float, accounting: Accounting) -> Alternative:
    """Composition at the run's sigma, all noise along the directions."""
    public = run.replace(beta=1.0)
    try:
        afforded = calibrate(public, "T", epsilon=target, bound="composition", accounting=accounting)
    except Unreachable:
        return Alternative(0, None, False, "At this noise, composition does not allow a single step.")
    steps, learnt = afforded.T, steps_to_learn(run)
    shorter = afforded.replace(T=min(steps, run.T))
    falls, T = f"for the mean distance to fall to 1/{LEARNT}", format_count(run.T)
    affords = f"At this noise, composition allows {format_count(steps)} step{'s' if steps > 1 else ''}"
    if steps >= run.T:
        nothing = "hides no iterate" + (" and assumes nothing of the loss" if accounting.sensitivity == "clip" else "")
        reason = f"{affords}, and this run has T = {T}: it is the better plan, since it {nothing}."
    elif learnt <= steps:
        reason = f"{affords}, and {format_count(learnt)} are enough {falls}: stopping there is the better plan."
    elif learnt <= run.T:
        reason = f"{affords}, which is too few: it takes {format_count(learnt)} {falls}. Hiding the iterates is worth it."
    elif learnt < inf:
        reason = f"{affords}; it takes {format_count(learnt)} {falls}, so T = {T} is too few as well."
    else:
        reason = f"{affords}. If the loss has levelled off by then, stop there; what the bound buys is not having to know when."
    return Alternative(steps, shorter, steps >= run.T or learnt <= steps, reason)
