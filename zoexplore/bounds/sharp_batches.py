"""Our sharper bound for runs on fresh, secret batches, with a ball of any size and any number of
steps (docs/batches.md).

The bound counts the last N steps. The steps before them decide how far apart two runs may be;
`kernels.history` bounds the law of this distance. The counted steps hide the distance with one
fraction of their noise, and the record with the rest (`kernels.windows`). Both costs are converted
to epsilon together. Estimates choose N and the fractions of the noise; the bound is sound for any
choice.
"""

from dataclasses import dataclass

import numpy as np
import scipy

from zoexplore.bounds import visits
from zoexplore.bounds.bound import Solved
from zoexplore.bounds.conversion import best_order, epsilon_at_order
from zoexplore.bounds.drifts import Drift, law_of_history, norms_of
from zoexplore.bounds.kernels import laws, windows
from zoexplore.bounds.kernels.history import LABELS
from zoexplore.bounds.kernels.rounding import SUMS_UP
from zoexplore.bounds.kernels.steps import Norms
from zoexplore.bounds.loss_distribution import Part, composed
from zoexplore.bounds.numbers import Numbers
from zoexplore.bounds.rows import DRIFT, Rows
from zoexplore.bounds.run_arrays import RunArrays
from zoexplore.bounds.search import best_noise, interpolated, spread
from zoexplore.bounds.subsampling import Sampled, exact
from zoexplore.run.setting import Accounting

# the orders of the norm that are tried
ORDERS = np.array([3.0, 8.0, 18.0, 36.0, 64.0, 110.0, 200.0])
MOST_NODES = 13  # the most runs on a curve whose choices are searched; others interpolate them
# the multiples of the estimated number of counted steps that are tried exactly
NEAR = np.array([0.75, 0.87, 1.0, 1.15, 1.33])
# sizes of a Poisson batch over the mean size: the least one that hardly any batch exceeds is taken
SIZES = np.geomspace(1.0, 64.0, 400)
# along a curve, shares of the noise are rounded to this many values between 1 - x and 1 - x/e
SHARES = 16
USUAL = 0.03  # the fraction of delta that plans spend on letting the shifts stop early
LARGE = 0.01  # the fraction of delta spent on Poisson batches larger than the size taken
MOST_EPSILON = 700.0  # the largest epsilon whose exponential is taken
TYPICAL = LABELS // 2  # the index of the distance for which squares of sums are split best
# the two-point error, as a fraction of a kick, is rounded up to multiples of this
RATIOS = 2.0**-40
TURNS = 4  # the most rounds of trials at the multiples `NEAR`
ROUNDS = 60  # the most rounds in the search for an epsilon that pays for exp(epsilon) delta_f


