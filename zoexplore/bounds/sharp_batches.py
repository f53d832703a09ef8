"""Our sharper bound for runs on fresh, secret batches, for any ball and any number of steps (docs/batches.md).

What came before the last N steps says how far apart two runs may be, as a number whose law is known (`kernels.history`). The
counted steps work that off by a part of their noise, within one budget, and pay for the record by the rest (`kernels.windows`).
Both are converted together. Estimates choose N and the shares of the noise; whatever they choose, the bound is sound.
"""

from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
import scipy

from zoexplore.bounds import visits
from zoexplore.bounds.bound import Solved
from zoexplore.bounds.conversion import epsilon_at_order
from zoexplore.bounds.kernels import laws, windows
from zoexplore.bounds.kernels.history import LABELS
from zoexplore.bounds.kernels.subsampled_renyi import LEAST_EXCESS, MOST_EXCESS
from zoexplore.bounds.loss_distribution import EPSILON, Part, Shifts, composed
from zoexplore.bounds.plans import steps
from zoexplore.bounds.rows import Rows
from zoexplore.bounds.run_arrays import RunArrays
from zoexplore.bounds.search import golden, interpolated, spread
from zoexplore.bounds.subsampling import Sampled, exact
from zoexplore.run.setting import NUMERIC_FIELDS, Accounting

ORDERS = np.array([3.0, 8.0, 18.0, 36.0, 64.0, 110.0, 200.0])  # of the norm
MOST_NODES = 13  # runs along a curve that choose; those in between interpolate the choices
ALONE = 4  # so few runs choose each for itself
NEAR = np.array([0.75, 0.87, 1.0, 1.15, 1.33])  # of the counted steps that an estimate promises, tried exactly
BETAS = np.array([0.0, 0.1, 0.25, 0.4, 0.5, 0.6, 0.75, 0.88, 0.96, 0.99])  # tried first where the share is free
HALVINGS = 3  # rounds of refinement
SIZES = np.geomspace(1.0, 64.0, 400)  # of a Poisson batch over the usual: the least that hardly any exceeds is taken
USUAL = 0.03  # part of delta for the shifts to stop early, in planning
LARGE = 0.01  # part of delta for larger batches, and for smaller ones where these contract less
MOST_EPSILON = 700.0  # whose exponential is taken
SECTIONS, ROUNDS = 24, 60  # by which an order is sought; turns to an epsilon that pays exp(epsilon) times delta_f


