"""The hidden-state theorem and our sharper bound for runs on batches (proofs in docs/minibatch.md).

N counted steps pay N r_alpha for the differing record and alpha times a Gaussian budget for the drift. Both searches take
turns: over what sets the budget at a fixed order alpha, then over alpha. Whatever they return is sound.
"""

from dataclasses import dataclass, fields, replace
from functools import reduce
from typing import Any

import numpy as np

from zoexplore.bounds.bound import Solved
from zoexplore.bounds.conversion import epsilon_at_order
from zoexplore.bounds.kernels import caps as kernels
from zoexplore.bounds.kernels import shifted_divergence
from zoexplore.bounds.run_arrays import RunArrays
from zoexplore.bounds.search import best_share, golden
from zoexplore.bounds.sharp_search import ORDERS, RAYS, Rows, nearest_order, tabled
from zoexplore.bounds.subsampling import Sampled, composed, exact, of_losses, solved
from zoexplore.setting import NUMERIC_FIELDS, Accounting

FIRST_ORDER, FIRST_SHARE = 1.2, 0.1  # low, so that it is on this side of where full batches show
ROUNDS, AGAIN = 8, 2  # of the theorem's search, from the start and from what neighbours found
LATE_SHARES = np.array(
    [0.5, 0.7, 0.8, 0.87, 0.92, 0.95, 0.975, 0.99, 0.995, 0.998]
)  # of the span's noise, for the differing record, at every step
NEAR_ODDS = np.array([0.25, 0.45, 0.7, 1.0, 1.4, 2.2, 4.0])  # of omega, around those that the search found
FIRST_ORDERS = np.array([1.0, 3.0, 8.0, 27.0, 81.0, 243.0, 729.0, 3000.0, 11000.0])
NEAR = 6  # orders of the norm to either side of the best of a few
EDGES = kernels.block_ends()
MOST_SCANNED = 5  # of those at which the whole range is looked at
MOST_NODES = 25  # rows at which choices are made; those in between interpolate them
STRIDE = 3  # at every third of them both of the sharper bound's forms are tried
WORSE = 1.01  # a form that is worse than the other by that much at both of these around a row is not tried there


def theorem(runs: RunArrays, accounting: Accounting, geometry) -> Solved:
    """The theorem with N r_alpha(b/n, 2 Delta/(b sqrt(beta) sigma)) + alpha sum a_t^2/(2 s2); one best beta if it is free.

    Args:
        geometry: function of runs, returning the kernels' first arguments after T and delta_f: K, d, gap, diameter, separation,
            drift. One step moves two runs apart by at most the separation, whatever their batches.
    """
    free = accounting.schedule == "optimal"
    beta = np.ones(()) if free else runs.beta
    everything = Sampled.of(runs, beta / runs.K, accounting)
    best = composed(everything, runs.T, runs.delta, accounting, beta=beta)
    from_diameter = _counted(runs, accounting, geometry(runs), np.full((), np.inf))
    best = best.minimum(from_diameter.mask(from_diameter.N <= runs.T))
    return _from_forward_tracking(runs, accounting, geometry, everything, best)


def _counted(runs: RunArrays, accounting: Accounting, geometry: tuple, T) -> Solved:
    """The best counted steps, split of delta, order and, where free, beta, for runs of T steps (inf: any number).

    Of many rows some are searched from the start; the others begin at what these found, interpolated.
    """
    free = accounting.schedule == "optimal"
    fixed = (runs.delta, runs.batch, runs.n, runs.sigma, runs.clip, runs.beta, *geometry, T)
    shape = np.broadcast_shapes(*map(np.shape, fixed))
    size = int(np.prod(shape))
    start, rounds = (FIRST_SHARE, FIRST_ORDER, 0.5 if free else runs.beta), ROUNDS
    if size > 2 * MOST_NODES:
        nodes = _nodes(size)
        columns: dict[str, Any] = {name: _at(getattr(runs, name), shape, nodes) for name in NUMERIC_FIELDS if name != "T"}
        some = replace(runs, **columns, T=np.ones(()))
        at_nodes = tuple(_at(x, shape, nodes) for x in (*geometry, T))
        begun = tuple(np.full(nodes.shape, x) if np.ndim(x) == 0 else _at(x, shape, nodes) for x in start)
        _, share, alpha, _, beta = _choices(some, accounting, at_nodes[:-1], at_nodes[-1], begun, ROUNDS, free)
        mixed = (np.exp(_mix(np.log(share), nodes, size)), 1 + np.exp(_mix(np.log(alpha - 1), nodes, size)))
        start, rounds = (*mixed, _mix(beta, nodes, size) if free else runs.beta), AGAIN
        free = False  # beta is settled
    begun = tuple(np.broadcast_to(np.reshape(x, shape) if np.size(x) == size else x, shape) for x in start)
    N, share, alpha, cost, beta = _choices(runs, accounting, geometry, T, begun, rounds, free)
    diameter, separation = geometry[3], geometry[4]
    z = np.where(np.isfinite(T), np.minimum(diameter, separation * (T - N)), diameter)
    sampled, budget = Sampled.of(runs, beta / runs.K, accounting), _budget(runs, geometry, T, N, share, beta)
    by_order = solved(N * cost + alpha * budget, alpha, runs.delta, accounting, share * runs.delta, N, z, beta=beta)
    if not exact(accounting):
        return by_order
    budget = np.where(N <= runs.T.max(), budget, np.inf)  # whoever counts more steps than there are costs more than composition
    return of_losses(sampled.losses(N, budget), runs.delta, share * runs.delta, N, z, beta=beta).minimum(by_order)


