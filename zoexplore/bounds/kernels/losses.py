"""Composed privacy losses of sampled steps and one Gaussian shift, by a transform (docs/batches.md).

N steps on batches, each with the loss L of a dominating pair, and a Gaussian shift of budget rho have, at every real t > 0,

    exp(t epsilon) delta(epsilon) = (1/2 pi) integral over y of M(z)^N exp(rho z (1 + z) - i y epsilon) / (z (1 + z)),  z = t + iy

with M(z) = E exp(z L). The trapezoidal rule of spacing 2 pi/P adds the left side at epsilon + P, epsilon - P, ..., none of which
is negative, so wrapping around errs upward. Bounds on the omitted terms and on the errors of quadrature and rounding are added.
"""

from math import atan2, cos, exp, expm1, inf, log, log1p, nan, pi, sin, sqrt

from numpy import empty

from zoexplore.bounds.kernels.compiling import kernel
from zoexplore.bounds.kernels.sampled_loss import (
    ADD,
    CELLS,
    LEVELS,
    MANY_POINTS,
    POINTS,
    RUNG,
    bound_moduli,
    fill,
    mass_at_zero,
    measure,
    outer_variation,
    split,
    window_for,
)  # fmt: skip
from zoexplore.bounds.kernels.trigonometric_sums import rotated_sum, transform

QUADRATURE = 1e-12  # relative error of M's integrals
ULP = 1e-15
TAIL = 1e-5  # part of the sum (and of t epsilon, if epsilon is wanted and this is below 1) that may be omitted and added
PAD = 4e-4  # part of epsilon that a Gaussian shift to shorten the sum may cost
FEW_TERMS, MOST_TERMS = 200, 3000
DEVIATIONS = 10.0  # of the tilted loss: the first period to try
ALIAS = 1e-3  # of the sum at half the period: at the whole one it is about the square
MOST_TRIED = 40  # values of t
TRIES = 6  # other lines, where one would take too long or its start was far off
FIRST_DELTA, LEAST_DELTA = 1e-12, 1e-250  # for which the window is set first, and at last, if delta is wanted
SLACK = 1e-9  # of delta, for the roundings of its logarithm


@kernel(error_model="numpy")
def _terms(step, terms, N, rho, t, excess, drift, v, both, odd, real, imaginary):
    """Both parts of the terms j = 1 .. `terms`, over the one at 0 times t (1 + t); returns a bound on their summed errors."""
    transform(step, terms, v, both, odd, real, imaginary)
    absolute = 0.0
    for i in range(v.size):
        absolute += both[i] * abs(v[i])
    M = 1.0 + excess
    log_0 = log1p(excess)
    off = 0.0
    for j in range(1, terms + 1):
        y = j * step
        a, b = excess - real[j], imaginary[j] + y * drift
        square = 2.0 * a + a * a + b * b
        log_ratio = (0.5 * log1p(square) if square > -1.0 else -inf) - log_0
        error = (QUADRATURE * (excess + real[j]) + (QUADRATURE + j * ULP) * min(y * absolute, 2.0 * M)) / M
        turn = N * atan2(b, 1.0 + a) + rho * y * (1.0 + 2.0 * t)
        low, across = t * (1.0 + t) - y * y, y * (1.0 + 2.0 * t)  # z (1 + z)
        apart = low * low + across * across
        modulus = exp(N * log_ratio - rho * y * y) / apart
        along, beside = modulus * cos(turn), modulus * sin(turn)
        real[j] = along * low + beside * across
        imaginary[j] = beside * low - along * across
        ratio, size = sqrt(max(1.0 + square, 0.0)) / M, modulus * sqrt(apart)
        grown = N * error / ratio * 1.001
        if ratio > 1e3 * error and grown < 1.0:
            off += size * (grown * (1.0 + grown) + ULP * (abs(turn) + 20.0))  # exp(x) - 1 <= x (1 + x) at x < 1
        else:
            off += exp(N * log(ratio + error) - rho * y * y) / sqrt(apart) + size
    return off


