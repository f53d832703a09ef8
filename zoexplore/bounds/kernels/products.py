"""Composed privacy losses by a transform (docs/batches.md, "The transform").

Independent losses, n_s of each law s of atoms, and n Gaussian shifts of a budget rho_h that is
drawn with a known chance, have at every real t > 0

    exp(t epsilon) delta(epsilon) = (1/2 pi) integral over y of M(z) exp(-i y epsilon) / (z (1 +
    z)),  z = t + iy,

M the product of the laws' transforms M_s(z)^n_s and of E_h exp(rho_h z (1 + z))^n. The trapezoidal
rule of spacing 2 pi/P adds the left side at epsilon + P, epsilon - P, ..., none of which is
negative, so wrapping around errs upward. A small Gaussian shift more lets the terms fall; bounds on
the omitted ones and on roundings are added.
"""

from math import atan2, cos, exp, expm1, inf, log, log1p, nan, pi, sin, sqrt
from typing import NamedTuple

from numpy import empty, ndarray

from zoexplore.bounds.kernels.compiling import kernel
from zoexplore.bounds.kernels.trigonometric_sums import rotated_sum, transform

ROUNDED = 1e-14  # relative error of a transform's sums
ULP = 1e-15
# part of the sum (and of t epsilon, if this is below 1) that may be omitted and added
TAIL = 1e-5
FEWEST_TERMS, MOST_TERMS = 16, 8000
# parts of epsilon that a Gaussian shift to shorten the sum may cost, and to so many terms,
PADS = (4e-4, 1500), (1e-3, MOST_TERMS)
SHORT = 0.1  # or of this part of the loss's deviation, where epsilon is less
DEVIATIONS = 10.0  # of the tilted loss: the first period to try
ALIAS = 1e-3  # of the sum at half the period: at the whole one it is about the square
MOST_TRIED = 40  # values of t
TRIES = 6  # other lines, where one would take too long or its start was far off
LEAST_DELTA = 1e-250  # that is asked for
SLACK = 1e-9  # of delta, for the roundings of its logarithm
MOST_EXPONENT = 600.0
NOTHING = 1e-25  # smaller parts of a term are left out


class Laws(NamedTuple):
    """Laws of atoms, row by row: their losses, ascending, masses and numbers."""

    v: ndarray
    mass: ndarray
    size: ndarray


class Members(NamedTuple):
    """What each run is composed of: laws and how often each, shape (rows, laws); budgets of
    Gaussian shifts and their chances, (rows, shifts), and how often one is drawn, (rows,).
    """

    law: ndarray
    steps: ndarray
    rho: ndarray
    share: ndarray
    times: ndarray


class Tilted(NamedTuple):
    """A run's loss under the law tilted by exp(t loss): the logarithm of M(t), mean and variance;
    -1 for `ok` beyond doubles.
    """

    ok: float
    cost: float
    mean: float
    variance: float


class Line(NamedTuple):
    """The sum on the line with real part t. log delta(epsilon) <= level - t epsilon + log(step/(2
    pi) (at_0 + 2 (sum of the terms + added))); -1 terms where they are too many.
    """

    level: float
    step: float
    terms: int
    at_0: float
    added: float


class Work(NamedTuple):
    """Arrays to work in: tilted weights, and terms."""

    weight: ndarray
    real: ndarray
    imaginary: ndarray
    log_size: ndarray
    turn: ndarray
    off: ndarray


def workspace(atoms):
    """Room for laws of so many atoms."""
    return Work(empty(atoms), *empty((5, MOST_TERMS + 1)))


@kernel(error_model="numpy")
def _of_law(v, mass, t):
    """(log M(t), mean, variance) of one law."""
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
def _of_shifts(rho, share, t):
    """(log M(t), mean, variance) of a Gaussian shift whose budget is drawn."""
    top = 0.0
    for h in range(rho.size):
        top = max(top, rho[h] if share[h] > 0.0 else 0.0)
    total = first = second = 0.0
    for h in range(rho.size):
        if share[h] > 0.0:
            weight, mean = share[h] * exp((rho[h] - top) * t * (1.0 + t)), rho[h] * (1.0 + 2.0 * t)
            total += weight
            first += weight * mean
            second += weight * (mean * mean + 2.0 * rho[h])
    if total == 0.0:
        return 0.0, 0.0, 0.0
    return (
        top * t * (1.0 + t) + log(total),
        first / total,
        max(second / total - (first / total) ** 2, 0.0),
    )


