"""Exact conversion of steps on sampled batches and Gaussian shifts (docs/batches.md, "Exact
conversion").

Each step's privacy loss has the law of a dominating pair. T steps compose as the sum of independent
losses, whose hockey-stick divergence is summed from its transform. Every number is rounded up.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from zoexplore.bounds.conversion import epsilon_of
from zoexplore.bounds.kernels import laws, products
from zoexplore.bounds.kernels.gaussian import ROUND_UP
from zoexplore.bounds.numbers import Numbers

ORDERS = {  # the directions of the pair of neighbours, which must all be counted
    "without-replacement": (laws.WITHOUT_REPLACEMENT,),
    "poisson": (laws.REMOVE, laws.ADD),
}
# q and mu are raised to at least these; with a mu above MOST_SHIFT no exact conversion is tried
LEAST_RATE, LEAST_SHIFT, MOST_SHIFT = 1e-100, 1e-8, 1e3


class Part(NamedTuple):
    """Holds equal steps for P runs: how many there are, `steps`, and the chance q that a step meets
    the record, both of shape (P,).

    If a step meets the record, the record moves it by one of several effects `mu`, in standard
    deviations of the noise, with the chances `share`. Both have shape (P, C); mu ascends.
    """

    steps: np.ndarray
    q: np.ndarray
    mu: np.ndarray
    share: np.ndarray

    @classmethod
    def of(
        cls, steps: Numbers, q: Numbers, mu: Numbers, share: Numbers, shape: tuple[int, ...] = (1,)
    ) -> "Part":
        """Make the steps for runs of this shape from arrays that broadcast; mu and share have one
        more axis. A q or mu that rounding would lose is raised.
        """
        of_mu = (*shape, np.shape(mu)[-1])
        # numba and NumPy warn of arrays that share memory, so these are copies
        steps, q = (np.array(np.broadcast_to(x, shape), float).ravel() for x in (steps, q))
        mu, share = (
            np.array(np.broadcast_to(x, of_mu), float).reshape(-1, of_mu[-1]) for x in (mu, share)
        )
        return cls(steps, np.maximum(q, LEAST_RATE), np.maximum(mu, LEAST_SHIFT), share)

    def at(self, index: np.ndarray) -> "Part":
        """Return the steps of the runs at `index`."""
        return Part(*(x[index] for x in self))


class Atoms(NamedTuple):
    """Holds a law of finitely many losses: `v`, ascending, and their masses `mass`, both of shape
    (A,). `lost` is the mass of infinite losses, and `copies` is how often the law is composed.
    """

    v: np.ndarray
    mass: np.ndarray
    lost: float
    copies: float

    @property
    def lossy(self) -> bool:
        """Whether any loss but 0 has mass."""
        return self.lost > 0 or bool(self.mass[self.v != 0].any())


def epsilon_of_parts(
    sampling: str, parts: list[Part], rho: Numbers, delta: np.ndarray, known: Sequence[Atoms] = ()
) -> np.ndarray:
    """Return epsilon at each delta, shape (P,), for the worse direction of the pair of neighbours.
    All steps, a Gaussian shift with the budget rho and the `known` losses count together.
    """
    found = [composed(kind, parts, delta, rho, known) for kind in ORDERS[sampling]]
    # delta at epsilon 0 is the total variation, the same in both directions
    return np.where(found[0] == 0, 0.0, np.maximum.reduce(found))


def composed(
    kind: int,
    parts: list[Part],
    delta: np.ndarray,
    rho: Numbers = 0.0,
    known: Sequence[Atoms] = (),
    hidden: Part | None = None,
) -> np.ndarray:
    """Return epsilon at each delta, shape (P,), for one direction of the pair of neighbours; inf if
    none is found.

    Args:
        kind: the direction's pair of laws (a number of `laws`).
        parts: the steps of every run.
        delta: the targets.
        rho: the budget of a Gaussian shift.
        known: the losses that every run has.
        hidden: Gaussian shifts, one of which is drawn and not revealed.
    """
    each = np.ones(delta.size)

    def rare(part: Part) -> Numbers:
        return np.log(np.maximum(part.steps, 1.0) * (len(parts) + 1) / (laws.CUT * delta))

    # for each source of losses: the index of each run's law; the laws' losses, masses and sizes;
    # each run's mass of infinite losses; how often each run has its law
    found = [(*_laws_of(kind, part, rare(part)), part.steps) for part in parts]
    for law in known:
        alike = law.v[None], law.mass[None], np.array([law.v.size])
        found.append((np.zeros(delta.size, int), *alike, law.lost * each, law.copies * each))
    if hidden is not None:
        of_shift = laws.all_hidden(kind, hidden.mu, hidden.share, rare(hidden))
        found.append((np.arange(delta.size), *of_shift, hidden.steps))
    index, v, mass, size, off, count = zip(*found, strict=True)
    first = np.cumsum([0, *map(len, size)])
    atoms = max(int(x.max()) for x in size)
    padded = np.zeros((2, first[-1], atoms))
    for begin, *columns in zip(first, v, mass, strict=False):
        for column, into in zip(columns, padded, strict=True):
            into[begin : begin + len(column), : column.shape[1]] = column[:, :atoms]
    of_laws = products.Laws(padded[0], padded[1], np.concatenate(size))
    members = products.Members(np.stack(index, 1) + first[:-1], np.stack(count, 1), rho * each)
    with np.errstate(all="ignore"):
        asked = (delta - sum(map(np.multiply, count, off))) * (1 - 1e-15)
        usable = np.isfinite(asked) & (asked >= products.LEAST_DELTA)
    for part in parts:
        usable &= part.mu.max(axis=1) <= MOST_SHIFT
    answers = np.full(delta.shape, np.inf)
    if usable.any():
        rows, places = _distinct(np.column_stack([asked, *members])[usable])
        once = np.flatnonzero(usable)[rows]
        some = products.Members(*(x[once] for x in members))
        solved = products.solve(of_laws, some, asked[once], products.workspace(atoms))
        answers[usable] = solved[places]
    return answers


def _laws_of(kind: int, part: Part, each: np.ndarray) -> Numbers:
    """Return (index, losses, masses, sizes, lost): the index of each run's law among the distinct
    laws, these laws' losses, masses and sizes, and each run's mass of infinite losses.
    """
    rows = np.column_stack([part.q, np.minimum(part.mu, MOST_SHIFT), part.share])
    first, index = _distinct(rows)
    once = rows[first]
    far, C = np.full(once.shape[0], -np.inf), part.mu.shape[1]
    np.maximum.at(far, index, each)
    q, mu, share = (
        np.ascontiguousarray(x) for x in (once[:, 0], once[:, 1 : 1 + C], once[:, 1 + C :])
    )
    v, mass, size, off = laws.all_sampled(kind, q, mu, share, far)
    return index, v, mass, size, off[index]


def _distinct(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return (first, kind): the index of the first row of each distinct kind, shape (kinds,), and
    the kind of each row, shape (rows,).
    """
    _, first, kind = np.unique(rows, axis=0, return_index=True, return_inverse=True)
    return first, kind.ravel()


