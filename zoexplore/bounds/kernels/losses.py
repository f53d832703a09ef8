"""The composed privacy loss of sampled steps and one Gaussian shift, by its transform (docs/loss_distributions.md).

N steps on batches, each with the loss L of a dominating pair, and a Gaussian shift of budget rho have, at every real t > 0,

    exp(t epsilon) delta(epsilon) = (1/2 pi) integral over y of M(z)^N exp(rho z (1 + z) - i y epsilon) / (z (1 + z)),  z = t + iy

with M(z) = E exp(z L). The trapezoidal rule of spacing 2 pi/P adds the left side at epsilon + P, epsilon - P, ..., none of which
is negative: what wraps around errs upward by itself. What the sum leaves out is bounded and added, as is what the quadrature
of M and rounding may be off.
"""

from math import atan2, cos, erf, erfc, exp, expm1, inf, log, log1p, nan, pi, sin, sqrt

from numba import njit
from numpy import empty, zeros

from zoexplore.bounds.kernels.subsampled_renyi import NODES, WEIGHTS, _above_line, _log_ratio

WITHOUT_REPLACEMENT, REMOVE, ADD = 0, 1, 2  # whose pair: docs/loss_distributions.md
EPSILON, DELTA = 0, 1  # what is wanted
CELLS, POINTS = 1024, 12
SQRT_2, SQRT_2PI = sqrt(2.0), sqrt(2.0 * pi)
CUT = 1e-6  # of delta: losses beyond the window, as likely as that in all steps together, count as infinite
NEAR, SHORT, LONG = 3.0, 1.0, 2.0  # panels are short where most of the mass is
TURN = 8.0  # radians, or logarithm of a growth, over which twelve nodes are off by less than 1e-16
LEVELS = 64
QUADRATURE = 1e-12  # relative error of M's integrals
ULP = 1e-15
TAIL = 1e-5  # of the sum: how much of it may be left out, and added
PAD = 4e-4  # of epsilon: what a Gaussian shift that makes the sum short may cost
FEW_TERMS, MOST_TERMS = 200, 3000
ALIAS = 1e-3  # of the sum at half the period: at the whole one it is about the square
MOST_EXPONENT = 600.0
MOST_TRIED = 40  # values of t
TRIES = 6  # other lines, where one would take too long or its start was far off
FIRST_DELTA, LEAST_DELTA = 1e-12, 1e-250  # where the window for a wanted delta is first set, and the least it is set for
SLACK = 1e-9  # of delta, for the roundings of its logarithm


@njit(cache=True, error_model="numpy")
def _window(kind, N, q, mu, delta):
    """(low, high, off, drift): beyond x = low + mu/2 and high + mu/2 a step's loss counts as infinite, with probability `off`;
    `drift` is the integral of phi (h - 1) beyond the window.
    """
    each = log(N / (CUT * delta))
    reach = sqrt(2.0 * each)
    right = max(reach, mu + sqrt(max(2.0 * (each + log(q)), 0.0)))
    above = 0.5 * erfc(right / SQRT_2), 0.5 * erfc((right - mu) / SQRT_2)
    if kind == WITHOUT_REPLACEMENT:
        return 0.0, right - 0.5 * mu, (2.0 - q) * above[0] + q * above[1], 0.0
    left = 0.5 * erfc(reach / SQRT_2), 0.5 * erfc((reach + mu) / SQRT_2)
    drift = q * (above[1] - above[0] - left[0] + left[1])
    if kind == REMOVE:
        off = (1.0 - q) * (above[0] + left[0]) + q * (above[1] + left[1])
    else:
        off = above[0] + left[0]
    return -reach - 0.5 * mu, right - 0.5 * mu, off, drift


@njit(cache=True, error_model="numpy")
def _cover(low, high, tilt, q, mu, panels):
    """Cut the window into panels for the quadrature: short beside a normal's width and the distance to h's turn from 1 to its
    exponential growth, over which h^z has branch points at the height pi/mu, and where h^tilt grows little. Their number, or -1.
    """
    turn = log((1.0 - q) / q) / mu
    at, v, count = low, _log_ratio(low, q, mu), 0
    while at < high:
        if count == CELLS:
            return -1
        apart = turn - at if at < turn else at - turn
        length = min(SHORT if abs(at) < NEAR else LONG, max(3.0 / mu, 0.5 * apart))
        end = high if high - at < 1.25 * length else at + length
        v_end = _log_ratio(end, q, mu)
        while tilt * (v_end - v) > TURN:
            end = at + 0.5 * (end - at)
            v_end = _log_ratio(end, q, mu)
        panels[count] = (at, end, v, v_end)
        count += 1
        at, v = end, v_end
    return count


