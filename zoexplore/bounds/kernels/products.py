"""Compose privacy losses by a transform (docs/batches.md, "The transform").

Compose independent losses, n_s of each law s of atoms, with a Gaussian shift of budget rho. For
every real t > 0

    exp(t epsilon) delta(epsilon) = (1/2 pi) integral over y of M(z) exp(-i y epsilon) / (z (1 +
    z)),  z = t + iy,

where M(z) is exp(rho z (1 + z)) times the product of the M_s(z)^n_s over the laws' transforms M_s.
The trapezoidal rule with spacing 2 pi/P gives the left side plus its values at epsilon + P,
epsilon - P, and so on. None of these is negative, so the sum errs upward. A further small Gaussian
shift makes the terms fall faster. Bounds on omitted terms and on rounding errors are added.
"""

from math import atan2, cos, exp, expm1, inf, log, log1p, pi, sin, sqrt
from typing import NamedTuple

from numpy import empty, ndarray

from zoexplore.bounds.kernels.compiling import kernel
from zoexplore.bounds.kernels.trigonometric_sums import rotated_sum, transform

ROUNDED = 1e-14  # relative error of a transform's sums
ULP = 1e-15
# the fraction of the sum that omitted terms may make up; if t epsilon < 1, times t epsilon
TAIL = 1e-5
FEWEST_TERMS, MOST_TERMS = 16, 8000
# choices of the further Gaussian shift, tried in order: the fraction of epsilon that it may cost, and
# the most terms that the sum may then have
PADS = (4e-4, 1500), (1e-3, MOST_TERMS)
SHORT = 0.1  # a smaller epsilon counts as this many deviations of the loss in that cost
DEVIATIONS = 10.0  # the first period tried, in deviations of the tilted loss
# the largest ratio of the sum half a period away to the sum; a whole period away it is about the
# square of this
ALIAS = 1e-3
MOST_TRIED, CLOSE = 40, 0.05  # the most values of t tried; how near the best its exponent must be
# AGAIN: a sum is prepared again if the epsilon found is below this fraction of the guess that it was
# prepared for. LEAST_GUESS: the least guess, as a fraction of a single Renyi order's epsilon.
AGAIN, LEAST_GUESS = 0.7, 0.4
# TRIES: the most values of t whose sums are taken. LOWER: each t over the one before. FAR: another t
# is tried if a sum leaves epsilon as it was, or lowers it to less than this fraction.
TRIES, LOWER, FAR = 4, 0.8, 0.3
LEAST_DELTA = 1e-250  # the least delta that is asked for
SLACK = 1e-9  # pays for the roundings of delta's logarithm
MOST_EXPONENT, TINY = 600.0, 1e-300


class Laws(NamedTuple):
    """Laws of atoms, row by row: the losses, ascending; their masses; and the number of atoms."""

    v: ndarray
    mass: ndarray
    size: ndarray


class Members(NamedTuple):
    """What each run composes: the indices of its laws and how often each counts, both of shape
    (rows, laws), and the budget of a Gaussian shift, shape (rows,).
    """

    law: ndarray
    steps: ndarray
    rho: ndarray


class Tilted(NamedTuple):
    """A run's loss under the law tilted by exp(t loss): the logarithm of M(t), the mean and the
    variance; `ok` is -1 beyond the range of doubles.
    """

    ok: float
    cost: float
    mean: float
    variance: float


class Line(NamedTuple):
    """The sum on the line Re z = t, with log delta(epsilon) <= level - t epsilon + log(step/(2 pi)
    (at_0 + 2 (sum of the terms + added))). `terms` is -1 if the sum needs too many terms.
    """

    level: float
    step: float
    terms: int
    at_0: float
    added: float


class Work(NamedTuple):
    """Scratch arrays for the tilted weights and for the terms."""

    weight: ndarray
    real: ndarray
    imaginary: ndarray
    log_size: ndarray
    turn: ndarray
    off: ndarray


def workspace(atoms):
    """Make room for laws of `atoms` atoms."""
    return Work(empty(atoms), *empty((5, MOST_TERMS + 1)))


@kernel(error_model="numpy")
def _of_law(v, mass, t):
    """Return (log M(t), mean, variance) of one law."""
    excess = first = second = 0.0
    for k in range(v.size):
        grown = expm1(t * v[k])
        excess += mass[k] * grown
        weight = mass[k] * (1.0 + grown)
        first += weight * v[k]
        second += weight * v[k] * v[k]
    M = 1.0 + excess
    return log1p(excess), first / M, max(second / M - (first / M) ** 2, 0.0)