Kind = tuple[Numbers, Numbers, Numbers, Numbers]


def epsilon_of_steps(
    kinds: list[Kind], rho: Numbers, delta: Numbers, sampling: str = "without-replacement"
) -> np.ndarray:
    """Return epsilon >= 0 at `delta` for steps on batches and a Gaussian shift; inf if delta <= 0
    or a budget is infinite. Arrays broadcast.

    Args:
        kinds: for each kind of equal steps (the number of steps, q, mu, chances). q in (0, 1] is
            the probability that a batch has the differing record, 1 for the full batch. mu is how
            far the record then moves the step, in standard deviations of the step's noise. The last
            axis of mu and chances lists the possible effects and their chances: how much of the
            record's gradient a step shows may depend on the random span.
        rho: the budget of the Gaussian shift.
        delta: the targets.
        sampling: "without-replacement" (replace one: docs/batches.md, Lemma 1) or "poisson" (add or
            remove one; the added record moves a step).
    """
    seen = [x for N, q, mu, _ in kinds for x in (N, q, np.max(mu, axis=-1))]
    shape = np.broadcast_shapes(*map(np.shape, (rho, delta, *seen)))
    parts = [Part.of(*kind, shape) for kind in kinds]
    rho, delta = (np.array(np.broadcast_to(x, shape), float).ravel() for x in (rho, delta))
    with np.errstate(all="ignore"):
        parts = [part for part in parts if part.steps.any()] or parts[:1]
        steps, most = sum(part.steps for part in parts), [part.mu.max(axis=1) for part in parts]
        # steps on all records never cost less than steps on batches
        gaussian = rho + sum(
            np.where(part.steps > 0, part.steps * mu**2 / 2, 0.0)
            for part, mu in zip(parts, most, strict=True)
        )
        found = np.array(epsilon_of(gaussian, delta), float)
        # at least one step has the record with the chance -expm1(missed)
        missed = sum(part.steps * np.log1p(-np.minimum(part.q, 1.0)) for part in parts)
        found[(rho == 0) & (-np.expm1(missed) * ROUND_UP <= delta)] = 0.0
        # one step's delta at 1 + q (gamma - 1) is q delta_G(gamma) (docs/batches.md, Lemma 1)
        q = parts[0].q
        sampled = np.logical_and.reduce([part.q < 1 for part in parts]) & (steps > 0)
        alone = sampled & (steps == 1) & (rho == 0) & (len(parts) == parts[0].mu.shape[1] == 1)
        of_one = epsilon_of(most[0] ** 2 / 2, np.minimum(delta / q, 1.0))
        single = np.log1p(q * np.expm1(of_one)) * ROUND_UP
    found[alone] = np.fmin(found, single)[alone]
    rows = sampled & ~alone & (found > 0) & np.isfinite(gaussian)
    if rows.any():
        some = [part.at(rows) for part in parts]
        found[rows] = np.fmin(found[rows], epsilon_of_parts(sampling, some, rho[rows], delta[rows]))
    return found.reshape(shape)


class Losses(NamedTuple):
    """Holds the privacy loss of N equal steps on batches and of a Gaussian shift with the budget
    rho. Arrays broadcast. A batch has the differing record with probability q. The record then
    moves the step by mu standard deviations of the step's noise (`epsilon_of_steps`).

    >>> run = Losses(N=200.0, rho=0.0, q=0.0032, mu=0.625)
    >>> round(float(run.epsilon(1e-5)), 3)
    0.121
    """

    N: Numbers
    rho: Numbers
    q: Numbers
    mu: Numbers
    sampling: str = "without-replacement"

    def epsilon(self, delta: Numbers) -> np.ndarray:
        """Return epsilon >= 0 at `delta`, in the shape to which delta and the fields broadcast."""
        steps = self.N, self.q, np.asarray(self.mu)[..., None], np.ones(1)
        return epsilon_of_steps([steps], self.rho, delta, self.sampling)