@njit(cache=True, error_model="numpy")
def _fill(kind, t, q, mu, drift, panels, count, v, both, odd, sums):
    """Nodes of the tilted law: losses v, weights of v plus those of -v, and their difference; `sums` by panel: the largest |v|,
    mass, first and second moment. Returns M(t) - 1, without a cancellation.
    """
    excess = -(1.0 + t) * drift if kind == REMOVE else t * drift
    for i in range(count):
        low, high = panels[i, 0], panels[i, 1]
        half, middle = 0.5 * (high - low), 0.5 * (high + low)
        mass, first, second = 0.0, 0.0, 0.0
        for j in range(POINTS):
            y = middle + half * NODES[j]
            loss, x = _log_ratio(y, q, mu), y + 0.5 * mu
            weight = half * WEIGHTS[j] / SQRT_2PI
            up = down = 0.0
            if kind != ADD:
                up = weight * exp((1.0 + t) * loss - 0.5 * x * x)
            if kind != REMOVE:
                down = weight * exp(-t * loss - 0.5 * x * x)
            if kind == WITHOUT_REPLACEMENT:
                excess += up * expm1(-t * loss) * expm1(-(1.0 + t) * loss)
            elif kind == REMOVE:
                a = (1.0 + t) * loss
                if a > 1.0:
                    excess += up * (1.0 - (1.0 + a) * exp(-a)) - weight * exp(-0.5 * x * x) * (1.0 + t) * _above_line(loss)
                else:
                    excess += weight * exp(-0.5 * x * x) * (_above_line(a) - (1.0 + t) * _above_line(loss))
            else:
                excess += weight * exp(-0.5 * x * x) * (_above_line(-t * loss) + t * _above_line(loss))
            k = POINTS * i + j
            v[k], both[k], odd[k] = loss, up + down, up - down
            mass += up + down
            first += (up - down) * loss
            second += (up + down) * loss * loss
        sums[i] = (max(abs(panels[i, 2]), abs(panels[i, 3])), mass, first, second)
    return excess


@njit(cache=True)
def _atom(kind, q, mu):
    """The mass of a loss of exactly 0."""
    return (1.0 - q) * erf(0.5 * mu / SQRT_2) if kind == WITHOUT_REPLACEMENT else 0.0


@njit(cache=True, error_model="numpy")
def _variation(kind, t, q, mu, panels, count):
    """The total variation of the tilted loss's density, from above: it has at most two maxima on each side."""
    tilt = 1.0 - t if kind == ADD else 2.0 + t
    best = -inf
    for i in range(count):
        low, high, v_low, v_high = panels[i]
        slope = max(tilt, 0.0) * (v_high - v_low) / (high - low) - mu
        y = min(max(slope - 0.5 * mu, low), high)
        x = y + 0.5 * mu
        best = max(best, tilt * v_low + max(tilt, 0.0) * (v_high - v_low) * (y - low) / (high - low) - mu * y - 0.5 * x * x)
    total = 4.0 * exp(best)
    if kind == WITHOUT_REPLACEMENT:
        total += 2.0 * exp(-0.125 * mu * mu)
    return total / (SQRT_2PI * mu * q)