@dataclass(frozen=True)
class Windows:
    """Holds runs on secret batches, row by row. The record's effects, in deviations of the whole
    noise, are `mus` before the cool-down and `late_mus` in it.
    """

    # `most` counts the steps between releases; `delta` is without the part for too large batches
    rows: Rows
    mus: np.ndarray
    late_mus: np.ndarray
    shares: np.ndarray
    poisson: bool

    @classmethod
    def of(cls, runs: RunArrays, beta: Numbers, accounting: Accounting) -> "Windows":
        """Make the windows of all runs, shape (runs,)."""
        poisson = runs.setting.sampling == "poisson"
        rows = visits.rows_of_batches(runs, beta, most=np.ceil(runs.T / runs.releases))
        if poisson:
            rows = _of_sizes(
                rows,
                *(np.broadcast_to(x, runs.shape).ravel() for x in (runs.n, runs.batch, runs.T)),
            )
        rows.share = (
            USUAL * rows.delta
        )  # below 1, so that a random cost weighs more than a certain one
        late = np.where(runs.cooled > 0, runs.last_beta, beta)
        beta = np.where(runs.cooled >= runs.T, late, beta)
        of_noise = [
            Sampled.of(runs, share / runs.K + (1 - share) / runs.d, accounting)
            for share in (beta, late)
        ]
        shape = *runs.shape, of_noise[0].mus.shape[-1]
        columns = of_noise[0].mus, of_noise[1].mus, of_noise[0].shares
        mus, late_mus, shares = (np.broadcast_to(x, shape).reshape(rows.size, -1) for x in columns)
        return cls(rows, mus, late_mus, shares, poisson)

    def at(self, index: np.ndarray) -> "Windows":
        """Return the windows of the rows at `index`."""
        return Windows(
            self.rows.at(index),
            self.mus[index],
            self.late_mus[index],
            self.shares[index],
            self.poisson,
        )

    def choose(self) -> np.ndarray:
        """Make the choices for all rows by estimates: an array of `windows.CHOICE`, shape (rows,)."""
        each = [self.at(np.array([i]))._choice() for i in range(self.rows.size)]
        return np.array(each, windows.CHOICE)

    def _choice(self) -> tuple[float, ...]:
        """Make one row's choices. Search for the best order of the norm from the middle outward."""
        norms, delta = norms_of(self.rows, ORDERS[None]), self.rows.delta[0]
        square = (self.shares * np.maximum(self.mus, self.late_mus) ** 2).sum()
        # a replaced record costs this in both directions of the pair of neighbours
        excess = windows.excesses(self.rows.q[0], square) * (1.0 if self.poisson else 2.0)

        def at_order(k: int) -> tuple[float, ...]:
            (h,), (share,) = self._distances(norms, k)
            rare = np.count_nonzero(np.cumsum(share)[:-1] < windows.UNNOTICED * delta)
            if not h[rare] < np.inf:
                return np.inf, 1.0, 0.9, USUAL, ORDERS[k]
            of = windows.Prospect(h[rare:], share[rare:], self.poisson, excess, delta)
            return *windows.choose(self.rows, norms, k, np.sqrt(h[TYPICAL]), of), ORDERS[k]

        middle = ORDERS.size // 2
        best = at_order(middle)
        for way in (1, -1):
            k = middle + way
            while 0 <= k < ORDERS.size and (found := at_order(k))[0] < best[0]:
                best, k = found, k + way
            if k != middle + way:
                break
        return best[-1], *best[1:-1]

    def _distances(self, norms: Norms, k: int = 0) -> tuple[np.ndarray, np.ndarray]:
        """Return (squares, chances), by the norm at every row's k-th order: the squared distances
        before the counted steps, descending, and their chances, both of shape (rows, LABELS).
        """
        rows = self.rows
        kick = np.minimum(norms.seen[norms.place[:, k]] * rows.length, rows.B) + rows.remainder
        e = np.ceil(rows.remainder / kick / RATIOS) * RATIOS  # equal values share their law
        columns = rows[DRIFT].tolist(), norms.orders[:, k].tolist(), e.tolist(), rows.q.tolist()
        laws = [law_of_history(Drift(*drift), *of) for drift, *of in zip(*columns, strict=True)]
        h, share = np.transpose(laws, (1, 0, 2))
        return np.minimum(h * kick[:, None] ** 2 * SUMS_UP, rows.diameter[:, None] ** 2), share

    def refine(self, choices: np.ndarray, accounting: Accounting) -> Numbers:
        """Improve the number of counted steps in every row: convert a few numbers around it as
        `accounting` asks, and take the best. Repeat for rows whose best is the first or last tried.
        """
        best, left = choices.copy(), np.arange(self.rows.size)
        for _ in range(TURNS):
            tried = np.repeat(best[left], NEAR.size).reshape(-1, NEAR.size)
            tried["N"] = np.clip((tried["N"] * NEAR).round(), 1.0, self.rows.most[left, None])
            some = self.at(np.repeat(left, NEAR.size))
            found = some.evaluate(tried.ravel(), accounting).epsilon.reshape(tried.shape)
            at = found.argmin(axis=1)
            best[left] = tried[np.arange(left.size), at]
            left = left[(at == 0) | (at == NEAR.size - 1)]
            if not left.size:
                break
        return best

    def evaluate(self, choices: np.ndarray, accounting: Accounting) -> Solved:
        """Compute the bound under the choices."""
        rows, N, part = self.rows, choices["N"].copy(), choices["lost"]
        lost = (
            np.where(rows.certain > 0, 0.0, np.where(part > 0, part, USUAL))
            * rows.delta
            / rows.times
        )
        norms = norms_of(rows, choices["order"][:, None].copy())
        with np.errstate(all="ignore"):
            h, share = self._distances(norms)
            v, w, E = windows.evaluate(rows, norms, choices, np.sqrt(h[:, TYPICAL])).T[..., None]
            f2 = np.where(lost > 0, np.exp(-np.log(lost) / choices["order"]) * SUMS_UP, 1.0)
            rho = 0.5 * (f2[:, None] * (v * h + w) + E) * SUMS_UP
        most = rho.max(axis=1)
        usable = np.isfinite(most) & (rows.delta > 0) & (N <= rows.most)
        found = np.full(rows.size, np.inf)
        if usable.any():
            few, some = self.at(usable), rows.at(usable)
            rho, share = rho[usable, ::-1], share[usable, ::-1]
            parts, left = few.parts(choices[usable]), (some.delta.copy(), some.times * lost[usable])
            # if batches are drawn without replacement, the least budget is a shift of its own
            sure = np.where(self.poisson, 0.0, rho[:, :1])
            drawn = Part.of(some.times, 1.0, np.sqrt(2 * (rho - sure)), share, some.shape)
            sure = some.times * sure[:, 0]
            if not exact(accounting):
                found[usable] = _by_order(parts, drawn, sure, *left, self.poisson, accounting)
            elif self.poisson:
                found[usable] = _exactly(parts, drawn, *left)
            else:
                kind = laws.WITHOUT_REPLACEMENT
                found[usable] = composed(kind, [*parts, drawn], left[0] - left[1], sure)
        return Solved(
            found,
            np.full(found.size, np.nan),
            lost * rows.times,
            N * rows.times,
            np.sqrt(2 * most),
            exact=np.full((), float(exact(accounting))),
            beta=rows.beta.copy(),
            moment=choices["order"].copy(),
        )

    def parts(self, choices: np.ndarray) -> list[Part]:
        """Return the counted steps of every row: those before the cool-down and, if any row counts
        steps in its cool-down, those in it.
        """
        rows, root = self.rows, np.sqrt(choices["omega"])[:, None]
        late = np.minimum(rows.cooled, choices["N"])
        counts = (choices["N"] - late, self.mus), (late, self.late_mus)
        q, shares = rows.q.copy(), np.ascontiguousarray(self.shares)
        some = counts if late.any() else counts[:1]
        return [
            Part(rows.times * count, q, np.ascontiguousarray(mus / root), shares)
            for count, mus in some
        ]


