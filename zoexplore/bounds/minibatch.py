"""The hidden-state theorem and our sharper bound for runs on batches (proofs in docs/minibatch.md).

N counted steps pay N r_alpha for the differing record and alpha times a Gaussian budget for the drift. Both searches take
turns: over what sets the budget at a fixed order alpha, then over alpha. Whatever they return is sound.
"""

from dataclasses import dataclass, replace
from functools import reduce
from itertools import product
from typing import Any

import numpy as np

from zoexplore.bounds.bound import Solved
from zoexplore.bounds.conversion import epsilon_at_order
from zoexplore.bounds.kernels import shifts
from zoexplore.bounds.kernels.caps import cap_cost
from zoexplore.bounds.kernels.norms import complement_moment, span_moment, step_constant
from zoexplore.bounds.runs import Runs
from zoexplore.bounds.search import best_share, golden
from zoexplore.bounds.subsampling import Sampled, composed, exact, of_losses, solved
from zoexplore.setting import NUMERIC_FIELDS, Accounting

FIRST_ORDER, FIRST_SHARE = 1.2, 0.1  # low, so that it is on this side of where full batches show
ROUNDS = 8
LONGEST, HIGHEST = np.log(2.0**40), np.log(2e4)  # steps, and orders of the moments, that are tried
FIRST_MOMENTS = (1.0, 16.0)  # low orders go with many steps, high ones with few: two optima
LATE_SHARES = (0.5, 0.7, 0.8, 0.87, 0.92, 0.95, 0.975, 0.99)  # of the span's noise, for the differing record, at every step
HELD = 3  # rounds for the rest to settle around them
MOST_NODES = 25  # rows at which the sharper bound's choices are made; those in between interpolate them


def theorem(runs: Runs, accounting: Accounting, geometry) -> Solved:
    """The theorem with N r_alpha(b/n, 2 Delta/(b sqrt(beta) sigma)) + alpha sum a_t^2/(2 s2); one best beta if it is free.

    Args:
        geometry: function of runs, returning the kernels' first arguments after T and delta_f: K, d, gap, diameter, kick,
            drift. One step moves two runs apart by at most the kick whatever their batches.
    """
    free = accounting.schedule == "optimal"
    beta = np.ones(()) if free else runs.beta
    everything = Sampled.of(runs, beta / runs.K, accounting)
    best = composed(everything, runs.T, runs.delta, accounting, beta=beta)
    from_diameter = _counted(runs, accounting, geometry(runs), np.full((), np.inf))
    best = best.least(from_diameter.where(from_diameter.N <= runs.T))
    return _from_forward_tracking(runs, accounting, geometry, everything, best)


def _counted(runs: Runs, accounting: Accounting, geometry: tuple, T) -> Solved:
    """The best counted steps, split of delta, order and, where free, beta, for runs of T steps (inf: any number)."""
    free = accounting.schedule == "optimal"
    fixed = (runs.delta, runs.batch, runs.n, runs.sigma, runs.clip, runs.beta, *geometry)
    shape = np.broadcast_shapes(*map(np.shape, (T, *fixed)))
    share, alpha = np.full(shape, FIRST_SHARE), np.full(shape, FIRST_ORDER)
    beta = np.full(shape, 0.5) if free else np.broadcast_to(runs.beta, shape)
    most = np.where(np.isfinite(T), T - 1, shifts.MOST_STEPS)

    def sampled(beta):
        return Sampled.of(runs, beta / runs.K, accounting)

    def budget(N, share, beta):
        return shifts.theorem_rho(N, T, np.log(share * runs.delta), *geometry, beta, 0.0, runs.d / 2)

    def epsilon(N, share, beta, alpha, cost):
        divergence = N * cost + alpha * budget(N, share, beta)
        return epsilon_at_order(divergence, alpha, runs.delta * (1 - share), accounting.conversion)

    cost = sampled(beta).divergence(alpha)
    for _ in range(ROUNDS):
        at = (np.log(share * runs.delta), *geometry, beta, beta * cost, alpha * runs.d / 2)
        N = shifts.theorem_steps(T, most, *at)
        share = best_share(lambda x, N=N, cost=cost, beta=beta, alpha=alpha: epsilon(N, x, beta, alpha, cost), shape)
        if free:

            def by_beta(x, N=N, share=share, alpha=alpha):
                return epsilon(N, share, x, alpha, sampled(x).divergence(alpha))

            beta = golden(by_beta, np.zeros(shape), np.ones(shape), 14)
        alpha, cost = sampled(beta).best_order(N, budget(N, share, beta), runs.delta * (1 - share), accounting, alpha)
    diameter, kick = geometry[3], geometry[4]
    z = np.where(np.isfinite(T), np.minimum(diameter, kick * (T - N)), diameter)
    if exact(accounting):
        return of_losses(sampled(beta).losses(N, budget(N, share, beta)), runs.delta, share * runs.delta, N, z, beta=beta)
    divergence = N * cost + alpha * budget(N, share, beta)
    return solved(divergence, alpha, runs.delta, accounting, share * runs.delta, N, z, beta=beta)