@njit(cache=True, error_model="numpy")
def _left_out(start, step, N, rho, M, atom, variation, sums, count, heights, tails):
    """Bounds `tails` on the sum of the terms' moduli over all y > heights[k], a term being what `_terms` says.

    Under the tilted law |M(t + iy)/M(t)|^2 = 1 - E[1 - cos(y D)], D = L - L'. Losses within +-pi/(2y) alone make that at most
    1 - (4/pi^2) y^2 p^2 V, p their mass, V their variance; and it is at most (atom + variation/y)^2/M(t)^2.
    """
    for k in range(LEVELS + 1):
        heights[k] = start * 2.0 ** (0.5 * k)
    for k in range(LEVELS):
        y, most = heights[k], 0.5 * pi / heights[k + 1]
        spread = 0.0
        for share in (1.0, 0.65):  # 2 (1 - cos theta)/theta^2 at theta = pi and 0.65 pi: 0.405, 0.697
            mass, first, second = atom, 0.0, 0.0
            for i in range(count):
                if sums[i, 0] <= share * most:
                    mass += sums[i, 1]
                    first += sums[i, 2]
                    second += sums[i, 3]
            part = max(mass * second * (1.0 - 1e-9) - first * first, 0.0) * (y / M) ** 2
            spread = max(spread, (0.4 if share == 1.0 else 0.69) * part)
        size = 0.5 * log1p(-min(spread, 0.999))
        size = min(size, log((atom + variation / y) / M))
        tails[k] = ((heights[k + 1] - y) / step + 1.0) / (y * y) * exp(N * min(size, 0.0) - rho * y * y)
    y = heights[LEVELS]
    size = min(0.0, log((atom + variation / y) / M))
    tails[LEVELS] = 2.0 / (step * y) * exp(N * size - rho * y * y)
    for k in range(LEVELS - 1, -1, -1):
        tails[k] += tails[k + 1]


@njit(cache=True)
def _split(Y, q, mu, panels, count, finer):
    """Cut panels in which exp(i Y L) turns too far; the number of panels, or -1."""
    made = 0
    for i in range(count):
        low, high, v_low, v_high = panels[i]
        parts = int(Y * (v_high - v_low) / TURN) + 1
        if made + parts > CELLS:
            return -1
        before, v_before = low, v_low
        for part in range(parts):
            end = high if part == parts - 1 else low + (high - low) * (part + 1) / parts
            v_end = v_high if part == parts - 1 else _log_ratio(end, q, mu)
            finer[made] = (before, end, v_before, v_end)
            before, v_before = end, v_end
            made += 1
    return made


@njit(cache=True, fastmath={"reassoc", "contract", "nsz"})
def _turn(both, odd, d, s, d_1, s_1):
    """Turn every node by its angle, kept as 1 - cos and sin so that small ones keep their digits; the sums of both."""
    real, imaginary = 0.0, 0.0
    for i in range(both.size):
        turned = d[i] + d_1[i] - d[i] * d_1[i] + s[i] * s_1[i]
        s[i] = s[i] * (1.0 - d_1[i]) + (1.0 - d[i]) * s_1[i]
        d[i] = turned
        real += both[i] * turned
        imaginary += odd[i] * s[i]
    return real, imaginary


@njit(cache=True, error_model="numpy")
def _terms(step, terms, N, rho, t, excess, drift, v, both, odd, size, phase):
    """Modulus and phase of the terms j = 1 .. `terms`, over the one at 0 times t (1 + t); what they may be off in all."""
    d, s, d_1, s_1 = zeros(v.size), zeros(v.size), empty(v.size), empty(v.size)
    absolute = 0.0
    for i in range(v.size):
        half = sin(0.5 * step * v[i])
        d_1[i], s_1[i] = 2.0 * half * half, sin(step * v[i])
        absolute += both[i] * abs(v[i])
    M = 1.0 + excess
    log_0 = log1p(excess)
    off = 0.0
    for j in range(1, terms + 1):
        y = j * step
        real, imaginary = _turn(both, odd, d, s, d_1, s_1)
        imaginary += y * drift
        a = excess - real
        square = 2.0 * a + a * a + imaginary * imaginary
        log_size = 0.5 * log1p(square) if square > -1.0 else -inf
        error = (QUADRATURE * (excess + real) + (QUADRATURE + j * ULP) * min(y * absolute, 2.0 * M)) / M
        turn = N * atan2(imaginary, 1.0 + a)
        turn += rho * y * (1.0 + 2.0 * t)
        inverse = 1.0 / sqrt((t * t + y * y) * ((1.0 + t) * (1.0 + t) + y * y))
        modulus = exp(N * (log_size - log_0) - rho * y * y)
        size[j] = modulus * inverse
        phase[j] = turn - atan2(y, t) - atan2(y, 1.0 + t)
        ratio = exp(log_size - log_0)
        if ratio > 1e3 * error:
            off += size[j] * (expm1(N * error / ratio * 1.001) + ULP * (abs(turn) + 10.0))
        else:
            off += exp(N * log(ratio + error) - rho * y * y) * inverse + size[j]
    return off