def _between(choices: np.ndarray, nodes: np.ndarray, most: Numbers) -> Numbers:
    """Interpolate the choices made at `nodes` to all rows, shape (rows,). No row counts more than
    its `most` steps.
    """
    rows = np.arange(most.size)
    found = choices[np.abs(rows[:, None] - nodes[None, :]).argmin(axis=1)]
    after, N = np.searchsorted(nodes, rows), choices["N"]
    longest = np.maximum(N[after], N[np.maximum(after - 1, 0)])
    between = np.exp(interpolated(np.log(N), nodes, rows.size)).round()
    # if the runs' lengths differ, shorter runs count all steps, and longer ones the same number
    found["N"] = np.clip(longest if np.ptp(most) else between, 1.0, most)
    # round the noise shares, because runs with equal shares have the same laws
    rest = interpolated(np.log1p(-choices["omega"]), nodes, rows.size)
    found["omega"] = -np.expm1((rest * SHARES).round() / SHARES)
    return found


def _exactly(parts: list[Part], hidden: Part, delta: Numbers, lost: Numbers) -> np.ndarray:
    """Compute epsilon, shape (P,), for an added or removed record by composing the losses. One
    direction pays for delta_f, the other for exp(epsilon) delta_f.
    """
    found = composed(laws.REMOVE, parts, delta - lost, hidden=hidden)
    left = np.flatnonzero(np.isfinite(found))
    for _ in range(ROUNDS):
        with np.errstate(over="ignore"):
            beyond = delta[left] - np.where(
                lost[left] > 0, np.exp(np.minimum(found[left], MOST_EPSILON)) * lost[left], 0.0
            )
        found[left[beyond <= 0]] = np.inf
        left, beyond = left[beyond > 0], beyond[beyond > 0]
        if not left.size:
            return found
        some = [part.at(left) for part in parts]
        other = composed(laws.ADD, some, beyond, hidden=hidden.at(left))
        larger = other > found[left]
        found[left] = np.maximum(found[left], other)
        left = left[larger & np.isfinite(other)]
    found[left] = np.inf
    return found


