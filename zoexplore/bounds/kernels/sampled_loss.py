"""One step's privacy loss on a sampled batch (docs/batches.md): its tilted law by quadrature, and the decay of its transform.

The law is tilted by exp(t L); bounds on M(t + iy) = E exp((t + iy) L) say how fast it falls with y.
"""

from math import erf, erfc, exp, log, log1p, pi, sqrt

from numpy import zeros
from numpy.polynomial.legendre import leggauss

from zoexplore.bounds.kernels.compiling import kernel
from zoexplore.bounds.kernels.subsampled_renyi import NODES, WEIGHTS, _above_line, _log_ratio, put, quick_expm1

WITHOUT_REPLACEMENT, REMOVE, ADD = 0, 1, 2  # whose pair: docs/batches.md
CELLS, POINTS, MANY_POINTS = 1024, 12, 24
RULES = zeros((2, 2, MANY_POINTS))  # of twelve nodes and of 24: the nodes, and their weights
RULES[0, 0, :POINTS], RULES[0, 1, :POINTS] = NODES, WEIGHTS
RULES[1] = leggauss(MANY_POINTS)
SQRT_2, SQRT_2PI = sqrt(2.0), sqrt(2.0 * pi)
CUT = 1e-6  # of delta: losses beyond the window, as likely as that in all steps together, count as infinite
NEAR, SHORT, LONG = 3.0, 1.0, 2.0  # panels are short where most of the mass is
TURN, MANY_TURN = 8.0, 27.0  # radians, or growth in logarithms, over which 12 nodes, or 24, err by less than 1e-15
NOTHING = 40.0  # a part smaller than the largest by this, in logarithms, is lost beside it
LEVELS, RUNG = 128, 2.0**0.25  # heights at which the transform is bounded, and what they grow by
MOST_EXPONENT = 600.0
ROUNDED = 1e-11  # relative error of a modulus by quadrature


@kernel(error_model="numpy")
def window_for(kind, N, q, mu, delta):
    """(low, high, off, drift): beyond x = low + mu/2 and high + mu/2 a step's loss counts as infinite, with probability `off`.
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


@kernel()
def _steep(x, x_end, rise, rise_end, least):
    """Whether exp(rise) phi changes too much over a panel where it is not negligible."""
    nearest = min(max(0.0, x), x_end)
    change = rise_end - rise - 0.5 * (x_end - x) * (x_end + x)
    return abs(change) > TURN and rise_end - 0.5 * nearest * nearest > least


@kernel(error_model="numpy")
def cover(kind, t, low, high, q, mu, panels):
    """Cut the window into panels for the quadrature; returns their number, or -1 where they are too many. A panel is short beside
    a normal's width and beside the bend of h, where h^z has branch points at the height pi/mu. Over it h^t changes little, and so
    does h^(1 + t) phi unless it is negligible beside its peak.
    """
    turn, tilt = log((1.0 - q) / q) / mu, 1.0 + t
    at, v, count = low, _log_ratio(low, q, mu), 0
    x = min(max(tilt * mu, low + 0.5 * mu), high + 0.5 * mu)
    least = tilt * _log_ratio(x - 0.5 * mu, q, mu) - 0.5 * x * x - NOTHING
    while at < high:
        if count == CELLS:
            return -1
        apart = turn - at if at < turn else at - turn
        length = min(SHORT if abs(at) < NEAR else LONG, max(3.0 / mu, 0.5 * apart))
        end = high if high - at < 1.25 * length else at + length
        v_end = _log_ratio(end, q, mu)
        while t * (v_end - v) > TURN or (kind != ADD and _steep(at + 0.5 * mu, end + 0.5 * mu, tilt * v, tilt * v_end, least)):
            end = at + 0.5 * (end - at)
            if not end > at:  # shifts so large that no panel is as short as it has to be
                return -1
            v_end = _log_ratio(end, q, mu)
        put(panels, count, at, end, v, v_end)
        count += 1
        at, v = end, v_end
    return count


@kernel(error_model="numpy")
def _fill_panel(kind, t, q, mu, low, high, rule, k, v, both, odd):
    """Fill a panel's nodes from index k on; returns their part of M(t) - 1, mass, first and second moment."""
    half, middle = 0.5 * (high - low), 0.5 * (high + low)
    excess, mass, first, second = 0.0, 0.0, 0.0, 0.0
    for j in range(MANY_POINTS if rule else POINTS):
        y = middle + half * RULES[rule, 0, j]
        loss, x = _log_ratio(y, q, mu), y + 0.5 * mu
        weight = half * RULES[rule, 1, j] / SQRT_2PI
        up = down = 0.0
        if kind != ADD:
            up = weight * exp((1.0 + t) * loss - 0.5 * x * x)
        if kind == WITHOUT_REPLACEMENT:
            by_t, once = quick_expm1(-t * loss), quick_expm1(-loss)
            by_both = by_t + once + by_t * once  # of one sign: no digits are lost
            excess += up * by_t * by_both
            down = up * (1.0 + by_both) * (1.0 + by_t)
        elif kind == REMOVE:
            a, weight = (1.0 + t) * loss, weight * exp(-0.5 * x * x)
            if a > 1.0:
                excess += up * (1.0 - (1.0 + a) * exp(-a)) - weight * (1.0 + t) * _above_line(loss)
            else:
                excess += weight * (_above_line(a) - (1.0 + t) * _above_line(loss))
        else:
            down = weight * exp(-t * loss - 0.5 * x * x)
            excess += weight * exp(-0.5 * x * x) * (_above_line(-t * loss) + t * _above_line(loss))
        v[k + j], both[k + j], odd[k + j] = loss, up + down, up - down
        mass += up + down
        first += (up - down) * loss
        second += (up + down) * loss * loss
    return excess, mass, first, second


