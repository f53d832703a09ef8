"""Exact conversion of steps that differ, and of other pairs of laws, on a grid of losses (docs/batches.md).

Each pair is put on a grid of losses: the mass in a cell goes to its two ends such that both laws keep theirs. That connects the
dots of the pair's profile and is nowhere smaller (Doroshenko, Ghazi, Kamath, Kumar, Manurangsi 2022, arXiv:2207.04380). Losses
add up by Fourier transform, tilted by exp(t loss) to keep the digits of small deltas. Wrapping around adds exp(t epsilon)
delta(epsilon) >= 0 of another epsilon, which errs upward. Rounding is bounded and added.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from math import erf, inf, log, log2, sqrt
from typing import Protocol

import numpy as np
import scipy

from zoexplore.bounds import few_steps

CUT = 1e-6  # of delta: losses beyond the grid, as likely as that in all steps together, count as infinite
FEW, MANY, LONG = 2**16, 2**18, 10_000  # points of the grid; more of them for more steps than LONG
COARSE = 2**12
DEVIATIONS, FOLDS = 20.0, 40.0  # the period, in standard deviations and in lengths over which what wraps around falls e-fold
UNIT = 2.0**-53
OF_FFT = 8 * UNIT  # error of a transform in its 2-norm, for each doubling
OF_MASS = 1e-10  # relative error of a cell's mass
LARGEST = 600.0  # loss whose exponential is taken


@dataclass(frozen=True)
class Steps:
    """Equal steps: their number, the probability q in (0, 1] that one has the record, and how many standard deviations of the
    noise the record then moves it. q = 1 is a Gaussian shift.
    """

    count: float
    q: float
    mu: float

    @property
    def idle(self) -> bool:
        """Whether nothing is lost."""
        return self.count <= 0 or self.mu <= 0

    def largest(self, order: str, tail: float) -> float:
        """More than any finite loss."""
        return self.mu * self._ends(order, tail)[1]

    def _ends(self, order: str, tail: float) -> tuple[float, float]:
        """The x beyond which either law has mass less than `tail`."""
        reach = -float(scipy.special.ndtri_exp(log(tail)))
        return (0.5 * self.mu if order == "both" else -reach), reach + self.mu

    def width(self, tail: float) -> float:
        """The range of all finite losses."""
        low, high = self._ends("remove", tail)
        return 2 * max(abs(self._loss(low)), self._loss(high))

    def _loss(self, x: float) -> float:
        return float(np.log1p(self.q * np.expm1(self.mu * x - self.mu**2 / 2)))

    def _point(self, loss: np.ndarray) -> np.ndarray:
        """x at each loss, shape (P,); -inf at or below the least there is."""
        with np.errstate(divide="ignore", invalid="ignore"):
            odds = np.nan_to_num(np.log1p(np.expm1(loss) / self.q), nan=-inf, neginf=-inf, posinf=inf)
            return (odds + self.mu**2 / 2) / self.mu

    def on_grid(self, order: str, h: float, tail: float) -> tuple[np.ndarray, np.ndarray, float]:
        """Losses on the grid, shape (P,), their masses under the pair's first law, and the mass that counts as infinite.

        The loss is v(x) = log(1 - q + q exp(mu x - mu^2/2)) with x from the mixture of N(0, 1) and N(mu, 1), and -v(x) with x
        from N(0, 1). Replacing one record has both beyond v = 0, and an atom there.
        """
        ends = self._ends(order, tail)
        cells = np.arange(np.floor(self._loss(ends[0]) / h), np.ceil(self._loss(ends[1]) / h))
        if order == "both":
            cells = cells[cells >= 0]
        x = self._point(np.append(cells, cells[-1] + 1) * h)
        normal = _mass(x)
        mixed = (1 - self.q) * normal + self.q * _mass(x - self.mu)
        above = scipy.special.ndtr(-x[-1]), few_steps.beyond(x[-1], self.q, self.mu)  # what is beyond the last cell
        below = 0.0 if order == "both" else scipy.special.ndtr(x[0]), few_steps.beyond(-x[0], self.q, -self.mu)
        losses, masses, lost = [], [], 0.0
        if order != "add":
            put, mass = split(cells * h, mixed, normal, h)
            mass[0] += 0.0 if order == "both" else below[1]  # losses below the grid count as its least
            losses, masses, lost = [put], [mass], float(above[1])
        if order != "remove":
            put, mass = split(-(cells + 1) * h, normal, mixed, h)
            mass[len(cells) - 1] += above[0]
            losses, masses, lost = [*losses, put], [*masses, mass], lost + float(below[0] if order == "add" else 0.0)
        if order == "both":
            losses, masses = [*losses, np.zeros(1)], [*masses, np.array([(1 - self.q) * erf(self.mu / sqrt(8))])]
        return np.concatenate(losses), np.concatenate(masses), lost


class Lossy(Protocol):
    """What can be composed: `Steps`, or something else whose losses are known."""

    @property
    def count(self) -> float: ...
    @property
    def idle(self) -> bool: ...
    def largest(self, order: str, tail: float) -> float: ...
    def width(self, tail: float) -> float: ...
    def on_grid(self, order: str, h: float, tail: float) -> tuple[np.ndarray, np.ndarray, float]: ...


def epsilon_of_varied(steps: Iterable[Lossy], delta: float, t: float, sampling: str) -> float:
    """epsilon >= 0 at delta of composed steps, from above; inf where none is found, as for losses in the hundreds.

    Args:
        steps: of any kinds.
        delta: the target.
        t: the tilt, above 0: best near the Renyi order that converts the steps, less 1. Any is sound.
        sampling: "without-replacement" (replace one) or "poisson" (add or remove one, the worse of the two orders).

    >>> from zoexplore.bounds.loss_distribution import Losses
    >>> both = epsilon_of_varied([Steps(100, 0.0032, 0.625), Steps(100, 0.0032, 0.625)], 1e-5, 11.0, "without-replacement")
    >>> 0 <= both - Losses(200.0, 0.0, 0.0032, 0.625).epsilon(1e-5) < 1e-3
    True
    """
    steps = [s for s in steps if not s.idle]
    return max(_of_order(steps, delta, t, order) for order in orders_of(sampling)) if steps else 0.0


def orders_of(sampling: str) -> tuple[str, ...]:
    """The orders of the neighbours whose losses differ."""
    return ("remove", "add") if sampling == "poisson" else ("both",)


def _of_order(steps: list[Lossy], delta: float, t: float, order: str) -> float:
    N = sum(s.count for s in steps)
    tail = CUT * delta / N
    if any(s.largest(order, tail) > LARGEST for s in steps):
        return inf
    variance = sum(s.count * _variance(*s.on_grid(order, s.width(tail) / COARSE, tail)[:2], t) for s in steps)
    points = FEW if N <= LONG else MANY
    period = max(DEVIATIONS * sqrt(variance), FOLDS / t)
    h = max(period / points, max(s.width(tail) for s in steps) / MANY)
    log_total, product, largest, infinite = 0.0, np.ones(points // 2 + 1, complex), np.zeros(points // 2 + 1), 0.0
    for s in steps:
        losses, mass, lost = s.on_grid(order, h, tail)
        shift = float((t * losses).max())
        at: np.ndarray = np.rint(losses / h).astype(np.int64) % points
        tilted: np.ndarray = np.bincount(at, mass * np.exp(t * losses - shift), points)
        total = float(tilted.sum())
        tilted /= total
        transform = np.fft.rfft(tilted)
        error = OF_FFT * log2(points) * sqrt(points) * float(np.linalg.norm(tilted))
        product *= transform**s.count
        largest += s.count * np.log(np.abs(transform) + error)
        log_total += s.count * (log(total) + shift + OF_MASS)
        infinite += s.count * lost
    kernel = _kernel(points, h, t)
    of_kernel = np.fft.rfft(kernel)
    error_of_kernel = OF_FFT * log2(points) * sqrt(points) * float(np.linalg.norm(kernel))
    largest = np.exp(largest)
    found = np.fft.irfft(product * of_kernel.conj(), points)
    off = (largest - np.abs(product)) * np.abs(of_kernel) + largest * (error_of_kernel + N * UNIT * np.abs(of_kernel))
    error = 2 * off.sum() / points + OF_FFT * log2(points) * float(np.linalg.norm(found))
    return _first_within(np.arange(points) * h, found + error, t, log_total, delta - infinite)


def _first_within(epsilons: np.ndarray, tilted: np.ndarray, t: float, log_total: float, delta: float) -> float:
    """The least epsilon, of shape (P,), with a small enough delta, by bounds on exp(t epsilon) delta(epsilon)."""
    if delta <= 0:
        return inf
    with np.errstate(over="ignore", divide="ignore"):
        found = np.exp(np.log(np.maximum(tilted, 1e-300)) + log_total - t * epsilons)
    within = found <= delta
    if not within.any():
        return inf
    i = int(within.argmax())
    if i == 0:
        return 0.0
    share = (found[i - 1] - delta) / (found[i - 1] - found[i]) if found[i - 1] < inf else 1.0
    return float(epsilons[i - 1] + np.log1p(share * np.expm1(epsilons[i] - epsilons[i - 1])))


def _kernel(points: int, h: float, t: float) -> np.ndarray:
    """exp(-t u)(1 - exp(-u)) at u = 0, h, ..., shape (points,), with all that wraps around the period."""
    u, period = np.arange(points) * h, points * h
    once = np.exp(-t * u) * -np.expm1(-u)
    again = [np.exp(-rate * (u + period)) / -np.expm1(-rate * period) for rate in (t, t + 1)]
    return once + again[0] - again[1]


def split(low: np.ndarray, first: np.ndarray, second: np.ndarray, h: float) -> tuple[np.ndarray, np.ndarray]:
    """Split cells' mass under the first law, shape (P,), between their ends, (2P,), upwards; the second law keeps its mass."""
    with np.errstate(divide="ignore", invalid="ignore"):
        upper = -np.expm1(np.log(second / first) + low) / -np.expm1(-h)
    upper = np.where(first > 0, np.clip(np.nan_to_num(upper, nan=1.0) + OF_MASS / h, 0.0, 1.0), 1.0)
    return np.concatenate([low, low + h]), np.concatenate([first * (1 - upper), first * upper])


def _mass(x: np.ndarray) -> np.ndarray:
    """Masses of the standard normal between points, shape (P,), hence (P - 1,), from the side with less cancellation."""
    ndtr = scipy.special.ndtr
    return np.where(x[:-1] > 0, ndtr(-x[:-1]) - ndtr(-x[1:]), ndtr(x[1:]) - ndtr(x[:-1]))


def _variance(losses: np.ndarray, mass: np.ndarray, t: float) -> float:
    """The variance under the tilted law of a loss with the values and masses given, shape (P,)."""
    tilted = mass * np.exp(t * losses - (t * losses).max())
    mean = (tilted @ losses) / tilted.sum()
    return float(tilted @ (losses - mean) ** 2 / tilted.sum())