@dataclass(frozen=True)
class Windows:
    """Runs on secret batches, row by row: what the kernels know of a step, and what the record costs at the whole noise."""

    rows: Rows
    noises: np.ndarray
    most: np.ndarray  # the largest squared distance
    stretch: np.ndarray  # steps between releases
    times: np.ndarray  # and how many such stretches
    delta: np.ndarray  # less what batches of an unusual size take
    q: np.ndarray
    mus: np.ndarray
    late_mus: np.ndarray  # in the cool-down
    shares: np.ndarray
    poisson: bool

    @classmethod
    def of(cls, runs: RunArrays, beta, accounting: Accounting) -> "Windows":
        """Of all runs, shape (runs,)."""

        def flat(x):
            return np.array(np.broadcast_to(x, runs.shape), float).ravel()

        rows = visits.of_batches(Rows.of(runs, beta, 1.0), runs)
        delta, poisson = flat(runs.delta), runs.setting.sampling == "poisson"
        if poisson:
            rows, delta = _of_sizes(rows, flat(runs.n), flat(runs.batch), flat(runs.T), delta)
        rows = rows._replace(share=USUAL * delta)  # so that what is random is told from what is not
        noises = np.stack([*_noise(rows, rows.last_beta), *_noise(rows, rows.beta), rows.cooled], axis=1)
        late = np.where(runs.cooled > 0, runs.last_beta, beta)
        beta = np.where(runs.cooled >= runs.T, late, beta)
        of_noise = [Sampled.of(runs, share / runs.K + (1 - share) / runs.d, accounting) for share in (beta, late)]
        C = of_noise[0].mus.shape[-1]
        mus, late_mus = (np.broadcast_to(each.mus, (*runs.shape, C)).reshape(-1, C) for each in of_noise)
        shares = np.broadcast_to(of_noise[0].shares, (*runs.shape, C)).reshape(-1, C)
        stretch = np.ceil(flat(runs.T) / flat(runs.releases))
        most = np.where(np.isfinite(flat(runs.diameter)), flat(runs.diameter) ** 2, np.inf)
        q = flat(runs.batch) / flat(runs.n)
        return cls(rows, noises, most, stretch, flat(runs.releases), delta, q, mus, late_mus, shares, poisson)

    def at(self, index) -> "Windows":
        """Some of the rows."""
        names = {each.name for each in fields(self)} - {"rows", "poisson"}
        columns: dict[str, Any] = {name: getattr(self, name)[index] for name in names}
        return replace(self, rows=self.rows.at(index), **columns)

    def choose(self) -> "Choices":
        """Every row's choices, by estimates."""
        count, found = self.q.size, np.empty((self.q.size, 4))
        cells, tables = steps(self.rows, np.tile(ORDERS, (count, 1)))
        square = (self.shares * np.maximum(self.mus, self.late_mus) ** 2).sum(axis=1)
        twice = 1.0 if self.poisson else 2.0
        by_row = np.ascontiguousarray(cells[:, 0]).reshape(count, ORDERS.size)
        windows.choose(by_row, tables, self.noises, self.q, self.most, square, twice, self.delta, self.stretch, found)
        return Choices(ORDERS[found[:, 0].astype(int)], *found[:, 1:].T)

    def refine(self, choices: "Choices", accounting: Accounting) -> "Choices":
        """Every row's choices with the number of steps that is the best of a few around, converted exactly."""
        index = np.repeat(np.arange(self.q.size), NEAR.size)
        tried = choices.at(index)
        N = np.clip((tried.N * np.tile(NEAR, self.q.size)).round(), 1.0, self.stretch[index])
        tried = replace(tried, N=N)
        found = self.at(index).evaluate(tried, accounting).epsilon.reshape(-1, NEAR.size)
        return tried.at(np.arange(self.q.size) * NEAR.size + found.argmin(axis=1))

    def evaluate(self, choices: "Choices", accounting: Accounting) -> Solved:
        """The bound under the choices."""
        cells, tables = steps(self.rows, choices.order[:, None])
        lost = np.where(self.rows.nothing_random, 0.0, np.where(choices.lost > 0, choices.lost, USUAL)) * self.delta / self.times
        rho, share = np.empty((self.q.size, LABELS)), np.empty((self.q.size, LABELS))
        at = (self.noises, self.q, self.most, choices.N, choices.omega, lost)
        windows.evaluate(cells[:, 0], tables, *at, rho, share)
        usable = np.isfinite(rho).all(axis=1) & (self.delta > 0) & (choices.N <= self.stretch)
        found = np.full(self.q.size, np.inf)
        if usable.any():
            some, few = self.at(usable), choices.at(usable)
            shifts = Shifts(rho[usable], share[usable], some.times, self.poisson)
            convert = _exactly if exact(accounting) else _by_order
            found[usable] = convert(some.parts(few), shifts, some.delta, some.times * lost[usable], accounting)
        return Solved(
            found, np.full(found.size, np.nan), lost * self.times, choices.N * self.times, np.sqrt(2 * rho.max(axis=1)),
            exact=np.full((), float(exact(accounting))), beta=self.rows.beta, moment=choices.order,
        )  # fmt: skip


    def parts(self, choices: "Choices") -> list[Part]:
        """The counted steps of every row: those before the cool-down, and those of it where there is one."""
        late, root = np.minimum(self.rows.cooled, choices.N), np.sqrt(choices.omega)[:, None]
        counts = (choices.N - late, self.mus), (late, self.late_mus)
        some = counts if late.any() else counts[:1]
        shares = np.ascontiguousarray(self.shares)
        return [Part(self.times * count, self.q, np.ascontiguousarray(mus / root), shares) for count, mus in some]