@kernel(error_model="numpy")
def _tilted(laws, members, i, t):
    """Return the `Tilted` of run i at t."""
    rho = members.rho[i]
    cost, mean, variance = rho * t * (1.0 + t), rho * (1.0 + 2.0 * t), 2.0 * rho
    for s in range(members.law.shape[1]):
        count, k = members.steps[i, s], members.law[i, s]
        if count > 0.0:
            n = laws.size[k]
            if t * max(abs(laws.v[k, 0]), abs(laws.v[k, n - 1])) > MOST_EXPONENT:
                return Tilted(-1.0, inf, 0.0, 0.0)
            log_M, first, spread = _of_law(laws.v[k, :n], laws.mass[k, :n], t)
            cost += count * log_M
            mean += count * first
            variance += count * spread
    return Tilted(1.0 if cost < inf else -1.0, cost, mean, variance)


@kernel(error_model="numpy")
def _tilt(laws, members, i, delta):
    """Return (t, `Tilted`) near the best Renyi order 1 + t for delta. This t is also near the
    saddle of M(t) exp(-t epsilon)/(t (1 + t)). Any t is sound.
    """
    t, low, high, need = 1.0, 0.0, inf, max(-log(delta), 1e-3)
    at = _tilted(laws, members, i, t)
    for _ in range(MOST_TRIED):
        # this rises with t, and is above 0 but for rounding errors
        have = max(t * at.mean - at.cost + log1p(t), TINY) if at.ok > 0.0 else inf
        if abs(have - need) <= CLOSE * need or high < 1.05 * low:
            break
        if have < need:
            low = t
        else:
            high = t
        bend = t * t * at.variance + t / (1.0 + t)
        t *= exp(min(max(log(need / have) * have / bend, -1.5), 1.5)) if have < inf else 0.3
        if not low < t < high:
            t = sqrt(low * high)
        at = _tilted(laws, members, i, t)
    if at.ok < 0.0 < low:
        t, at = low, _tilted(laws, members, i, low)
    return t, at


@kernel()
def _left_out(step, pad, y):
    """Bound the summed sizes of all terms beyond the height y, after a shift of budget `pad`."""
    return exp(-pad * y * y) / (2.0 * pad * y * y * y * step)


@kernel(error_model="numpy")
def _multiply_law(v, mass, t, count, step, terms, work):
    """Multiply the terms by the `count`-th power of a law's transform. Terms are kept as the
    logarithms of their sizes, their angles and their relative errors.
    """
    weight, real, imaginary = work.weight[: v.size], work.real, work.imaginary
    excess = size = absolute = 0.0
    for k in range(v.size):
        grown = mass[k] * expm1(t * v[k])
        weight[k] = mass[k] + grown
        excess += grown
        size += abs(grown)
        absolute += weight[k] * abs(v[k])
    transform(step, terms, v, weight, real, imaginary)
    M, log_0 = 1.0 + excess, log1p(excess)
    for j in range(1, terms + 1):
        y, a, b = j * step, excess - real[j], imaginary[j]
        square = 2.0 * a + a * a + b * b
        log_ratio = (0.5 * log1p(square) if square > -1.0 else -inf) - log_0
        error = (ROUNDED * (size + real[j]) + (ROUNDED + j * ULP) * min(y * absolute, 2.0 * M)) / M
        ratio = sqrt(max(1.0 + square, 0.0)) / M
        grown = count * error / ratio * 1.001
        if ratio > 1e3 * error and grown < 1.0:
            work.log_size[j] += count * log_ratio
            work.turn[j] += count * atan2(b, 1.0 + a)
            work.off[j] += grown * (1.0 + grown)  # exp(x) - 1 <= x (1 + x) for x < 1
        else:  # the term is nearly 0, or only its size is known
            work.log_size[j] += count * log(ratio + error)
            work.off[j] += 2.0


@kernel(error_model="numpy")
def _terms(laws, members, i, t, pad, step, terms, work):
    """Fill the real and imaginary parts of the terms j = 1 .. `terms`. Return a bound on the sum of
    their errors, including those of the rotations by exp(-i y epsilon).
    """
    rho = members.rho[i] + pad
    for j in range(1, terms + 1):
        y = j * step
        work.log_size[j], work.turn[j], work.off[j] = -rho * y * y, rho * y * (1.0 + 2.0 * t), 0.0
    for s in range(members.law.shape[1]):
        k = members.law[i, s]
        if members.steps[i, s] > 0.0:
            n = laws.size[k]
            _multiply_law(
                laws.v[k, :n], laws.mass[k, :n], t, members.steps[i, s], step, terms, work
            )
    total = 0.0
    for j in range(1, terms + 1):
        y = j * step
        low, across = t * (1.0 + t) - y * y, y * (1.0 + 2.0 * t)  # z (1 + z)
        apart, turn = low * low + across * across, work.turn[j]
        size = exp(work.log_size[j])
        rounded = ULP * (abs(turn) + abs(work.log_size[j]) + j + 20.0) if size > 0.0 else 0.0
        total += size / sqrt(apart) * (work.off[j] + rounded)
        along, beside = size / apart * cos(turn), size / apart * sin(turn)
        work.real[j] = along * low + beside * across
        work.imaginary[j] = beside * low - along * across
    return total