def _by_order(
    parts: list[Part],
    drawn: Part,
    sure: Numbers,
    delta: Numbers,
    lost: Numbers,
    poisson: bool,
    accounting: Accounting,
) -> Numbers:
    """Compute epsilon, shape (P,), by the Renyi divergence at the best order. Epsilon is inf for
    Poisson batches, for which there is no such form.
    """
    each = [
        (part.steps, Sampled(part.q, part.mu.max(axis=1), part.q, part.mu, part.share))
        for part in (*parts, drawn)
    ]
    with np.errstate(all="ignore"):
        left = np.where(poisson, 0.0, delta - lost)

    def divergence(alpha: Numbers) -> Numbers:
        return sum(count * sampled.divergence(alpha) for count, sampled in each) + alpha * sure

    alpha = best_order(divergence, left, accounting.conversion)
    return epsilon_at_order(divergence(alpha), alpha, left, accounting.conversion)


def _of_sizes(rows: Rows, n: Numbers, b: Numbers, T: Numbers) -> Rows:
    """Return rows for a size of Poisson batches that hardly any step exceeds, with the delta that
    is left. A larger batch multiplies the curvatures of the summed losses and the remainder by the
    same factor, but not the ridge.
    """
    q, ratio = b / n, np.minimum(SIZES[None, :], n[:, None] / b[:, None] + 1)
    # a batch that has the record is too large if it also has this many other records
    most = np.ceil(ratio * b[:, None]) - 1
    larger = T[:, None] * scipy.special.betainc(
        np.maximum(most, 1e-9), np.maximum(n[:, None] - most + 1, 1e-9), q[:, None]
    )
    k = np.argmax(
        (larger <= LARGE * rows.delta[:, None]) | (ratio * b[:, None] > n[:, None] + 1), axis=1
    )
    at = np.arange(n.size)
    grown = ratio[at, k]
    return rows.changed(
        low=np.where(rows.low < 0, rows.low * grown, 0.0),
        high=rows.high * grown,
        remainder=rows.remainder * grown,
        delta=rows.delta - np.where(grown * b > n + 1, 0.0, larger[at, k]),
    )


def solve(runs: RunArrays, accounting: Accounting) -> Solved:
    """Compute epsilon for all runs, in their shape, from the counted steps and the distance before
    them; inf where no step contracts the distance.
    """
    beta = runs.beta
    if accounting.schedule == "optimal":
        beta = best_noise(runs, lambda some, beta: _at_share(some, beta, accounting).epsilon)
    return _at_share(runs, beta, accounting)


def _at_share(runs: RunArrays, beta: Numbers, accounting: Accounting) -> Solved:
    of = Windows.of(runs, beta, accounting)
    size = of.rows.size
    nodes = spread(size, MOST_NODES)
    some = of.at(nodes)
    chosen = some.refine(some.choose(), accounting)
    if size > nodes.size:
        chosen = _between(chosen, nodes, of.rows.most)
    return of.evaluate(chosen, accounting).reshape(runs.shape)