def _noise(rows: Rows, beta) -> tuple[np.ndarray, np.ndarray]:
    """One over the variance of the noise along the span, and across it."""
    s2 = (1 - beta) / rows.d
    with np.errstate(divide="ignore"):
        return 1 / (beta / rows.K + s2), np.where(rows.K == rows.d, 0.0, 1 / s2)


@dataclass(frozen=True)
class Choices:
    """Row by row the order of the norm, the counted steps, the record's share of the span's noise, and delta_f over delta."""

    order: np.ndarray
    N: np.ndarray
    omega: np.ndarray
    lost: np.ndarray

    def at(self, index) -> "Choices":
        """Those of some of the rows."""
        return Choices(self.order[index], self.N[index], self.omega[index], self.lost[index])

    def between(self, nodes: np.ndarray, count: int) -> "Choices":
        """Choices made at `nodes`, interpolated for rows 0 to `count` - 1."""
        nearest = np.abs(np.arange(count)[:, None] - nodes[None, :]).argmin(axis=1)
        N = np.exp(interpolated(np.log(self.N), nodes, count)).round()
        return Choices(self.order[nearest], np.maximum(N, 1.0), interpolated(self.omega, nodes, count), self.lost[nearest])


def _exactly(parts: list[Part], shifts: Shifts, delta, lost, accounting: Accounting) -> np.ndarray:
    """epsilon by the composed losses, shape (P,). Of an added or removed record one order pays delta_f, the other exp(epsilon)
    times that.
    """
    if not shifts.hidden:
        return composed(laws.WITHOUT_REPLACEMENT, parts, shifts, EPSILON, delta - lost)
    found = composed(laws.REMOVE, parts, shifts, EPSILON, delta - lost)
    left = np.flatnonzero(np.isfinite(found))
    for _ in range(ROUNDS):
        with np.errstate(over="ignore"):
            beyond = delta[left] - np.where(lost[left] > 0, np.exp(np.minimum(found[left], MOST_EPSILON)) * lost[left], 0.0)
        found[left[beyond <= 0]] = np.inf
        left, beyond = left[beyond > 0], beyond[beyond > 0]
        if not left.size:
            return found
        some = shifts.at(left)
        other = composed(laws.ADD, [Part(*(x[left] for x in part)) for part in parts], some, EPSILON, beyond)
        larger = other > found[left]
        found[left] = np.maximum(found[left], other)
        left = left[larger & np.isfinite(other)]
        if not left.size:
            return found
    found[left] = np.inf
    return found


def _by_order(parts: list[Part], shifts: Shifts, delta, lost, accounting: Accounting) -> np.ndarray:
    """epsilon by the Renyi divergence at the best order, shape (P,); which budget was drawn counts as known."""
    sampled = [(part.steps, Sampled(part.q, part.mu.max(axis=1), part.q, part.mu, part.share)) for part in parts]
    with np.errstate(all="ignore"):
        left = np.where(shifts.hidden, 0.0, delta - lost)

    def epsilon_at(log_excess):
        excess = np.exp(log_excess)
        drawn = scipy.special.logsumexp(excess[:, None] * (1 + excess[:, None]) * shifts.rho, axis=1, b=shifts.share) / excess
        cost = sum(count * each.divergence(1 + excess) for count, each in sampled) + shifts.times * drawn
        return epsilon_at_order(cost, 1 + excess, left, accounting.conversion)

    low, high = np.full(delta.shape, np.log(LEAST_EXCESS)), np.full(delta.shape, np.log(MOST_EXCESS))
    return epsilon_at(golden(epsilon_at, low, high, SECTIONS))