@njit(cache=True)
def _sum(epsilon, step, terms, size, phase):
    """The sum of the terms from j = 1 on, its derivative, and the sum of those with an even j."""
    total, slope, even = 0.0, 0.0, 0.0
    for j in range(1, terms + 1):
        angle = phase[j] - j * step * epsilon
        part = size[j] * cos(angle)
        total += part
        slope += size[j] * sin(angle) * j * step
        if j % 2 == 0:
            even += part
    return total, slope, even


@njit(cache=True, error_model="numpy")
def _measure(kind, t, q, mu, window, work):
    """(number of panels or -1, M(t) - 1, mean and variance of the tilted loss)."""
    panels, _, v, both, odd, sums, _, _ = work
    low, high, _, drift = window
    count = _cover(low, high, t + 1.0, q, mu, panels)
    if count < 0 or t * panels[count - 1, 3] > MOST_EXPONENT or -t * panels[0, 2] > MOST_EXPONENT:
        return -1, 0.0, 0.0, 0.0
    excess = _fill(kind, t, q, mu, drift, panels, count, v, both, odd, sums)
    M, first, second = 1.0 + excess, drift if kind == ADD else -drift, 0.0
    for i in range(count):
        first += sums[i, 2]
        second += sums[i, 3]
    return count, excess, first / M, max(second / M - (first / M) ** 2, 0.0)


@njit(cache=True, error_model="numpy")
def _tilt(kind, N, rho, q, mu, epsilon, delta, guess, window, work):
    """t near the saddle of exp(N kappa + rho t (1 + t) - t epsilon)/(t (1 + t)), kappa = log M(t); for epsilon = nan near the one
    at the epsilon where that is delta. Any t is sound. Returns t with what `_measure` says of it.
    """
    by_delta = epsilon != epsilon
    t, loss = guess, -log(delta) if by_delta else 0.0
    low, high = 0.0, inf
    count, excess, mean, variance = -1, 0.0, 0.0, 0.0
    for tried in range(MOST_TRIED):
        count, excess, mean, variance = _measure(kind, t, q, mu, window, work)
        if tried == MOST_TRIED - 1 or (count >= 0 and high < 1.05 * low):
            break  # whatever is returned was measured at the t that is returned
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


@njit(cache=True, error_model="numpy")
def _line(kind, N, rho, q, mu, t, found, epsilon, window, work, size, phase):
    """The sum's terms on the line with real part t: (level, step, terms, value at 0, added), -1 terms where they are too many.

    log delta(epsilon) <= level - t epsilon + log(step/(2 pi) (at_0 + 2 sum of the terms + added)).
    """
    count, excess, _, variance = found
    panels, finer, v, both, odd, sums, heights, tails = work
    off, drift = window[2], window[3] if kind == ADD else -window[3]
    M, atom = 1.0 + excess, _atom(kind, q, mu) + off
    variation = _variation(kind, t, q, mu, panels, count)
    deviation = sqrt(N * variance + 2.0 * rho)
    at_0 = 1.0 / (t * (1.0 + t))
    period = max(10.0 * deviation, 24.0 / t)
    level, step, terms, added = 0.0, 1.0, -1, 0.0
    for _ in range(5):
        step = 2.0 * pi / period
        enough = TAIL * at_0 * min(1.0 / deviation, t) / step
        k, pad = 0, 0.0
        for padded in range(2):
            pad = PAD * epsilon / (1.0 + t) if padded else 0.0
            _left_out(3.0 / deviation, step, N, rho + pad, M, atom, variation, sums, count, heights, tails)
            k = 0
            while k < LEVELS and tails[k] > enough:
                k += 1
            terms = int(min(heights[k] / step, 1e6)) + 1
            if terms <= FEW_TERMS:
                break
        if terms > MOST_TERMS:
            return 0.0, step, -1, 0.0, 0.0
        made = _split(terms * step, q, mu, panels, count, finer)
        if made < 0:
            return 0.0, step, -1, 0.0, 0.0
        excess = _fill(kind, t, q, mu, window[3], finer, made, v, both, odd, finer)
        level = N * log1p(excess) + (rho + pad) * t * (1.0 + t)
        many = POINTS * made
        error = _terms(step, terms, N, rho + pad, t, excess, drift, v[:many], both[:many], odd[:many], size, phase)
        error += at_0 * (N * QUADRATURE * excess / M + ULP * (abs(level) + terms))
        added = 2.0 * (error + tails[k])
        total, _, even = _sum(epsilon, step, terms, size, phase)
        whole, half = at_0 + 2.0 * total, 2.0 * (at_0 + 2.0 * even)
        if abs(half - whole) <= ALIAS * whole:
            break
        period *= 1.6
    return level, step, terms, at_0, added