def _choices(runs: RunArrays, accounting: Accounting, geometry: tuple, T, start: tuple, rounds: int, free: bool) -> tuple:
    """(N, share of delta, order, its cost, beta) after so many rounds from (share, order, beta)."""
    share, alpha, beta = start
    most = np.where(np.isfinite(T), T - 1, shifted_divergence.MOST_STEPS)

    def sampled(beta):
        return Sampled.of(runs, beta / runs.K, accounting)

    def epsilon(N, share, beta, alpha, cost):
        divergence = N * cost + alpha * _budget(runs, geometry, T, N, share, beta)
        return epsilon_at_order(divergence, alpha, runs.delta * (1 - share), accounting.conversion)

    cost, N = sampled(beta).divergence(alpha), np.ones(np.shape(share))
    for _ in range(rounds):
        at = (np.log(share * runs.delta), *geometry, beta, beta * cost, alpha * runs.d / 2)
        N = shifted_divergence.theorem_steps(T, most, *at)
        share = best_share(lambda x, N=N, cost=cost, beta=beta, alpha=alpha: epsilon(N, x, beta, alpha, cost), N.shape)
        if free:

            def by_beta(x, N=N, share=share, alpha=alpha):
                return epsilon(N, share, x, alpha, sampled(x).divergence(alpha))

            beta = golden(by_beta, np.zeros(N.shape), np.ones(N.shape), 14)
        budget = _budget(runs, geometry, T, N, share, beta)
        alpha, cost = sampled(beta).best_order(N, budget, runs.delta * (1 - share), accounting, alpha)
    return N, share, alpha, cost, beta


def _budget(runs: RunArrays, geometry: tuple, T, N, share, beta):
    """What the shifts of N counted steps cost."""
    return shifted_divergence.theorem_rho(N, T, np.log(share * runs.delta), *geometry, beta, 0.0, runs.d / 2)


def _nodes(size: int) -> np.ndarray:
    """Rows of so many at which choices are made."""
    return np.unique(np.linspace(0, size - 1, min(size, MOST_NODES)).round().astype(int))


def _at(x, shape: tuple[int, ...], index: np.ndarray) -> np.ndarray:
    """Some rows of what broadcasts to the shape."""
    return np.broadcast_to(x, shape).reshape(-1)[index]


def _mix(found: np.ndarray, nodes: np.ndarray, size: int) -> np.ndarray:
    """What was found at some rows, interpolated."""
    return np.interp(np.arange(size), nodes, found)


def _from_forward_tracking(runs: RunArrays, accounting: Accounting, geometry, everything: Sampled, best: Solved) -> Solved:
    """Improve the rows whose first steps stay within the diameter, unless the data of the rest alone costs too much."""
    diameter, separation = geometry(runs)[3:5]
    ahead = np.minimum(runs.T - 1, np.ceil(diameter / separation))
    able = np.broadcast_to((separation < diameter) & (ahead >= 1) & (runs.beta < 1), runs.shape)
    if not able.any():
        return best
    least = composed(everything, runs.T - ahead, runs.delta, accounting).epsilon
    rows = np.broadcast_to(able & (least < best.epsilon), runs.shape)
    if not rows.any():
        return best
    columns: dict[str, Any] = {name: np.broadcast_to(getattr(runs, name), runs.shape)[rows] for name in NUMERIC_FIELDS}
    some = replace(runs, **columns)
    found = _counted(some, accounting, geometry(some), some.T)
    return best.minimum(found.scatter(rows, runs.shape))


# ---------------------------------------------------------------- the sharper bound