def _from_forward_tracking(runs: Runs, accounting: Accounting, geometry, everything: Sampled, best: Solved) -> Solved:
    """Improve the rows whose first steps stay within the diameter, unless the data of the rest alone costs too much."""
    diameter, kick = geometry(runs)[3:5]
    ahead = np.minimum(runs.T - 1, np.ceil(diameter / kick))
    able = np.broadcast_to((kick < diameter) & (ahead >= 1) & (runs.beta < 1), runs.shape)
    if not able.any():
        return best
    least = composed(everything, runs.T - ahead, runs.delta, accounting).epsilon
    rows = np.broadcast_to(able & (least < best.epsilon), runs.shape)
    if not rows.any():
        return best
    columns: dict[str, Any] = {name: np.broadcast_to(getattr(runs, name), runs.shape)[rows] for name in NUMERIC_FIELDS}
    some = replace(runs, **columns)
    found = _counted(some, accounting, geometry(some), some.T)
    return best.least(found.spread(rows, runs.shape))


# ---------------------------------------------------------------- the sharper bound


@dataclass(frozen=True)
class Caps:
    """What the sharper bound leaves free, arrays of the rows' shape. `every`: span shifts at each step, else at the last.

    omega is the share of the span's noise that hides the differing record where span shifts are bought; the rest hides them.
    """

    log_N: np.ndarray
    log_order: np.ndarray
    share: np.ndarray
    omega: np.ndarray
    beta: np.ndarray
    alpha: np.ndarray
    every: bool

    @classmethod
    def first(cls, shape, beta, every: bool, order: float) -> "Caps":
        """Where the search starts; `order` is of the moments."""
        columns = dict(
            log_N=0.0, log_order=np.log(order), share=FIRST_SHARE, omega=0.5, beta=beta, alpha=FIRST_ORDER,
        )  # fmt: skip
        return cls(**{name: np.array(np.broadcast_to(x, shape), float) for name, x in columns.items()}, every=every)

    @property
    def N(self) -> np.ndarray:
        return np.round(np.exp(self.log_N))

    def at(self, index) -> "Caps":
        """Some of the rows."""
        columns = {name: getattr(self, name)[index] for name in self.__dataclass_fields__ if name != "every"}
        return Caps(**columns, every=self.every)

    def where(self, rows, other: "Caps") -> "Caps":
        """These choices in some rows, others elsewhere."""
        names = [name for name in self.__dataclass_fields__ if name != "every"]
        return Caps(**{name: np.where(rows, getattr(self, name), getattr(other, name)) for name in names}, every=self.every)

    def between(self, nodes, rows) -> "Caps":
        """Choices made at some rows, interpolated: those in between have their neighbours'."""

        def mix(x):
            return np.interp(rows, nodes, x)

        alpha, share = 1 + np.exp(mix(np.log(self.alpha - 1))), np.exp(mix(np.log(self.share)))
        return Caps(mix(self.log_N), mix(self.log_order), share, mix(self.omega), mix(self.beta), alpha, self.every)


