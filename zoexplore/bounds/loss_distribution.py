"""Steps on sampled batches and a Gaussian shift, converted exactly (docs/batches.md).

Each step's privacy loss has the law of a dominating pair; T steps compose as the sum of independent ones, whose hockey-stick
divergence is summed from its transform. Every number is rounded up.
"""

from dataclasses import dataclass
from functools import partial

import numpy as np

from zoexplore.bounds import few_steps
from zoexplore.bounds.conversion import delta_of, epsilon_at_order, epsilon_of
from zoexplore.bounds.kernels import losses, sampled_loss, subsampled_renyi
from zoexplore.bounds.kernels.gaussian import ROUND_UP

ORDERS = {  # of the neighbours, whose pairs' losses must both be counted
    "without-replacement": (sampled_loss.WITHOUT_REPLACEMENT,),
    "poisson": (sampled_loss.REMOVE, sampled_loss.ADD),
}
EPSILON, DELTA = 0, 1  # what is wanted
LONGER, MORE = np.unique(np.round(2 ** (np.arange(2, 27) / 2))), 7  # steps of longer runs, so many of which are looked at
HARDLY, SMALL = 0.05, 1.0  # times that batches hold the record, and epsilon, below which these may have a smaller bound
LEAST_RATE, LEAST_SHIFT = 1e-100, 1e-8  # q and mu below which losses are lost in rounding: one Renyi order answers there
MOST_SHIFT = 1e3  # and mu above which they are too many to be summed


@dataclass(frozen=True)
class Losses:
    """The privacy loss of N steps on batches and of a Gaussian shift, arrays that broadcast against each other.

    Args:
        N: steps.
        rho: budget of the Gaussian shift.
        q: chance of the differing record to be in a batch, in (0, 1]; 1 is the full batch.
        mu: how far the differing record moves a step, in standard deviations of its noise.
        sampling: "without-replacement" (replace one: docs/batches.md, Lemma 1) or "poisson" (add or remove one; mu is then by
            how far the record that is added moves a step).

    >>> run = Losses(N=200.0, rho=0.0, q=0.0032, mu=0.625)
    >>> round(float(run.epsilon(1e-5)), 3), f"{float(run.delta(0.2)):.2g}"
    (0.121, '1.4e-06')
    """

    N: np.ndarray | float
    rho: np.ndarray | float
    q: np.ndarray | float
    mu: np.ndarray | float
    sampling: str = "without-replacement"

    def epsilon(self, delta) -> np.ndarray:
        """epsilon >= 0 at `delta`; inf where delta <= 0 or a budget is infinite."""
        return self._answer(EPSILON, delta)

    def delta(self, epsilon) -> np.ndarray:
        """delta at `epsilon` >= 0, at most 1: in the worse order of the neighbours."""
        return self._answer(DELTA, epsilon)

    def _answer(self, wanted: int, given) -> np.ndarray:
        columns = np.broadcast_arrays(*(np.asarray(x, float) for x in (self.N, self.rho, self.q, self.mu, given)))
        N, rho, q, mu, given = (x.flatten() for x in columns)  # copies: numba and NumPy warn of arrays that share memory
        with np.errstate(all="ignore"):
            whole = (q >= 1) | (N <= 0) | (mu <= 0)
            gaussian = rho + np.where(N > 0, N * mu**2 / 2, 0.0)  # never less than what is sampled costs
            beyond = ~whole & ((q < LEAST_RATE) | (mu < LEAST_SHIFT) | (mu > MOST_SHIFT))
            summed = ~whole & ~beyond & np.isfinite(gaussian)
            by_order = beyond & np.isfinite(gaussian) & (wanted == EPSILON)
            found = epsilon_of(gaussian, given) if wanted == EPSILON else delta_of(gaussian, given)
            found = np.array(found, float)
            one = (N == 1) & (rho == 0)
            of_one, of_more = partial(_of_one, wanted), partial(self._summed, wanted)
            for rows, answer in ((summed & one, of_one), (summed & ~one, of_more), (by_order, _at_one_order)):
                if rows.any():
                    found[rows] = np.fmin(found[rows], answer(*(x[rows] for x in (N, rho, q, mu, given))))
        return _never_falling(N, (rho, q, mu, given), found).reshape(columns[0].shape)

    def _summed(self, wanted: int, N, rho, q, mu, given) -> np.ndarray:
        found = self._in_both_orders(wanted, N, rho, q, mu, given)
        hardly = (rho == 0) & (N * q <= HARDLY) & (found < SMALL)
        if wanted == EPSILON and hardly.any():
            found[hardly] = np.fmin(found[hardly], self._of_longer(*(x[hardly] for x in (N, q, mu, given))))
        return found

    def _of_longer(self, N, q, mu, delta) -> np.ndarray:
        """The least epsilon found of some longer runs, which a run is the beginning of; each that several rows ask for once."""
        first = np.searchsorted(LONGER, N, side="right")
        steps = np.append(LONGER, np.full(MORE, np.inf))[first[:, None] + np.arange(MORE)]
        asked = np.stack(np.broadcast_arrays(steps, *(x[:, None] for x in (q, mu, delta))), axis=-1)
        once, places = np.unique(asked[np.isfinite(steps)], axis=0, return_inverse=True)
        longer = np.full(steps.shape, np.inf)
        if once.size:
            n, q, mu, delta = once.T
            longer[np.isfinite(steps)] = self._in_both_orders(EPSILON, n, np.zeros(n.size), q, mu, delta)[places.reshape(-1)]
        return longer.min(axis=1)

    def _in_both_orders(self, wanted: int, N, rho, q, mu, given) -> np.ndarray:
        rows = tuple(np.ascontiguousarray(x) for x in (N, rho, q, mu, given))
        worse = np.zeros(N.shape)
        for kind in ORDERS[self.sampling]:
            left = np.ones(N.shape, bool)
            # What an added record can tell at most may be less than was found; and where that is 0, both orders' is: delta at
            # epsilon 0 is a total variation, the same in both.
            if kind == sampled_loss.ADD and wanted == EPSILON:
                left = (worse > 0) & ~(few_steps.largest_of_addition(N, q) + epsilon_of(rho, given) <= worse)
            if not left.any():
                continue
            some = tuple(x[left] for x in rows)
            answer = (losses.epsilons if wanted == EPSILON else losses.deltas)(kind, *some)
            answer = np.where(np.isnan(answer), np.inf, answer)
            few = np.flatnonzero(some[1] == 0)
            if few.size:
                answer[few] = _of_few(wanted, kind, *(x[few] for x in (some[0], *some[2:], answer)))
            worse[left] = np.fmax(worse[left], answer)
        lost = ~np.isfinite(worse)
        if wanted == EPSILON and lost.any():
            worse[lost] = _at_one_order(*(x[lost] for x in rows))
        return worse