@kernel(error_model="numpy")
def fill(kind, t, q, mu, drift, panels, count, few, v, both, odd, sums):
    """Nodes of the tilted law; returns M(t) - 1 without cancellation. `v` has losses, `both` the weights of v plus those of -v,
    `odd` their difference, and `sums` by panel the largest |v|, mass, first and second moment. The first `few` panels have 12
    nodes, the others 24.
    """
    excess = -(1.0 + t) * drift if kind == REMOVE else t * drift
    for i in range(count):
        low, high, v_low, v_high = panels[i]
        rule = int(i >= few)
        k = POINTS * min(i, few) + MANY_POINTS * max(i - few, 0)
        part, mass, first, second = _fill_panel(kind, t, q, mu, low, high, rule, k, v, both, odd)
        excess += part
        put(sums, i, max(abs(v_low), abs(v_high)), mass, first, second)
    return excess


@kernel()
def mass_at_zero(kind, q, mu):
    """The mass of a loss of exactly 0."""
    return (1.0 - q) * erf(0.5 * mu / SQRT_2) if kind == WITHOUT_REPLACEMENT else 0.0


@kernel(error_model="numpy")
def outer_variation(kind, t, q, mu, panels, count, outer):
    """Fill `outer`, shape (CELLS + 1,): upper bounds on the total variation of the tilted loss's density beyond each panel's low
    end. Both directions count where losses have two signs. The density has at most two maxima upwards, and none downwards.
    """
    tilt = 1.0 - t if kind == ADD else 2.0 + t
    grows = max(tilt, 0.0)
    best = 0.0
    outer[count] = 0.0
    for i in range(count - 1, -1, -1):
        low, high, v_low, v_high = panels[i]
        slope = grows * (v_high - v_low) / (high - low)
        y = min(max(slope - 1.5 * mu, low), high)
        x = y + 0.5 * mu
        best = max(best, exp(tilt * v_low + slope * (y - low) - mu * y - 0.5 * x * x))
        outer[i] = 4.0 * best
        if kind == WITHOUT_REPLACEMENT:
            x = low + 0.5 * mu
            outer[i] += 2.0 * exp((1.0 - t) * v_low - mu * low - 0.5 * x * x)
        outer[i] /= SQRT_2PI * mu * q


@kernel(error_model="numpy")
def bound_moduli(M, atom, sums, outer, count, heights, moduli):
    """Fill `moduli`, shape (LEVELS + 1,): upper bounds on log |M(t + iy)/M(t)|, each from its height to the next.

    Under the tilted law |M(t + iy)/M(t)|^2 = 1 - E[1 - cos(y D)], D = L - L'. Losses within +-theta/(2y) alone make that at most
    1 - 2 (1 - cos theta)/theta^2 y^2 p^2 V, p their mass, V their variance. Also, for any cut, |M| is at most the mass of the
    losses inside plus 1/y times the total variation of the density outside.
    """
    for k in range(LEVELS + 1):
        y, spread = heights[k], 0.0
        for share, factor in ((1.0, 0.4), (0.65, 0.69)):  # of theta = pi, 0.65 pi, rounded down
            most = share * 0.5 * pi / heights[k + 1] if k < LEVELS else 0.0
            mass, first, second = atom, 0.0, 0.0
            for i in range(count):
                if sums[i, 0] <= most:
                    mass += sums[i, 1]
                    first += sums[i, 2]
                    second += sums[i, 3]
            spread = max(spread, factor * max(mass * second * (1.0 - 1e-9) - first * first, 0.0) * (y / M) ** 2)
        inner, least = atom, M
        for i in range(count):
            least = min(least, inner + outer[i] / y)
            inner += sums[i, 1]
            if inner > least:
                break
        moduli[k] = min(0.5 * log1p(-min(spread, 0.999)), log(least / M + ROUNDED))


@kernel()
def split(Y, q, mu, panels, count, finer):
    """Cut panels over which exp(i Y L) rotates too far for 12 nodes; returns (whole panels, all panels), or -1 where they are too
    many. Cut panels come last and need 24 nodes.
    """
    few = 0
    for i in range(count):
        low, high, v_low, v_high = panels[i]
        if Y * (v_high - v_low) <= TURN:
            put(finer, few, low, high, v_low, v_high)
            few += 1
    made = few
    for i in range(count):
        low, high, v_low, v_high = panels[i]
        if Y * (v_high - v_low) <= TURN:
            continue
        parts = int(Y * (v_high - v_low) / MANY_TURN) + 1
        if made + parts > CELLS:
            return few, -1
        before, v_before = low, v_low
        for part in range(parts):
            end = high if part == parts - 1 else low + (high - low) * (part + 1) / parts
            v_end = v_high if part == parts - 1 else _log_ratio(end, q, mu)
            put(finer, made, before, end, v_before, v_end)
            before, v_before = end, v_end
            made += 1
    return few, made


@kernel(error_model="numpy")
def measure(kind, t, q, mu, window, work):
    """(number of panels or -1, M(t) - 1, mean and variance of the tilted loss)."""
    panels, _, v, both, odd, sums = work[:6]
    low, high, _, drift = window
    count = cover(kind, t, low, high, q, mu, panels)
    if count < 0 or t * panels[count - 1, 3] > MOST_EXPONENT or -t * panels[0, 2] > MOST_EXPONENT:
        return -1, 0.0, 0.0, 0.0
    excess = fill(kind, t, q, mu, drift, panels, count, count, v, both, odd, sums)
    M, first, second = 1.0 + excess, drift if kind == ADD else -drift, 0.0
    for i in range(count):
        first += sums[i, 2]
        second += sums[i, 3]
    return count, excess, first / M, max(second / M - (first / M) ** 2, 0.0)