@dataclass(frozen=True)
class Capped:
    """The sharper bound with caps for runs that all count their steps from the diameter; T plays no part."""

    runs: Runs
    accounting: Accounting

    @property
    def certain(self):
        return (self.runs.K == self.runs.d) & (~self.runs.acting | (self.runs.d == 1))

    def delta_f(self, caps: Caps):
        """With K = d and an idle clip nothing is random, so nothing can fail."""
        return np.where(self.certain, 0.0, caps.share * self.runs.delta)

    def budget(self, caps: Caps):
        """Half of sum p_t^2/((1-omega) S) + a_t^2/s2."""
        r, order = self.runs, np.round(np.exp(caps.log_order))
        o = np.where(r.K == r.d, 0.0, complement_moment(r.K, r.d, order))
        g = np.where(r.K == r.d, 1.0, span_moment(r.K, r.d, order))
        count = 2 * caps.N if caps.every else caps.N + 1  # of caps that are random
        f = np.where(self.certain, 1.0, np.exp((np.log(count) - np.log(caps.share * r.delta)) / (2 * order)))
        s2 = (1 - caps.beta) / r.d
        left = (1 - caps.omega) * (caps.beta / r.K + s2)
        acting = step_constant(r.ridge_factor, r.low_curvature, r.top_curvature, r.d, order, 1.0)
        c = np.where(r.acting & (r.d > 1), acting, r.certain_c)
        return cap_cost(caps.N, r.diameter, o, c * g, r.quotient_remainder, f, 1 / left, 1 / s2, float(caps.every))

    def sampled(self, caps: Caps, omega) -> Sampled:
        """The differing record against a share of the span's noise."""
        noise = caps.beta / self.runs.K + (1 - caps.beta) / self.runs.d
        return Sampled.of(self.runs, omega * noise, self.accounting)

    def data(self, caps: Caps):
        """What N steps pay for the differing record."""
        last = self.sampled(caps, caps.omega).divergence(caps.alpha)
        return caps.N * last if caps.every else last + (caps.N - 1) * self.sampled(caps, 1.0).divergence(caps.alpha)

    def epsilon(self, caps: Caps, data):
        divergence = data + caps.alpha * self.budget(caps)
        return epsilon_at_order(divergence, caps.alpha, self.runs.delta - self.delta_f(caps), self.accounting.conversion)

    def best_order(self, caps: Caps) -> Caps:
        """The same with the order that suits it; where only the last step shares its noise, as if none did."""
        sampled = self.sampled(caps, caps.omega if caps.every else 1.0)
        delta_p = self.runs.delta - self.delta_f(caps)
        return replace(caps, alpha=sampled.best_order(caps.N, self.budget(caps), delta_p, self.accounting, caps.alpha)[0])

    def settle(self, caps: Caps) -> Caps:
        """One choice after the other, in turns, and the best of the turns: each choice looks at its whole range, and may lose."""
        best, least = caps, np.full(np.shape(caps.log_N), np.inf)
        for turn in range(ROUNDS):
            each = self.data(caps) / caps.N

            def by_steps(x, caps=caps, each=each):
                now = replace(caps, log_N=x)
                return self.epsilon(now, self.data(now) if not caps.every else now.N * each)

            caps = replace(caps, log_N=golden(by_steps, 0 * caps.log_N, 0 * caps.log_N + LONGEST, 14))
            data = self.data(caps)

            def by_order(x, caps=caps, data=data):
                return self.epsilon(replace(caps, log_order=x), data)

            if turn >= HELD:
                caps = replace(caps, log_order=golden(by_order, 0 * caps.log_N, 0 * caps.log_N + HIGHEST, 10))

            def by_share(x, caps=caps, data=data):
                return self.epsilon(replace(caps, share=x), data)

            caps = replace(caps, share=best_share(by_share, data.shape))
            for name in ("omega", "beta") if self.accounting.schedule == "optimal" else ("omega",):

                def by_fraction(x, caps=caps, name=name):
                    now = replace(caps, **{name: 1 / (1 + np.exp(-x))})
                    return self.epsilon(now, self.data(now))

                wide = np.full(data.shape, 6.0)
                caps = replace(caps, **{name: 1 / (1 + np.exp(-golden(by_fraction, -wide, wide, 10)))})
            caps = self.best_order(caps)
            found = self.epsilon(caps, self.data(caps))
            best, least = caps.where(found < least, best), np.fmin(found, least)
        return best

    def reshared(self, caps: Caps) -> Caps:
        """The share omega that exact conversion does best with, where the search paid it at the last step only."""
        if caps.every or not exact(self.accounting):
            return caps
        tried = [replace(caps, omega=0 * caps.omega + omega) for omega in LATE_SHARES]
        found = np.array([self.solved(one).epsilon for one in tried])
        return replace(caps, omega=np.asarray(LATE_SHARES)[found.argmin(axis=0)])

    def solved(self, caps: Caps) -> Solved:
        """The bound under the choices. Exact conversion takes one pair for all steps: each shares its noise as the last does."""
        if exact(self.accounting):
            extra = {"beta": caps.beta, "order": np.round(np.exp(caps.log_order))}
            losses = self.sampled(caps, caps.omega).losses(caps.N, self.budget(caps))
            return of_losses(losses, self.runs.delta, self.delta_f(caps), caps.N, self.runs.diameter, **extra)
        divergence = self.data(caps) + caps.alpha * self.budget(caps)
        extra = {"beta": caps.beta, "order": np.round(np.exp(caps.log_order))}
        delta_f, z = self.delta_f(caps), self.runs.diameter
        return solved(divergence, caps.alpha, self.runs.delta, self.accounting, delta_f, caps.N, z, **extra)


def sharp(runs: Runs, accounting: Accounting) -> Solved:
    """N steps from the diameter, in two forms: span shifts at every step, or at the last only.

    From distance 0 it is never below composition, which pays for as many steps and for no drift; nor is it, so, where N > T.
    """
    fields = {name: getattr(runs, name) for name in NUMERIC_FIELDS if name != "T"}
    shape = np.broadcast_shapes(*(x.shape for x in fields.values()))
    rows: dict[str, Any] = {name: np.broadcast_to(x, shape).reshape(-1) for name, x in fields.items()}
    count = next(iter(rows.values())).size
    nodes = np.unique(np.linspace(0, count - 1, min(count, MOST_NODES)).round().astype(int))
    one = np.ones(1)
    everyone = Capped(replace(runs, **rows, T=one), accounting)
    some = Capped(replace(runs, **{k: v[nodes] for k, v in rows.items()}, T=one), accounting)
    beta = 0.5 if accounting.schedule == "optimal" else some.runs.beta
    found = []
    for every, order in product((True, False), FIRST_MOMENTS):
        caps = some.reshared(some.settle(Caps.first(nodes.shape, beta, every, order)))
        if count > nodes.size:
            caps = caps.between(nodes, np.arange(count))
            caps = caps if accounting.schedule == "optimal" else replace(caps, beta=rows["beta"])
            caps = everyone.best_order(caps)
        found.append(everyone.solved(caps))
    best = reduce(Solved.least, found)
    best = best.where(np.isfinite(best.epsilon)).reshape(shape)
    return replace(best, N=np.minimum(best.N, runs.T))