@kernel(error_model="numpy")
def _tilted(laws, members, i, t):
    """`Tilted` of run i at t."""
    times = members.times[i]
    cost, mean, variance = (
        _of_shifts(members.rho[i], members.share[i], t) if times > 0.0 else (0.0, 0.0, 0.0)
    )
    cost, mean, variance = times * cost, times * mean, times * variance
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
def _tilt(laws, members, i, epsilon, delta, guess):
    """(t, `Tilted`) near the saddle of M(t) exp(-t epsilon)/(t (1 + t)). Where epsilon is nan, it
    is the one with that delta. Any t is sound.
    """
    by_delta = epsilon != epsilon
    t, loss, low, high = guess, -log(delta) if by_delta else 0.0, 0.0, inf
    at = Tilted(-1.0, inf, 0.0, 0.0)
    for tried in range(MOST_TRIED):
        at = _tilted(laws, members, i, t)
        if tried == MOST_TRIED - 1 or (at.ok > 0.0 and high < 1.05 * low):
            break  # all returned values are those at the returned t
        if at.ok < 0.0:
            high, t = t, 0.3 * t if low == 0.0 else low if t < 1.05 * low else sqrt(low * t)
            continue
        per_t, per_both = 1.0 / t, 1.0 / (1.0 + t)
        # t times the mean, less the cost, against what the saddle's height says, both positive
        if by_delta:
            have = t * at.mean - at.cost
            width = at.variance + per_t**2 + per_both**2
            need = max(
                loss + 1.0 + t * per_both + log(per_t * per_both) - 0.5 * log(2.0 * pi * width), 0.2
            )
        else:  # slope of the exponent, mean - epsilon - 1/t - 1/(1 + t), times t
            have, need = t * at.mean, t * epsilon + 1.0 + t * per_both
        if abs(have - need) <= 0.1 * need:
            break
        if have < need:
            low = t
        else:
            high = t
        bend = t * t * at.variance
        if not by_delta:
            change = (need - have) / (bend + 1.0 + (t * per_both) ** 2)
        else:
            change = log(need / have) * min(max(have / bend, 0.1), 1.0) if have > 0.0 else 1.5
        new = t * exp(min(max(change, -1.5), 1.5))
        if not low < new < high or (tried % 3 == 2 and high < inf and low > 0.0):
            new = (
                sqrt(low * high)
                if low > 0.0 and high < inf
                else 0.5 * high
                if high < inf
                else 2.0 * low
            )
        t = new
    return t, at


@kernel()
def _left_out(step, pad, y):
    """An upper bound on the summed sizes of all terms beyond the height y, after a shift of budget
    pad.
    """
    return exp(-pad * y * y) / (2.0 * pad * y * y * y * step)