@njit(cache=True, error_model="numpy")
def _root(level, t, step, terms, at_0, added, size, phase, delta, start):
    """The least epsilon >= 0 found at which the sum is at most delta: Newton's steps, then to the right until it is."""
    log_delta, epsilon, near = log(delta), start, 0.0
    for _ in range(40):
        total, slope, _ = _sum(epsilon, step, terms, size, phase)
        value = at_0 + 2.0 * total + added
        if not 0.0 < value < inf:
            return inf
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
        epsilon = max(0.0, epsilon + min(max(move, -3.0 / t), 3.0 / t))
        near = 1e-10 * epsilon + 1e-13 / t
    return inf


@njit(cache=True)
def _workspace():
    return (
        empty((CELLS, 4)), empty((CELLS, 4)), empty(POINTS * CELLS), empty(POINTS * CELLS), empty(POINTS * CELLS),
        empty((CELLS, 4)), empty(LEVELS + 1), empty(LEVELS + 1),
    )  # fmt: skip


@njit(cache=True, error_model="numpy")
def _scalar_epsilon(kind, N, rho, q, mu, delta, guess, work, size, phase):
    """epsilon in one order of the neighbours; by one Renyi order where the sum would be too long."""
    window = _window(kind, N, q, mu, delta)
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
        level, step, terms, at_0, added = _line(kind, N, rho, q, mu, t, found, start, window, work, size, phase)
        epsilon = inf
        if terms >= 0:
            epsilon = _root(level, t, step, terms, at_0, added, size, phase, within, start)
        if epsilon < inf:
            near = epsilon > 0.9 * best if best < inf else 0.7 * start < epsilon < start
            best = min(best, epsilon, at_order)
            if near:
                break
            t, count, excess, mean, variance = _tilt(kind, N, rho, q, mu, best, within, t, window, work)
        else:
            t *= 0.85
            count, excess, mean, variance = _measure(kind, t, q, mu, window, work)
    return min(best, at_order)


@njit(cache=True, error_model="numpy")
def _scalar_delta(kind, N, rho, q, mu, epsilon, guess, work, size, phase):
    """delta in one order of the neighbours, at most 1."""
    likely = FIRST_DELTA
    t = guess
    for again in range(2):
        window = _window(kind, N, q, mu, likely)
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
        level, step, terms, at_0, added = _line(kind, N, rho, q, mu, t, found, epsilon, window, work, size, phase)
        if terms >= 0:
            total, _, _ = _sum(epsilon, step, terms, size, phase)
            value = at_0 + 2.0 * total + added
            if 0.0 < value < inf:
                best = min(best, exp(level - t * epsilon + log(step / (2.0 * pi) * value)) * (1.0 + SLACK) + N * window[2])
                break
        t *= 0.7
        count, excess, mean, variance = _measure(kind, t, q, mu, window, work)
        if count < 0:
            break
    return best


@njit(cache=True, error_model="numpy")
def solve(wanted, kind, N, rho, q, mu, given):
    """Row by row, arrays of one shape (P,): epsilon at the delta that is given, or, `wanted` being DELTA, delta at the epsilon;
    rounded up; inf or 1 where nothing is found.
    """
    work, size, phase = _workspace(), empty(MOST_TERMS + 1), empty(MOST_TERMS + 1)
    answers = empty(N.size)
    for i in range(N.size):  # each by itself, so that a row is the same whatever its neighbours
        bend = N[i] * q[i] * q[i] * expm1(min(mu[i] * mu[i], 1.0)) + 2.0 * rho[i]  # of the exponent, where orders are small
        guess = given[i] / bend if wanted == DELTA else sqrt(-2.0 * log(given[i]) / bend)
        guess = min(max(guess, 1e-3), 1e6)
        if wanted == DELTA:
            answers[i] = _scalar_delta(kind, N[i], rho[i], q[i], mu[i], given[i], guess, work, size, phase)
        else:
            answers[i] = _scalar_epsilon(kind, N[i], rho[i], q[i], mu[i], given[i], guess, work, size, phase)
    return answers