def _of_sizes(rows: Rows, n, b, T, delta) -> tuple[Rows, np.ndarray]:
    """The rows of Poisson batches as large, and where it matters as small, as hardly any step has; and what is left of delta. The
    sum of a batch of more records than usual is smoother by as much, the ridge apart.
    """
    q, ratio = b / n, np.minimum(SIZES[None, :], n[:, None] / b[:, None] + 1)
    most = np.ceil(ratio * b[:, None]) - 1  # a batch with as many others and the record is too large
    larger = T[:, None] * scipy.special.betainc(np.maximum(most, 1e-9), np.maximum(n[:, None] - most + 1, 1e-9), q[:, None])
    k = np.argmax((larger <= LARGE * delta[:, None]) | (ratio * b[:, None] > n[:, None] + 1), axis=1)
    at = np.arange(n.size)
    spent = np.where(ratio[at, k] * b > n + 1, 0.0, larger[at, k])
    grown = ratio[at, k]
    low = np.where(rows.low < 0, rows.low * grown, 0.0)
    return rows._replace(low=low, top=rows.top * grown, remainder=rows.remainder * grown), delta - spent


def solve(runs: RunArrays, accounting: Accounting) -> Solved:
    """The least epsilon of every run, in its shape, by counted steps and what came before; inf where nothing contracts."""
    if accounting.schedule != "optimal":
        return _at_share(runs, runs.beta, accounting)
    nodes = spread(int(np.prod(runs.shape)), MOST_NODES)
    tried, reach = np.tile(BETAS, (nodes.size, 1)), 0.15
    for _ in range(1 + HALVINGS):
        some = _some(runs, nodes)
        found = [_at_share(some, beta.reshape(some.shape), accounting).epsilon.ravel() for beta in tried.T]
        best = tried[np.arange(nodes.size), np.argmin(found, axis=0)]
        tried = np.clip(best[:, None] + reach * np.array([-1.0, -0.5, 0.0, 0.5, 1.0]), 0.0, 1.0)
        reach /= 3
    return _at_share(runs, interpolated(best, nodes, int(np.prod(runs.shape))).reshape(runs.shape), accounting)


def _some(runs: RunArrays, rows: np.ndarray) -> RunArrays:
    return runs.at(rows) if runs.shape else runs


def _at_share(runs: RunArrays, beta, accounting: Accounting) -> Solved:
    of = Windows.of(runs, beta, accounting)
    only_T = not any(np.ndim(getattr(runs, name)) for name in NUMERIC_FIELDS if name != "T") and np.ndim(beta) == 0
    if only_T and of.q.size > ALONE:
        return _along_T(of, accounting).reshape(runs.shape)
    count = of.q.size
    nodes = spread(count, MOST_NODES)
    some = of.at(nodes)
    chosen = some.refine(some.choose(), accounting)
    if count > nodes.size:
        chosen = chosen.between(nodes, count)
    return of.evaluate(chosen, accounting).reshape(runs.shape)


def _along_T(of: Windows, accounting: Accounting) -> Solved:
    """Runs that differ in T alone: choices for at most so many steps serve every longer run, too."""
    most = np.unique(np.append(np.geomspace(1, of.stretch.max(), MOST_NODES).round(), of.stretch.min()))
    nodes = np.clip(np.searchsorted(np.sort(of.stretch), most), 0, of.q.size - 1)
    nodes = np.unique(np.argsort(of.stretch, kind="stable")[nodes])
    some = of.at(nodes)
    chosen = some.refine(some.choose(), accounting)
    order = np.argsort(some.stretch, kind="stable")
    below = np.searchsorted(some.stretch[order], of.stretch, side="right") - 1
    return of.evaluate(chosen.at(order[np.maximum(below, 0)]), accounting)