@kernel(error_model="numpy")
def _multiply_law(v, mass, t, count, step, terms, work):
    """Multiply `count` transforms of a law into the terms: their sizes' logarithms, angles and
    relative errors.
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
            work.off[j] += grown * (1.0 + grown)  # exp(x) - 1 <= x (1 + x) at x < 1
        else:  # a term that is nearly 0, or known by its size alone
            work.log_size[j] += count * log(ratio + error)
            work.off[j] += 2.0


@kernel(error_model="numpy")
def _multiply_shifts(rho, share, t, times, step, terms, work):
    """The same of `times` Gaussian shifts whose budgets are drawn. Each one's terms turn and shrink
    by factors of their own.
    """
    real, imaginary, full = work.real, work.imaginary, _of_shifts(rho, share, t)[0]
    real[: terms + 1] = 0.0
    imaginary[: terms + 1] = 0.0
    for h in range(rho.size):
        size = share[h] * exp(rho[h] * t * (1.0 + t) - full) if share[h] > 0.0 else 0.0
        along, beside, turn = 1.0, 0.0, rho[h] * step * (1.0 + 2.0 * t)
        c, s = cos(turn), sin(turn)
        shrinks, again = exp(-rho[h] * step * step), exp(-2.0 * rho[h] * step * step)
        for j in range(1, terms + 1):
            if size < NOTHING:
                break
            along, beside = along * c - beside * s, along * s + beside * c
            size *= shrinks
            shrinks *= again
            real[j] += size * along
            imaginary[j] += size * beside
    largest = 0.0
    for h in range(rho.size):
        largest = max(largest, rho[h])
    for j in range(1, terms + 1):
        a, b = real[j], imaginary[j]
        ratio = sqrt(a * a + b * b)
        error = NOTHING * rho.size + ULP * (8.0 * j + 20.0 + largest * j * step * (1.0 + 2.0 * t))
        if ratio > 10.0 * error:
            work.log_size[j] += times * log(ratio)
            work.turn[j] += times * atan2(b, a)
            work.off[j] += times * 1.2 * error / ratio
        else:
            work.log_size[j] += times * log(ratio + error)
            work.off[j] += 2.0


@kernel(error_model="numpy")
def _terms(laws, members, i, t, pad, step, terms, work):
    """Both parts of the terms j = 1 .. `terms`; returns a bound on their summed errors."""
    for j in range(1, terms + 1):
        y = j * step
        work.log_size[j], work.turn[j], work.off[j] = -pad * y * y, pad * y * (1.0 + 2.0 * t), 0.0
    for s in range(members.law.shape[1]):
        k = members.law[i, s]
        if members.steps[i, s] > 0.0:
            n = laws.size[k]
            _multiply_law(
                laws.v[k, :n], laws.mass[k, :n], t, members.steps[i, s], step, terms, work
            )
    if members.times[i] > 0.0:
        _multiply_shifts(members.rho[i], members.share[i], t, members.times[i], step, terms, work)
    total = 0.0
    for j in range(1, terms + 1):
        y = j * step
        low, across = t * (1.0 + t) - y * y, y * (1.0 + 2.0 * t)  # z (1 + z)
        apart, turn = low * low + across * across, work.turn[j]
        size = exp(work.log_size[j])
        total += size / sqrt(apart) * (work.off[j] + ULP * (abs(turn) + 20.0))
        along, beside = size / apart * cos(turn), size / apart * sin(turn)
        work.real[j] = along * low + beside * across
        work.imaginary[j] = beside * low - along * across
    return total


@kernel(error_model="numpy")
def _line(laws, members, i, t, at, epsilon, share, work):
    """`Line` for run i. `share` is the part of TAIL that omitted terms may have."""
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
    """The least epsilon >= 0 found at which the sum is at most delta; inf for none. Newton's steps,
    or bisection where these leave the bracket; then steps to the right until the sum is small
    enough.
    """
    log_delta, epsilon, near, low, high = log(delta), start, 0.0, -1.0, inf
    for _ in range(40):
        total, slope = rotated_sum(epsilon, line.step, line.terms, work.real, work.imaginary)
        value = line.at_0 + 2.0 * (total + line.added)
        if not 0.0 < value < inf:
            return high
        gap = line.level - t * epsilon + log(line.step / (2.0 * pi) * value) - log_delta
        if gap <= 0.0 and epsilon == 0.0:
            return 0.0
        fall = t - 2.0 * slope / value
        move = gap / (fall if fall > 0.05 * t else t)
        if abs(move) <= near:
            if gap <= 0.0:
                return epsilon
            near *= 2.0
            epsilon += near
            continue
        if gap <= 0.0:
            high = min(high, epsilon)
        else:
            low = max(low, epsilon)
        epsilon = max(0.0, epsilon + min(max(move, -3.0 / t), 3.0 / t))
        if high < inf and not low < epsilon < high:
            epsilon = 0.5 * (max(low, 0.0) + high)
        near = 1e-10 * epsilon + 1e-13 / t
    return high


@kernel(error_model="numpy")
def _by_order(at, t, delta):
    """epsilon by the Renyi divergence of the order 1 + t (Canonne, Kamath, Steinke)."""
    cost = at.cost * (1.0 + SLACK) - log(delta) + t * log(t) - (1.0 + t) * log1p(t)
    return max(cost / t, 0.0) * (1.0 + SLACK)


@kernel(error_model="numpy")
def _epsilon(laws, members, i, delta, guess, work):
    """epsilon of run i; by a single Renyi order where the sum would be too long."""
    t, at = _tilt(laws, members, i, nan, delta, guess)
    best = at_order = inf
    for _ in range(TRIES):
        if at.ok < 0.0:
            break
        at_order = min(at_order, _by_order(at, t, delta))
        start = min(best, at_order)
        line = _line(laws, members, i, t, at, start, min(1.0, t * start), work)
        epsilon = _root(line, t, work, delta, start) if line.terms >= 0 else inf
        if epsilon < inf:
            near = epsilon > 0.9 * best if best < inf else 0.7 * start < epsilon < start
            best = min(best, epsilon, at_order)
            if near:
                break
            t, at = _tilt(laws, members, i, best, delta, t)
        else:
            t *= 0.85
            at = _tilted(laws, members, i, t)
    return min(best, at_order)


@kernel(error_model="numpy")
def _first_tilt(laws, members, i, loss):
    """A guess at the t with t mean - cost = loss, by the variance at small t."""
    t = 1e-3
    for _ in range(12):
        at = _tilted(laws, members, i, t)
        if at.ok < 0.0 or t * at.mean - at.cost >= loss:
            break
        t *= 4.0
    return t


@kernel(error_model="numpy")
def solve(laws, members, deltas, work):
    """epsilon at each delta, row by row: rounded up; inf where none is found."""
    found = empty(deltas.size)
    for i in range(deltas.size):  # each by itself: a row is the same whatever its neighbours
        guess = _first_tilt(laws, members, i, -log(deltas[i]))
        found[i] = _epsilon(laws, members, i, deltas[i], guess, work)
    return found