@kernel(error_model="numpy")
def _left_out(step, N, rho, heights, moduli, tails):
    """Fill `tails`: upper bounds on the sum of the moduli of all terms of `_terms` beyond y > heights[k]."""
    y = heights[LEVELS]
    tails[LEVELS] = 2.0 / (step * y) * exp(N * min(moduli[LEVELS], 0.0) - rho * y * y)
    for k in range(LEVELS - 1, -1, -1):
        y = heights[k]
        size = exp(N * min(moduli[k], 0.0) - rho * y * y)
        tails[k] = tails[k + 1] + ((heights[k + 1] - y) / step + 1.0) / (y * y) * size


@kernel(error_model="numpy")
def _first_tilt(N, rho, q, mu, loss):
    """A guess at the t with N (t kappa' - kappa) + rho t^2 = loss, kappa = log M(t), by the variance at small orders. It is
    limited to tilts at which not every step samples the differing record.
    """
    hit = max(0.5 * mu * mu + log(q), 0.0)
    variance = max(q * q * expm1(min(mu * mu, 1.0)), q * hit * hit)
    every = sqrt(2.0 * loss / (N * mu * mu + 2.0 * rho)) - 2.0 * log(q) / (mu * mu)
    return min(max(min(sqrt(2.0 * loss / (N * variance + 2.0 * rho)), every), 1e-6), 1e6)


@kernel(error_model="numpy")
def _tilt(kind, N, rho, q, mu, epsilon, delta, guess, window, work):
    """t near the saddle of exp(N kappa + rho t (1 + t) - t epsilon)/(t (1 + t)), kappa = log M(t), and what `measure` returns
    there. Where epsilon is nan, it is the one with that delta. Any t is sound.
    """
    by_delta = epsilon != epsilon
    t, loss = guess, -log(delta) if by_delta else 0.0
    low, high = 0.0, inf
    count, excess, mean, variance = -1, 0.0, 0.0, 0.0
    for tried in range(MOST_TRIED):
        count, excess, mean, variance = measure(kind, t, q, mu, window, work)
        if tried == MOST_TRIED - 1 or (count >= 0 and high < 1.05 * low):
            break  # all returned values are measured at the returned t
        if count < 0:
            high, t = t, 0.3 * t if low == 0.0 else low if t < 1.05 * low else sqrt(low * t)
            continue
        bend = t * (N * variance + 2.0 * rho)
        per_t, per_both = 1.0 / t, 1.0 / (1.0 + t)
        if by_delta:  # N (t kappa' - kappa) + rho t^2 against what the saddle's height says, both positive
            have = N * (t * mean - log1p(excess)) + rho * t * t
            width = N * variance + 2.0 * rho + per_t**2 + per_both**2
            need = max(loss + 1.0 + t * per_both + log(per_t * per_both) - 0.5 * log(2.0 * pi * width), 0.2)
        else:  # slope of the exponent, N kappa' + rho (1 + 2 t) - epsilon - 1/t - 1/(1 + t), times t
            have = t * (N * mean + rho * (1.0 + 2.0 * t))
            need = t * epsilon + 1.0 + t * per_both
        if abs(have - need) <= 0.1 * need:
            break
        if have < need:
            low = t
        else:
            high = t
        if not by_delta:
            change = (need - have) / (t * bend + 1.0 + (t * per_both) ** 2)
        else:
            change = log(need / have) * min(max(have / (t * bend), 0.1), 1.0) if have > 0.0 else 1.5
        new = t * exp(min(max(change, -1.5), 1.5))
        if not low < new < high or (tried % 3 == 2 and high < inf and low > 0.0):
            new = sqrt(low * high) if low > 0.0 and high < inf else 0.5 * high if high < inf else 2.0 * low
        t = new
    return t, count, excess, mean, variance