@dataclass(frozen=True)
class Capped:
    """The sharper bound with caps for runs that all count their steps from the diameter; T plays no part.

    `every`: span shifts at each step, of which the differing record has a share omega of the noise, else at the last step only.
    """

    rows: Rows
    sampled: Sampled  # against all of the span's noise
    accounting: Accounting
    every: bool

    @classmethod
    def of(cls, runs: RunArrays, beta, accounting: Accounting, every: bool) -> "Capped":
        beta = np.broadcast_to(beta, runs.shape)
        sampled = Sampled.of(runs, beta / runs.K + (1 - beta) / runs.d, accounting)
        q, mu = (np.array(np.broadcast_to(x, runs.shape), float) for x in (sampled.q, sampled.mu))
        return cls(Rows.of(runs, beta, 1.0, far=True), replace(sampled, q=q, mu=mu), accounting, every)

    def at(self, index) -> "Capped":
        """Some of the rows."""
        sampled = replace(self.sampled, q=self.sampled.q[index], mu=self.sampled.mu[index])
        return replace(self, rows=self.rows.at(index), sampled=sampled)

    @property
    def _how(self) -> tuple:
        return self.every, self.accounting.conversion != "mironov", EDGES

    @property
    def _steps(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """What a step does, row by row, and how far its record moves it."""
        columns = [getattr(self.rows, name) for name in kernels.COLUMNS]
        return np.array(columns, float).T.copy(), self.sampled.q, self.sampled.mu

    def settle(self) -> "Choice":
        """The choices of every row, by search: the whole range at some, and near those at their neighbours."""
        size = self.rows.K.size
        whole = np.unique(np.linspace(0, size - 1, min(size, MOST_SCANNED)).round().astype(int))
        some = self.at(whole)
        tables = some._tables(np.tile(FIRST_ORDERS, (whole.size, 1)))
        first = kernels.scan(*some._steps, FIRST_ORDERS, *tables, *self._how)
        nearest = np.abs(np.arange(size)[:, None] - whole[None, :]).argmin(axis=1)
        found, omega, alpha, share = (x[nearest] for x in first)
        return self.settle_near(Choice(FIRST_ORDERS[found.astype(int)], omega, alpha, share))

    def settle_near(self, first: "Choice") -> "Choice":
        """The choices of every row, by search from others."""
        orders = _around(first.order)
        found = kernels.seek(*self._steps, orders, *self._tables(orders), *self._how, first.omega, first.alpha, first.share)
        chosen, omega, alpha, share = found
        return Choice(orders[np.arange(self.rows.K.size), chosen.astype(int)], omega, alpha, share)

    def _tables(self, orders: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Where the table of each row's orders is, the tables, and their rays."""
        index = np.repeat(np.arange(self.rows.K.size), orders.shape[1])
        some, tables = tabled(self.rows.at(index)._replace(order=orders.ravel()))
        return some.table.reshape(orders.shape), tables, RAYS

    def solved(self, choice: "Choice") -> Solved:
        """The bound under the choices. Exact conversion takes one pair for all steps: each shares its noise as the last does."""
        rows, tables = tabled(self.rows._replace(order=choice.order))
        sampled = self.sampled
        found = kernels.finish(
            *self._steps, choice.order, rows.table, tables, RAYS, *self._how, choice.omega, choice.alpha, choice.share
        )
        N, share, budget, alpha, data = found
        delta_f = np.where(rows.certain, 0.0, share * rows.delta)
        extra = {"beta": rows.beta, "moment": choice.order}
        by_order = solved(data + alpha * budget, alpha, rows.delta, self.accounting, delta_f, N, rows.z0, **extra)
        if not exact(self.accounting):
            return by_order
        losses = replace(sampled, mu=sampled.mu / np.sqrt(choice.omega)).losses(N, budget)
        return of_losses(losses, rows.delta, delta_f, N, rows.z0, **extra).minimum(by_order)

    def reshared(self, choice: "Choice") -> "Choice":
        """The share omega that exact conversion does best with: it differs from what the search found by Renyi divergence, and
        where that paid it at the last step only, every step now does.
        """
        if not exact(self.accounting):
            return choice
        if self.every:
            odds = (choice.omega / (1 - choice.omega))[None, :] * NEAR_ODDS[:, None]
            omegas = odds / (1 + odds)
        else:
            omegas = np.vstack([np.tile(LATE_SHARES[:, None], choice.omega.size), choice.omega])
        found = np.array([self.solved(replace(choice, omega=omega)).epsilon for omega in omegas])
        return replace(choice, omega=omegas[found.argmin(axis=0), np.arange(choice.omega.size)])


@dataclass(frozen=True)
class Choice:
    """What the sharper bound leaves free, row by row: the norm's order, the share omega, the Renyi order, delta_f/delta."""

    order: np.ndarray
    omega: np.ndarray
    alpha: np.ndarray
    share: np.ndarray

    def at(self, index) -> "Choice":
        """Some of the rows."""
        return Choice(*(getattr(self, f.name)[index] for f in fields(self)))

    def insert(self, at, other: "Choice") -> "Choice":
        """The other's rows among these, before those at the indices."""
        return Choice(*(np.insert(getattr(self, f.name), at, getattr(other, f.name)) for f in fields(self)))

    def between(self, nodes, rows) -> "Choice":
        """Choices made at some rows, interpolated: those in between have their neighbours'."""

        def mix(x):
            return np.interp(rows, nodes, x)

        order, share = nearest_order(np.exp(mix(np.log(self.order)))), np.exp(mix(np.log(self.share)))
        return Choice(order, mix(self.omega), 1 + np.exp(mix(np.log(self.alpha - 1))), share)


def _around(order: np.ndarray) -> np.ndarray:
    """The orders near each of these, shape (rows, 2 NEAR + 1)."""
    index = np.searchsorted(ORDERS, nearest_order(order))[:, None] + np.arange(-NEAR, NEAR + 1)
    return ORDERS[np.clip(index, 0, ORDERS.size - 1)]


def sharp(runs: RunArrays, accounting: Accounting) -> Solved:
    """N steps from the diameter, in two forms: span shifts at every step, or at the last only.

    From distance 0 it is never below composition, which pays for as many steps and for no drift; nor is it, so, where N > T.
    """
    columns = {name: getattr(runs, name) for name in NUMERIC_FIELDS if name != "T"}
    shape = np.broadcast_shapes(*(x.shape for x in columns.values()))
    flat: dict[str, Any] = {name: np.broadcast_to(x, shape).reshape(-1) for name, x in columns.items()}
    everyone = replace(runs, **flat, T=np.ones(1))
    count = everyone.n.size
    nodes = _nodes(count)
    few = nodes if count <= 2 * MOST_NODES else nodes[::STRIDE]
    forms = [Capped.of(everyone, _share(everyone, nodes, accounting, every), accounting, every) for every in (True, False)]
    choices = [some.reshared(some.settle()) for some in (form.at(few) for form in forms)]
    found = [form.at(few).solved(choice) for form, choice in zip(forms, choices, strict=True)]
    if count > few.size:
        wanted = _worth_it(found, few, count)
        found = [_at_rows(*each, few, nodes) for each in zip(forms, choices, wanted, strict=True)]
    best = reduce(Solved.minimum, found)
    best = best.mask(np.isfinite(best.epsilon)).reshape(shape)
    return replace(best, N=np.minimum(best.N, runs.T))


def _worth_it(found: list[Solved], nodes: np.ndarray, count: int) -> list[np.ndarray]:
    """Of each form the rows between nodes at one of which it is nearly the best."""
    least = np.minimum.reduce([x.epsilon for x in found])
    rows = np.arange(count)
    below = np.searchsorted(nodes, rows, side="right") - 1
    above = np.minimum(below + 1, nodes.size - 1)
    near = [x.epsilon <= least * WORSE for x in found]
    return [np.flatnonzero(x[below] | x[above]) for x in near]


def _at_rows(form: Capped, choice: Choice, rows: np.ndarray, few: np.ndarray, nodes: np.ndarray) -> Solved:
    """A form at the rows wanted, its choices made at the nodes among them from those at a few, and interpolated."""
    more = np.setdiff1d(np.intersect1d(nodes, rows), few)
    if more.size:
        nearest = np.abs(more[:, None] - few[None, :]).argmin(axis=1)
        some = form.at(more)
        found = some.reshared(some.settle_near(choice.at(nearest)))
        place = np.searchsorted(few, more)
        choice, few = choice.insert(place, found), np.insert(few, place, more)
    if not rows.size:
        return _nowhere(form.rows.K.size)
    return form.at(rows).solved(choice.between(few, rows)).scatter(rows, (form.rows.K.size,))


def _nowhere(count: int) -> Solved:
    nan = np.full(count, np.nan)
    return Solved(np.full(count, np.inf), nan, nan, nan, nan)


def _share(runs: RunArrays, nodes: np.ndarray, accounting: Accounting, every: bool) -> np.ndarray:
    """beta, the best one found where it is free."""
    if accounting.schedule != "optimal":
        return runs.beta
    return _mix(_best_beta(runs, nodes, accounting, every), nodes, runs.n.size)


def _best_beta(runs: RunArrays, nodes: np.ndarray, accounting: Accounting, every: bool) -> np.ndarray:
    """The constant beta that does best at some rows, each beta with choices of its own."""
    by_order = accounting.replace(conversion="cks") if exact(accounting) else accounting

    def epsilon_at(log_odds):
        tried = np.broadcast_to(runs.beta, runs.shape).copy()
        tried[nodes] = 1 / (1 + np.exp(-log_odds))
        some = Capped.of(runs, tried, by_order, every).at(nodes)
        return some.solved(some.settle()).epsilon

    wide = np.full(nodes.shape, 6.0)
    return 1 / (1 + np.exp(-golden(epsilon_at, -wide, wide, 10)))
