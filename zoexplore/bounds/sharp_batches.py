"""Our sharper bound for runs on batches, by caps (docs/batches.md).

N counted steps pay N r_alpha for the differing record and alpha times a Gaussian budget for the drift. The search alternates:
over what sets the budget at a fixed order alpha, then over alpha. Whatever it returns is sound.
"""

from dataclasses import dataclass, fields, replace
from functools import reduce
from typing import Any

import numpy as np

from zoexplore.bounds import drifts
from zoexplore.bounds.bound import Solved
from zoexplore.bounds.drifts import ORDERS, nearest_order
from zoexplore.bounds.kernels import caps as kernels
from zoexplore.bounds.rows import Rows
from zoexplore.bounds.run_arrays import RunArrays
from zoexplore.bounds.search import golden, interpolated, spread
from zoexplore.bounds.subsampling import Sampled, exact, from_losses, from_renyi
from zoexplore.run.setting import NUMERIC_FIELDS, Accounting

LATE_SHARES = np.array(
    [0.5, 0.7, 0.8, 0.87, 0.92, 0.95, 0.975, 0.99, 0.995, 0.998]
)  # of the span's noise, for the differing record, at every step
NEAR_ODDS = np.array([0.25, 0.45, 0.7, 1.0, 1.4, 2.2, 4.0])  # of omega, around the result of the search
FIRST_ORDERS = np.array([1.0, 3.0, 8.0, 27.0, 81.0, 243.0, 729.0, 3000.0, 11000.0])
NEAR = 6  # orders of the norm to either side of the best of a few
EDGES = kernels.block_ends()
MOST_SCANNED = 5  # of those at which the whole range is looked at
MOST_NODES = 25  # rows at which choices are made; those in between interpolate them
STRIDE = 3  # at every third of them both variants are tried
WORSE = 1.01  # a variant that is worse by this factor at both neighbours is not tried in between


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
        """What a step does, shape (rows, COLUMNS), and q and mu of its record, shape (rows,)."""
        columns = [getattr(self.rows, name) for name in kernels.COLUMNS]
        return np.array(columns, float).T.copy(), self.sampled.q, self.sampled.mu

    def settle(self) -> "Choice":
        """The choices of every row, by search: the whole range at some, and near those at their neighbours."""
        size = self.rows.K.size
        whole = spread(size, MOST_SCANNED)
        some = self.at(whole)
        tables = some._tables(np.tile(FIRST_ORDERS, (whole.size, 1)))
        first = kernels.scan(*some._steps, FIRST_ORDERS, *tables, *self._how)
        nearest = np.abs(np.arange(size)[:, None] - whole[None, :]).argmin(axis=1)
        found, omega, alpha, share = (x[nearest] for x in first)
        return self.settle_near(Choice(FIRST_ORDERS[found.astype(int)], omega, alpha, share))

    def settle_near(self, first: "Choice") -> "Choice":
        """The choices of every row, by a search that starts from given ones."""
        orders = _around(first.order)
        found = kernels.seek(*self._steps, orders, *self._tables(orders), *self._how, first.omega, first.alpha, first.share)
        chosen, omega, alpha, share = found
        return Choice(orders[np.arange(self.rows.K.size), chosen.astype(int)], omega, alpha, share)

    def _tables(self, orders: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(The place of each row's table at each order, in the shape of `orders`; tables, shape (tables, rays))."""
        found, _, places = drifts.of(self.rows, orders)
        return places, np.concatenate([drifts.tables(*asked) for asked in found])

    def evaluate(self, choice: "Choice") -> Solved:
        """The bound under the choices. Exact conversion takes one pair for all steps: each shares its noise as the last does."""
        rows, sampled = self.rows, self.sampled
        places, tables = self._tables(choice.order[:, None])
        found = kernels.finish(
            *self._steps, choice.order, places[:, 0], tables, *self._how, choice.omega, choice.alpha, choice.share
        )
        N, share, budget, alpha, data = found
        delta_f = np.where(rows.certain, 0.0, share * rows.delta)
        chosen = {"beta": rows.beta, "moment": choice.order}
        by_order = from_renyi(data + alpha * budget, alpha, rows.delta, self.accounting, delta_f, N, rows.z0, **chosen)
        if not exact(self.accounting):
            return by_order
        losses = replace(sampled, mu=sampled.mu / np.sqrt(choice.omega)).losses(N, budget)
        return from_losses(losses, rows.delta, delta_f, N, rows.z0, **chosen).minimum(by_order)

    def reshared(self, choice: "Choice") -> "Choice":
        """The best share omega for exact conversion, which differs from that for Renyi divergence. Where the search
        gave the record its share at the last step only, here every step does.
        """
        if not exact(self.accounting):
            return choice
        if self.every:
            odds = (choice.omega / (1 - choice.omega))[None, :] * NEAR_ODDS[:, None]
            omegas = odds / (1 + odds)
        else:
            omegas = np.vstack([np.tile(LATE_SHARES[:, None], choice.omega.size), choice.omega])
        found = np.array([self.evaluate(replace(choice, omega=omega)).epsilon for omega in omegas])
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
        """Choices made at `nodes`, interpolated at `rows`, each of their shape."""

        def mix(x):
            return np.interp(rows, nodes, x)

        order, share = nearest_order(np.exp(mix(np.log(self.order)))), np.exp(mix(np.log(self.share)))
        return Choice(order, mix(self.omega), 1 + np.exp(mix(np.log(self.alpha - 1))), share)


def _around(order: np.ndarray) -> np.ndarray:
    """The orders near each of these, shape (rows, 2 NEAR + 1)."""
    index = np.searchsorted(ORDERS, nearest_order(order))[:, None] + np.arange(-NEAR, NEAR + 1)
    return ORDERS[np.clip(index, 0, ORDERS.size - 1)]


def solve(runs: RunArrays, accounting: Accounting) -> Solved:
    """N steps from the diameter, in two variants: span shifts at every step, or at the last only.

    Starting from distance 0 is not tried: composition pays for as many steps and for no drift, so it is never worse. For the
    same reason a result with N > T does no harm: it is above composition.
    """
    columns = {name: getattr(runs, name) for name in NUMERIC_FIELDS if name != "T"}
    shape = np.broadcast_shapes(*(x.shape for x in columns.values()))
    flat: dict[str, Any] = {name: np.broadcast_to(x, shape).reshape(-1) for name, x in columns.items()}
    everyone = runs.changed(**flat, T=np.ones(1))
    count = everyone.n.size
    nodes = spread(count, MOST_NODES)
    few = nodes if count <= 2 * MOST_NODES else nodes[::STRIDE]
    variants = [Capped.of(everyone, _share(everyone, nodes, accounting, every), accounting, every) for every in (True, False)]
    choices = [some.reshared(some.settle()) for some in (variant.at(few) for variant in variants)]
    found = [variant.at(few).evaluate(choice) for variant, choice in zip(variants, choices, strict=True)]
    if count > few.size:
        wanted = _worth_it(found, few, count)
        found = [_at_rows(*each, few, nodes) for each in zip(variants, choices, wanted, strict=True)]
    best = reduce(Solved.minimum, found)
    best = best.mask(np.isfinite(best.epsilon)).reshape(shape)
    return replace(best, N=np.minimum(best.N, runs.T))


def _worth_it(found: list[Solved], nodes: np.ndarray, count: int) -> list[np.ndarray]:
    """Of each variant the rows, shape (some,), between nodes at one of which it is nearly the best."""
    least = np.minimum.reduce([x.epsilon for x in found])
    rows = np.arange(count)
    below = np.searchsorted(nodes, rows, side="right") - 1
    above = np.minimum(below + 1, nodes.size - 1)
    near = [x.epsilon <= least * WORSE for x in found]
    return [np.flatnonzero(x[below] | x[above]) for x in near]


def _at_rows(variant: Capped, choice: Choice, rows: np.ndarray, few: np.ndarray, nodes: np.ndarray) -> Solved:
    """A variant at `rows`, shape (some,): `choice` at a few rows, and at all nodes among them, is interpolated in between."""
    more = np.setdiff1d(np.intersect1d(nodes, rows), few)
    if more.size:
        nearest = np.abs(more[:, None] - few[None, :]).argmin(axis=1)
        some = variant.at(more)
        found = some.reshared(some.settle_near(choice.at(nearest)))
        place = np.searchsorted(few, more)
        choice, few = choice.insert(place, found), np.insert(few, place, more)
    if not rows.size:
        return Solved.nothing(variant.rows.K.size)
    return variant.at(rows).evaluate(choice.between(few, rows)).scatter(rows, (variant.rows.K.size,))


def _share(runs: RunArrays, nodes: np.ndarray, accounting: Accounting, every: bool) -> np.ndarray:
    """beta, in the runs' shape: the best one found where it is free."""
    if accounting.schedule != "optimal":
        return runs.beta
    return interpolated(_best_beta(runs, nodes, accounting, every), nodes, runs.n.size)


def _best_beta(runs: RunArrays, nodes: np.ndarray, accounting: Accounting, every: bool) -> np.ndarray:
    """The best constant beta at the nodes, of their shape, each beta with choices of its own."""
    by_order = accounting.replace(conversion="cks") if exact(accounting) else accounting

    def epsilon_at(log_odds):
        tried = np.broadcast_to(runs.beta, runs.shape).copy()
        tried[nodes] = 1 / (1 + np.exp(-log_odds))
        some = Capped.of(runs, tried, by_order, every).at(nodes)
        return some.evaluate(some.settle()).epsilon

    wide = np.full(nodes.shape, 6.0)
    return 1 / (1 + np.exp(-golden(epsilon_at, -wide, wide, 10)))