@kernel(error_model="numpy")
def _line(kind, N, rho, q, mu, t, found, epsilon, share, window, work, real, imaginary):
    """The sum on the line with real part t: (level, step, terms, value at 0, added), -1 terms where they are too many. `share` is
    the part of TAIL that omitted terms may have. log delta(epsilon) <= level - t epsilon + log(step/(2 pi) (at_0 + 2 sum of the
    terms + added)).
    """
    count, excess, _, variance = found
    panels, finer, v, both, odd, sums, outer, heights, moduli, tails = work
    off, drift = window[2], window[3] if kind == ADD else -window[3]
    M, atom = 1.0 + excess, mass_at_zero(kind, q, mu) + off
    deviation = sqrt(N * variance + 2.0 * rho)
    for k in range(LEVELS + 1):
        heights[k] = 3.0 / deviation * RUNG**k
    outer_variation(kind, t, q, mu, panels, count, outer)
    bound_moduli(M, atom, sums, outer, count, heights, moduli)
    at_0 = 1.0 / (t * (1.0 + t))
    period = max(DEVIATIONS * deviation, 24.0 / t)
    level, step, terms, added = 0.0, 1.0, -1, 0.0
    for _ in range(5):
        step = 2.0 * pi / period
        enough = TAIL * share * at_0 * min(1.0 / deviation, t) / step
        k, pad = 0, 0.0
        for padded in range(2):
            pad = PAD * epsilon / (1.0 + t) if padded else 0.0
            _left_out(step, N, rho + pad, heights, moduli, tails)
            k = 0
            while k < LEVELS and tails[k] > enough:
                k += 1
            terms = int(min(heights[k] / step, 1e6)) + 1
            if terms <= FEW_TERMS:
                break
        if terms > MOST_TERMS:
            return 0.0, step, -1, 0.0, 0.0
        few, made = split(terms * step, q, mu, panels, count, finer)
        if made < 0:
            return 0.0, step, -1, 0.0, 0.0
        excess = fill(kind, t, q, mu, window[3], finer, made, few, v, both, odd, finer)
        level = N * log1p(excess) + (rho + pad) * t * (1.0 + t)
        many = POINTS * few + MANY_POINTS * (made - few)
        error = _terms(step, terms, N, rho + pad, t, excess, drift, v[:many], both[:many], odd[:many], real, imaginary)
        error += at_0 * (N * QUADRATURE * excess / M + ULP * (abs(level) + terms))
        added = 2.0 * (error + tails[k])
        total, _ = rotated_sum(epsilon, step, terms, real, imaginary)
        alternating, _ = rotated_sum(epsilon + 0.5 * period, step, terms, real, imaginary)
        if abs(at_0 + 2.0 * alternating) <= ALIAS * (at_0 + 2.0 * total):
            break
        period *= 1.6
    return level, step, terms, at_0, added


@kernel(error_model="numpy")
def _root(level, t, step, terms, at_0, added, real, imaginary, delta, start):
    """The least epsilon >= 0 found at which the sum is at most delta; inf for none. Newton's steps, or bisection where these
    leave the bracket; then steps to the right until the sum is small enough.
    """
    log_delta, epsilon, near = log(delta), start, 0.0
    low, high = -1.0, inf
    for _ in range(40):
        total, slope = rotated_sum(epsilon, step, terms, real, imaginary)
        value = at_0 + 2.0 * total + added
        if not 0.0 < value < inf:
            return high
        gap = level - t * epsilon + log(step / (2.0 * pi) * value) - log_delta
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


@kernel()
def _workspace():
    """Arrays: panels, finer ones, losses and weights of nodes, sums and outer variations of panels, heights, moduli, tails."""
    return (
        empty((CELLS, 4)), empty((CELLS, 4)), empty(MANY_POINTS * CELLS), empty(MANY_POINTS * CELLS), empty(MANY_POINTS * CELLS),
        empty((CELLS, 4)), empty(CELLS + 1), empty(LEVELS + 1), empty(LEVELS + 1), empty(LEVELS + 1),
    )  # fmt: skip


