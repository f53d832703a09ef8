"""Exact conversion of steps on sampled batches and Gaussian shifts (docs/batches.md, "Exact
conversion").

Each step's privacy loss has the law of a dominating pair; T steps compose as the sum of independent
ones, whose hockey-stick divergence is summed from its transform. Every number is rounded up.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from zoexplore.bounds.conversion import delta_of, epsilon_of
from zoexplore.bounds.kernels import laws, products
from zoexplore.bounds.kernels.gaussian import ROUND_UP
from zoexplore.bounds.numbers import Numbers

ORDERS = {  # of the neighbours, whose pairs' losses must both be counted
    "without-replacement": (laws.WITHOUT_REPLACEMENT,),
    "poisson": (laws.REMOVE, laws.ADD),
}
EPSILON, DELTA = 0, 1  # what is wanted
# beyond these q and mu a step counts as one on all records
LEAST_RATE, LEAST_SHIFT, MOST_SHIFT = 1e-100, 1e-8, 1e3
# the first guess at a delta that is wanted, and by how much it must exceed what is cut
FIRST_DELTA, FAR_ABOVE = 1e-12, 1e3


class Part(NamedTuple):
    """Equal steps, run by run: how many, shape (P,), the chance q that one has the record, and by
    how many standard deviations it
    then moves it, one of several by chance: mu and share of shape (P, C).
    """

    steps: np.ndarray
    q: np.ndarray
    mu: np.ndarray
    share: np.ndarray

    @classmethod
    def of_one(cls, steps: float, q: float, mu: float) -> "Part":
        """Of a single run, with one mu; losses that would be lost in rounding are raised."""
        at_least = (
            np.array([steps]),
            np.array([max(q, LEAST_RATE)]),
            np.array([[max(mu, LEAST_SHIFT)]]),
        )
        return cls(*at_least, np.ones((1, 1)))


class Shifts(NamedTuple):
    """Gaussian shifts, run by run, of budgets drawn by chance: rho and share of shape (P, H), and
    how many, shape (P,). Nobody learns which was drawn where it is `hidden`.
    """

    rho: np.ndarray
    share: np.ndarray
    times: np.ndarray
    hidden: bool = False

    def at(self, index: np.ndarray) -> "Shifts":
        """Those of some of the runs."""
        return Shifts(self.rho[index], self.share[index], self.times[index], self.hidden)

    @classmethod
    def of(cls, rho: np.ndarray) -> "Shifts":
        """One of a known budget, shape (P,)."""
        return cls(rho[:, None], np.ones((rho.size, 1)), (rho > 0).astype(float))


class Atoms(NamedTuple):
    """Losses that are known one by one: ascending, and their masses, shape (A,); the mass that
    counts as infinite; how often all that occurs.
    """

    v: np.ndarray
    mass: np.ndarray
    lost: float
    copies: float

    @property
    def lossy(self) -> bool:
        """Whether anything may be lost."""
        return self.lost > 0 or bool(self.mass[self.v != 0].any())


def epsilon_of_parts(
    sampling: str, parts: list[Part], rho: Numbers, delta: np.ndarray, known: Sequence[Atoms] = ()
) -> Numbers:
    """epsilon at each delta, shape (P,), in the worse order of the neighbours, of all steps, a
    Gaussian shift of the budget rho and the `known` losses together.
    """
    found = [
        composed(kind, parts, Shifts.of(rho), EPSILON, delta, known) for kind in ORDERS[sampling]
    ]
    return np.maximum.reduce(found)


def composed(
    kind: int,
    parts: list[Part],
    shifts: Shifts,
    wanted: int,
    given: np.ndarray,
    known: Sequence[Atoms] = (),
) -> np.ndarray:
    """epsilon at the deltas given, or delta at the epsilons, shape (P,), of one order of the
    neighbours; inf, or 1, where none is found. Every run has the `known` losses.
    """
    if wanted == EPSILON:
        return _composed(kind, parts, shifts, wanted, given, given, known)[0]
    found, cut = _composed(
        kind, parts, shifts, wanted, given, np.full(given.shape, FIRST_DELTA), known
    )
    again = np.flatnonzero(found < FAR_ABOVE * cut)
    if again.size:
        few = [Part(*(x[again] for x in part)) for part in parts]
        around = np.maximum(found[again] - cut[again], products.LEAST_DELTA)
        some = shifts.at(again)
        found[again] = np.fmin(
            found[again], _composed(kind, few, some, wanted, given[again], around, known)[0]
        )
    return found


def _composed(
    kind: int,
    parts: list[Part],
    shifts: Shifts,
    wanted: int,
    given: np.ndarray,
    around: np.ndarray,
    known: Sequence[Atoms] = (),
) -> tuple[np.ndarray, np.ndarray]:
    """(What is wanted, what of delta is cut), shape (P,), with losses cut as suits deltas `around`
    those.
    """
    each = [
        np.log(np.maximum(part.steps, 1.0) * (len(parts) + 1) / (laws.CUT * around))
        for part in parts
    ]
    found = [_laws_of(kind, part, level) for part, level in zip(parts, each, strict=True)]
    fits = np.ones(given.shape, bool)
    for part in parts:
        fits &= part.mu.max(axis=1) <= MOST_SHIFT
    counts, cut = (
        [part.steps for part in parts],
        sum(part.steps * off for part, (*_, off) in zip(parts, found, strict=True)),
    )
    for law in known:
        found.append(
            (
                np.zeros(given.size, int),
                law.v[None],
                law.mass[None],
                np.array([law.v.size]),
                law.lost,
            )
        )
        counts, cut = [*counts, np.full(given.size, law.copies)], cut + law.copies * law.lost
    rho, share, times, hidden = shifts
    if hidden:
        level = np.log(np.maximum(times, 1.0) * (len(parts) + 1) / (laws.CUT * around))
        of_shift = laws.all_hidden(kind, np.sqrt(2 * rho), share, level)
        found.append((np.arange(rho.shape[0]), *of_shift[:3], of_shift[3]))
        counts, cut = [*counts, times], cut + times * of_shift[3]
        rho, share, times = (
            np.zeros((times.size, 1)),
            np.ones((times.size, 1)),
            np.zeros(times.size),
        )
    atoms, first = max(x[1].shape[1] for x in found), np.cumsum([0, *(x[3].size for x in found)])
    v, mass = (
        np.concatenate([np.pad(x[k], ((0, 0), (0, atoms - x[k].shape[1]))) for x in found])
        for k in (1, 2)
    )
    index = np.stack([x[0] + start for x, start in zip(found, first, strict=False)], axis=1)
    members = products.Members(
        index,
        np.stack(counts, axis=1).astype(float),
        *map(np.ascontiguousarray, (rho, share, times)),
    )
    with np.errstate(all="ignore"):
        asked = (given - cut) * (1 - 1e-15) if wanted == EPSILON else np.array(given)
        usable = (
            fits & np.isfinite(asked) & (asked >= (0 if wanted == DELTA else products.LEAST_DELTA))
        )
    answers = np.full(given.shape, np.inf if wanted == EPSILON else 1.0)
    if usable.any():
        rows, places = _distinct(
            np.column_stack([asked, index, *members[1:4], members.times])[usable]
        )
        rows = np.flatnonzero(usable)[rows]
        some = products.Members(*(x[rows] for x in members))
        of_laws, work = (
            products.Laws(v, mass, np.concatenate([x[3] for x in found])),
            products.workspace(atoms),
        )
        answers[usable] = products.solve(of_laws, some, wanted == EPSILON, asked[rows], work)[
            places
        ]
    return answers if wanted == EPSILON else np.minimum(answers + cut, 1.0), cut


def _laws_of(kind: int, part: Part, each: np.ndarray) -> Numbers:
    """(Each run's law; losses, masses and numbers of the laws, equal ones once; each run's mass
    that counts as infinite).
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
    """(The first of each kind of row, shape (kinds,); which kind each is, shape (rows,))."""
    kinds: dict[bytes, int] = {}
    index = np.array(
        [kinds.setdefault(row.tobytes(), len(kinds)) for row in np.ascontiguousarray(rows)]
    )
    return np.unique(index, return_index=True)[1], index