@kernel(error_model="numpy")
def _line(laws, members, i, t, at, epsilon, share, work):
    """Return the `Line` of run i. Omitted terms may make up `share` times TAIL of the sum."""
    deviation, at_0 = sqrt(at.variance), 1.0 / (t * (1.0 + t))
    period = max(DEVIATIONS * deviation, 24.0 / t)
    line = Line(0.0, 1.0, -1, 0.0, 0.0)
    for _ in range(5):
        step = 2.0 * pi / period
        enough = TAIL * share * at_0 * min(1.0 / deviation, t) / step
        terms, pad = 0, 0.0
        for part, most in PADS:
            pad, terms = part * max(epsilon, SHORT * deviation) / (1.0 + t), FEWEST_TERMS
            while terms <= most and not _left_out(step, pad, terms * step) <= enough:
                terms += 1 + terms // 8
            if terms <= most:
                break
        if terms > MOST_TERMS:
            break
        level = at.cost + pad * t * (1.0 + t)
        error = _terms(laws, members, i, t, pad, step, terms, work) + at_0 * ULP * (
            abs(level) + terms
        )
        line = Line(level, step, terms, at_0, error + _left_out(step, pad, terms * step))
        total = rotated_sum(epsilon, step, terms, work.real, work.imaginary)[0]
        alternating = rotated_sum(epsilon + 0.5 * period, step, terms, work.real, work.imaginary)[0]
        if abs(at_0 + 2.0 * alternating) <= ALIAS * (at_0 + 2.0 * total):
            break
        period *= 1.6
    return line


@kernel(error_model="numpy")
def _root(line, t, work, delta, start):
    """Return the least epsilon >= 0 found at which the sum is at most delta; inf if none is found.
    Newton's steps come first, then steps to the right until the sum is small enough.
    """
    log_delta, epsilon, near, least = log(delta), start, 0.0, inf
    for _ in range(40):
        total, slope = rotated_sum(epsilon, line.step, line.terms, work.real, work.imaginary)
        value = line.at_0 + 2.0 * (total + line.added)
        if not 0.0 < value < inf:
            break
        gap = line.level - t * epsilon + log(line.step / (2.0 * pi) * value) - log_delta
        least = min(least, epsilon) if gap <= 0.0 else least
        fall = t - 2.0 * slope / value
        move = gap / (fall if fall > 0.05 * t else t)
        if gap <= 0.0 and (epsilon == 0.0 or -move <= near):
            break
        if abs(move) <= near:
            near *= 2.0
            epsilon += near
        else:
            epsilon = max(0.0, epsilon + min(max(move, -3.0 / t), 3.0 / t))
            near = 1e-10 * epsilon + 1e-13 / t
    return least


@kernel(error_model="numpy")
def _by_order(at, t, delta):
    """Return epsilon by the Renyi divergence of the order 1 + t (Canonne, Kamath, Steinke)."""
    cost = at.cost * (1.0 + SLACK) - log(delta) + t * log(t) - (1.0 + t) * log1p(t)
    return max(cost / t, 0.0) * (1.0 + SLACK)


@kernel(error_model="numpy")
def _summed(laws, members, i, t, at, delta, best, work):
    """Return epsilon of run i by the sum at t, or `best` if that is smaller. The sum is prepared for
    a guess of epsilon, and again if the epsilon found is far below the guess.
    """
    # the epsilon that a normal density of the tilted loss would give
    near = (at.cost - log(delta) - log(t * (1.0 + t) * sqrt(2.0 * pi * at.variance))) / t
    guess, before = min(max(near, LEAST_GUESS * best), best), inf
    while guess < AGAIN * before:
        line, before = _line(laws, members, i, t, at, guess, min(1.0, t * guess), work), guess
        if line.terms >= 0:
            best = min(best, _root(line, t, work, delta, guess))
            guess = min(guess, best)
        elif guess < best:  # a longer shift leaves fewer terms
            before, guess = inf, best
    return best


@kernel(error_model="numpy")
def _epsilon(laws, members, i, delta, work):
    """Return epsilon of run i: by a sum or, if sums would be too long, by a single Renyi order."""
    t, at = _tilt(laws, members, i, delta)
    best = _by_order(at, t, delta) if at.ok > 0.0 else inf
    for _ in range(TRIES if best < inf else 0):
        found = _summed(laws, members, i, t, at, delta, best, work)
        near, best = FAR * best < found < best, found
        if near:
            break
        t *= LOWER
        at = _tilted(laws, members, i, t)
    return best


@kernel(error_model="numpy")
def solve(laws, members, deltas, work):
    """Return epsilon at each delta, row by row, rounded up; inf if none is found."""
    found = empty(deltas.size)
    for i in range(deltas.size):  # each row by itself, so that no other row changes its result
        found[i] = _epsilon(laws, members, i, deltas[i], work)
    return found