def _never_falling(N, others, found) -> np.ndarray:
    """The least that was found for so many steps or more, of rows that are alike otherwise: a run is the beginning of a longer
    one.
    """
    order = np.lexsort((N, *others))
    changes = np.logical_or.reduce([np.diff(x[order]) != 0 for x in others])
    for rows in np.split(order, np.flatnonzero(changes) + 1):
        if rows.size > 1:
            found[rows] = np.minimum.accumulate(found[rows][::-1])[::-1]
    return found


def _of_few(wanted: int, kind: int, N, q, mu, given, found) -> np.ndarray:
    """What was found, or what the largest loss says where that is less."""
    if wanted == DELTA:
        return np.fmin(found, few_steps.delta_at(kind, N, q, mu, given))
    return few_steps.epsilon_at(kind, N, q, mu, given, found)


def _at_one_order(N, rho, q, mu, delta) -> np.ndarray:
    """epsilon from the Renyi divergence at the order that suits it best."""
    alpha, cost = subsampled_renyi.best_order(N, rho, q, mu, delta, True)
    return epsilon_at_order(N * cost + alpha * rho, alpha, delta, "cks")


def _of_one(wanted: int, N, rho, q, mu, given) -> np.ndarray:
    """A single step's profile, q delta_G(gamma) at 1 + q (gamma - 1), in the worse order (docs/batches.md, Lemma 1)."""
    if wanted == DELTA:
        return q * delta_of(mu**2 / 2, np.log1p(np.expm1(given) / q))
    return np.log1p(q * np.expm1(epsilon_of(mu**2 / 2, np.minimum(given / q, 1.0)))) * ROUND_UP