@dataclass(frozen=True)
class Losses:
    """The privacy loss of N steps on batches and of a Gaussian shift, arrays that broadcast against
    each other.

    Args:
        N: steps.
        rho: budget of the Gaussian shift.
        q: probability that a batch has the differing record, in (0, 1]; 1 is the full batch.
        mu: how far the differing record moves a step, in standard deviations of its noise. With
            `share` it has one axis more, the last: one of several by chance, as a random span sees
            of the record.
        sampling: "without-replacement" (replace one: docs/batches.md, Lemma 1) or "poisson" (add or
            remove one; mu is that of the added record).
        share: the chance of each mu.

    >>> run = Losses(N=200.0, rho=0.0, q=0.0032, mu=0.625)
    >>> round(float(run.epsilon(1e-5)), 3), f"{float(run.delta(0.2)):.2g}"
    (0.121, '1.4e-06')
    """

    N: np.ndarray | float
    rho: np.ndarray | float
    q: np.ndarray | float
    mu: np.ndarray | float
    sampling: str = "without-replacement"
    share: np.ndarray | None = None

    def epsilon(self, delta: Numbers) -> Numbers:
        """epsilon >= 0 at `delta`, in the shape that all broadcast to; inf where delta <= 0 or a
        budget is infinite.
        """
        return self._answer(EPSILON, delta)

    def delta(self, epsilon: Numbers) -> Numbers:
        """delta at `epsilon` >= 0, in the shape that all broadcast to; at most 1, in the worse
        order of the neighbours.
        """
        return self._answer(DELTA, epsilon)

    def _answer(self, wanted: int, given: np.ndarray) -> Numbers:
        mus = (
            np.asarray(self.mu, float)[..., None]
            if self.share is None
            else np.asarray(self.mu, float)
        )
        shares = (
            np.ones(mus.shape) if self.share is None else np.broadcast_to(self.share, mus.shape)
        )
        most = mus.max(axis=-1)
        columns = np.broadcast_arrays(
            *(np.asarray(x, float) for x in (self.N, self.rho, self.q, most, given))
        )
        shape = columns[0].shape
        # copies: numba and NumPy warn of arrays that share memory
        N, rho, q, most, given = (x.flatten() for x in columns)
        mus, shares = (
            np.broadcast_to(x, (*shape, mus.shape[-1])).reshape(-1, mus.shape[-1])
            for x in (mus, shares)
        )
        with np.errstate(all="ignore"):
            whole = (
                (q >= 1) | (N <= 0) | (q < LEAST_RATE) | (most < LEAST_SHIFT) | (most > MOST_SHIFT)
            )
            # never less than what is sampled costs
            gaussian = rho + np.where(N > 0, N * most**2 / 2, 0.0)
            # whether, in any step
            drawn = np.where(rho == 0, -np.expm1(N * np.log1p(-np.minimum(q, 1.0))) * ROUND_UP, 1.0)
            idle = (drawn <= given) if wanted == EPSILON else drawn < 0
            summed = ~whole & ~idle & np.isfinite(gaussian)
            found = np.array(
                epsilon_of(gaussian, given) if wanted == EPSILON else delta_of(gaussian, given),
                float,
            )
            one = (N == 1) & (rho == 0) & (mus.shape[1] == 1)
            for rows, answer in ((summed & one, _of_one), (summed & ~one, self._summed)):
                if rows.any():
                    found[rows] = np.fmin(
                        found[rows],
                        answer(wanted, *(x[rows] for x in (N, rho, q, mus, shares, given))),
                    )
            found = np.where(idle, 0.0, found) if wanted == EPSILON else np.fmin(found, drawn)
        return _never_falling(N, (rho, q, *mus.T, *shares.T, given), found).reshape(shape)

    def _summed(
        self,
        wanted: int,
        N: Numbers,
        rho: Numbers,
        q: Numbers,
        mus: Numbers,
        shares: Numbers,
        given: np.ndarray,
    ) -> np.ndarray:
        """What is wanted in the worse order of the neighbours, shape (P,)."""
        worse = np.zeros(N.shape)
        for kind in ORDERS[self.sampling]:
            left = np.ones(N.shape, bool)
            # Skip an added record where the other order's epsilon already exceeds its largest loss,
            # or is 0: delta at epsilon 0 is a total variation, the same in both orders.
            if kind == laws.ADD and wanted == EPSILON:
                left = (worse > 0) & ~(
                    -N * np.log1p(-q) * ROUND_UP + epsilon_of(rho, given) <= worse
                )
            if left.any():
                N_, rho_, *some, given_ = (x[left] for x in (N, rho, q, mus, shares, given))
                worse[left] = np.fmax(
                    worse[left], composed(kind, [Part(N_, *some)], Shifts.of(rho_), wanted, given_)
                )
        return worse


def _never_falling(N: Numbers, others: Numbers, found: Numbers) -> Numbers:
    """The least of any row with as many steps or more, otherwise alike; shape (P,). A run is the
    beginning of a longer one.
    """
    order = np.lexsort((N, *others))
    changes = np.logical_or.reduce([np.diff(x[order]) != 0 for x in others])
    for rows in np.split(order, np.flatnonzero(changes) + 1):
        if rows.size > 1:
            found[rows] = np.minimum.accumulate(found[rows][::-1])[::-1]
    return found


def _of_one(
    wanted: int,
    N: Numbers,
    rho: Numbers,
    q: Numbers,
    mus: Numbers,
    shares: Numbers,
    given: np.ndarray,
) -> Numbers:
    """One step's profile, shape (P,): q delta_G(gamma) at 1 + q (gamma - 1), in the worse order
    (docs/batches.md, Lemma 1).
    """
    mu = mus[:, 0]
    if wanted == DELTA:
        return q * delta_of(mu**2 / 2, np.log1p(np.expm1(given) / q))
    return np.log1p(q * np.expm1(epsilon_of(mu**2 / 2, np.minimum(given / q, 1.0)))) * ROUND_UP