@kernel(error_model="numpy")
def _scalar_epsilon(kind, N, rho, q, mu, delta, guess, work, real, imaginary):
    """epsilon in one order of the neighbours; by a single Renyi order where the sum would be too long."""
    window = window_for(kind, N, q, mu, delta)
    within = (delta - N * window[2]) * (1.0 - ULP)
    t, count, excess, mean, variance = _tilt(kind, N, rho, q, mu, nan, within, guess, window, work)
    best = at_order = inf
    for _ in range(TRIES):
        if count < 0:
            break
        cost = (N * log1p(excess) + rho * t * (1.0 + t)) * (1.0 + SLACK)  # Canonne, Kamath, Steinke's at the order 1 + t
        at_order = min(at_order, max((cost - log(within) + t * log(t) - (1.0 + t) * log1p(t)) / t, 0.0) * (1.0 + SLACK))
        start = min(best, at_order)
        found = (count, excess, mean, variance)
        level, step, terms, at_0, added = _line(
            kind, N, rho, q, mu, t, found, start, min(1.0, t * start), window, work, real, imaginary
        )
        epsilon = inf
        if terms >= 0:
            epsilon = _root(level, t, step, terms, at_0, added, real, imaginary, within, start)
        if epsilon < inf:
            near = epsilon > 0.9 * best if best < inf else 0.7 * start < epsilon < start
            best = min(best, epsilon, at_order)
            if near:
                break
            t, count, excess, mean, variance = _tilt(kind, N, rho, q, mu, best, within, t, window, work)
        else:
            t *= 0.85
            count, excess, mean, variance = measure(kind, t, q, mu, window, work)
    return min(best, at_order)


@kernel(error_model="numpy")
def _scalar_delta(kind, N, rho, q, mu, epsilon, guess, work, real, imaginary):
    """delta in one order of the neighbours, at most 1."""
    likely = FIRST_DELTA
    t = guess
    for again in range(2):
        window = window_for(kind, N, q, mu, likely)
        t, count, excess, mean, variance = _tilt(kind, N, rho, q, mu, epsilon, likely, t, window, work)
        if count < 0:
            return 1.0
        if not again:
            width = N * variance + 2.0 * rho + 1.0 / (t * t) + 1.0 / ((1.0 + t) * (1.0 + t))
            top = N * log1p(excess) + rho * t * (1.0 + t) - t * epsilon - log(t * (1.0 + t)) - 0.5 * log(2.0 * pi * width)
            likely = exp(min(max(top, log(LEAST_DELTA)), 0.0))
    best = 1.0
    for _ in range(TRIES):
        cost = (N * log1p(excess) + rho * t * (1.0 + t)) * (1.0 + SLACK) - t * epsilon + t * log(t) - (1.0 + t) * log1p(t)
        best = min(best, exp(min(cost, 0.0)) * (1.0 + SLACK) + N * window[2])  # Canonne, Kamath, Steinke's at the order 1 + t
        found = (count, excess, mean, variance)
        level, step, terms, at_0, added = _line(kind, N, rho, q, mu, t, found, epsilon, 1.0, window, work, real, imaginary)
        if terms >= 0:
            total, _ = rotated_sum(epsilon, step, terms, real, imaginary)
            value = at_0 + 2.0 * total + added
            if 0.0 < value < inf:
                best = min(best, exp(level - t * epsilon + log(step / (2.0 * pi) * value)) * (1.0 + SLACK) + N * window[2])
                break
        t *= 0.7
        count, excess, mean, variance = measure(kind, t, q, mu, window, work)
        if count < 0:
            break
    return best


@kernel(error_model="numpy")
def epsilons(kind, N, rho, q, mu, delta):
    """epsilon at delta row by row, arrays of one shape (P,): rounded up; inf where none is found."""
    work, real, imaginary = _workspace(), empty(MOST_TERMS + 1), empty(MOST_TERMS + 1)
    answers = empty(N.size)
    for i in range(N.size):  # each by itself, so that a row is the same whatever its neighbours
        guess = _first_tilt(N[i], rho[i], q[i], mu[i], -log(delta[i]))
        answers[i] = _scalar_epsilon(kind, N[i], rho[i], q[i], mu[i], delta[i], guess, work, real, imaginary)
    return answers


@kernel(error_model="numpy")
def deltas(kind, N, rho, q, mu, epsilon):
    """delta at epsilon row by row, arrays of one shape (P,): rounded up, at most 1."""
    work, real, imaginary = _workspace(), empty(MOST_TERMS + 1), empty(MOST_TERMS + 1)
    answers = empty(N.size)
    for i in range(N.size):
        bend = N[i] * q[i] * q[i] * expm1(min(mu[i] * mu[i], 1.0)) + 2.0 * rho[i]  # of the exponent, where orders are small
        guess = min(max(epsilon[i] / bend, 1e-3), 1e6)
        answers[i] = _scalar_delta(kind, N[i], rho[i], q[i], mu[i], epsilon[i], guess, work, real, imaginary)
    return answers
