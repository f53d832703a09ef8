"""The compiled loops. No other module imports numba, and nothing here calls Python back.

They live in one file because numba keys a cached function on its own file only: split over several, a caller could keep
running an old callee. Each public kernel is a NumPy ufunc, so rows of runs broadcast as arrays do.
"""

from math import ceil, erf, erfc, exp, expm1, inf, log, log1p, sqrt

from numba import njit, vectorize
from numpy import empty

SQRT_2, SQRT_PI_2, SQRT_2PI = sqrt(2.0), sqrt(3.141592653589793 / 2.0), sqrt(2.0 * 3.141592653589793)
GOLDEN = (sqrt(5.0) - 1.0) / 2.0
MOST_STEPS = 2.0**53

# Newton's last step and the sums before it round to a few units in the last place; this pays for them.
ROUND_UP = 1.0 + 1e-12

# ---------------------------------------------------------------- Gaussian trade-off (BOUNDS section 2)


@njit(cache=True)
def _mills(x):
    """Mills' ratio Phi(-x)/phi(x)."""
    if x < 8.0:
        return SQRT_PI_2 * exp(0.5 * x * x) * erfc(x / SQRT_2)
    tail = x
    for j in range(24, 0, -1):  # Laplace's continued fraction, accurate to the last digits from x = 8 on
        tail = x + j / tail
    return 1.0 / tail


@njit(cache=True)
def _mills_drop(a, mu):
    """Mills' ratio at a less that at a + mu, without cancellation for small mu."""
    if mu > 0.2:
        return _mills(a) - _mills(a + mu)
    # its derivative is -f, f = 1 - x mills(x), with f' = x f - mills and f^(k) = k f^(k-2) + x f^(k-1): Taylor at the middle
    h = 0.5 * mu
    x = a + h
    ratio = _mills(x)
    f = 1.0 - x * ratio
    before, now = f, x * f - ratio
    total, power = f, 1.0
    for k in range(2, 9):
        before, now = now, k * before + x * now
        power *= h / k
        if k % 2 == 0:
            total += power * h / (k + 1) * now
    return mu * total


@njit(cache=True)
def _gaussian_delta(epsilon, mu):
    a = epsilon / mu - 0.5 * mu
    density = exp(-0.5 * a * a) / SQRT_2PI
    if a < -1.0:  # then mu > 2 and the second term is small: no cancellation, and no overflow
        return 0.5 * erfc(a / SQRT_2) - density * _mills(a + mu)
    return density * _mills_drop(a, mu)


@vectorize(cache=True)
def gaussian_delta(rho, epsilon):
    """The exact delta of a Gaussian shift budget rho at epsilon (Balle and Wang 2018)."""
    if rho <= 0.0:
        return 0.0
    return min(1.0, _gaussian_delta(epsilon, sqrt(2.0 * rho)) * ROUND_UP)


@njit(cache=True)
def _mironov(rho, delta):
    return (rho + 2.0 * sqrt(-rho * log(delta))) * ROUND_UP


@vectorize(cache=True)
def gaussian_epsilon(rho, delta):
    """The exact epsilon of a Gaussian shift budget rho at delta, from above (Balle and Wang 2018).

    delta(epsilon) = E[(1 - exp(epsilon - L))_+], L Gaussian, is log-concave (Prekopa): every tangent of log delta lies
    above it, so each Newton step lands at or right of the root, whatever the start: on the sound side.
    """
    if not (rho < inf and delta > 0.0):
        return inf
    mu = sqrt(2.0 * rho)
    if rho <= 0.0 or erf(mu / (2.0 * SQRT_2)) * ROUND_UP <= delta:
        return 0.0
    t = sqrt(-2.0 * log(min(delta, 0.5)))  # a rational guess at the normal quantile (Abramowitz, Stegun 26.2.23)
    quantile = t - (2.515517 + t * (0.802853 + t * 0.010328)) / (1.0 + t * (1.432788 + t * (0.189269 + t * 0.001308)))
    epsilon = max(0.0, mu * (quantile + 0.5 * mu))
    target = log(delta)
    for _ in range(60):
        a = epsilon / mu - 0.5 * mu
        value = _gaussian_delta(epsilon, mu)
        if value <= 0.0:  # the guess lies so far right that delta underflows
            epsilon *= 0.5
            continue
        slope = exp(-0.5 * a * a) / SQRT_2PI * _mills(a + mu) / value
        step = (log(value) - target) / slope
        epsilon = max(0.0, epsilon + step)
        if abs(step) <= 1e-8 * epsilon:  # quadratic: what is left is below the rounding
            return epsilon * ROUND_UP
    return _mironov(rho, delta)  # not converged: the loose form is sound


@vectorize(cache=True)
def mironov_epsilon(rho, delta):
    """The optimum over real orders of the Renyi conversion of Mironov 2017."""
    if not (rho < inf and delta > 0.0):
        return inf
    return _mironov(rho, delta)


@vectorize(cache=True)
def cks_epsilon(rho, delta):
    """The optimum over real orders of Canonne, Kamath, Steinke 2020, Proposition 12, never below 0.

    With u = alpha - 1 the derivative is rho - (ln(1/delta) - log1p(u))/u^2, so the order solves the increasing equation
    rho u^2 + log1p(u) = ln(1/delta). Every order is sound, so the root need not be.
    """
    if not (rho < inf and delta > 0.0):
        return inf
    if rho <= 0.0:
        return 0.0
    loss = -log(delta)
    low, high = 0.0, min(sqrt(loss / rho), expm1(min(loss, 700.0)))
    u = high
    for _ in range(100):
        excess = rho * u * u + log1p(u) - loss
        if excess > 0.0:
            high = u
        else:
            low = u
        newton = u - excess / (2.0 * rho * u + 1.0 / (1.0 + u))
        newton = newton if low < newton < high else 0.5 * (low + high)
        if abs(newton - u) <= 1e-12 * u:
            break
        u = newton
    gain = log1p(1.0 / u)
    cost = rho * (1.0 + u) + (loss - log1p(u)) / u
    return max(0.0, cost * ROUND_UP - gain / ROUND_UP)


# ---------------------------------------------------------------- shift budgets over geometric weights (BOUNDS section 5)


@njit(cache=True)
def _geometric(kappa, count):
    """1 + q + ... + q^(count-1) with q = exp(kappa), kappa <= 0."""
    return expm1(kappa * count) / expm1(kappa) if kappa < 0.0 else count


@njit(cache=True)
def _level(need, kappa, N):
    """(nu, m): with q = exp(kappa) <= 1 and x_i = max(1, nu q^i), i < N, the sum of q^i (x_i - 1) is `need`; m exceed 1.

    This x has the least sum of squares under that constraint, and x >= 1. Where all the excess is in the first m terms,
    nu = (need + sum q^i)/(sum q^2i); the real m with nu q^m = 1 is a root of a quadratic in q^m.
    """
    m = float(N)
    if kappa < 0.0:
        e = -expm1(kappa)
        scaled = need * e
        p = (2.0 - e) * (1.0 + scaled)
        root = sqrt(e * e + (2.0 - e) ** 2 * scaled * (2.0 + scaled))
        gone = ((2.0 - e) * scaled - e + root) / (p + root)  # 1 - q^m
        if gone < 1.0:
            m = min(m, max(1.0, ceil(log1p(-gone) / kappa)))
    return (need + _geometric(kappa, m)) / _geometric(2.0 * kappa, m), m


@njit(cache=True)
def _squares(need, kappa, N):
    """The least sum of squares that `_level` attains."""
    nu, m = _level(need, kappa, N)
    return (N - m) + nu * nu * _geometric(2.0 * kappa, m)


@njit(cache=True)
def _scaled_start(z, kappa, N):
    """The start in units of the largest weight: the last step's where distances shrink, else the first one's."""
    return z * exp(kappa * N) if kappa <= 0.0 else z * exp(kappa)


@njit(cache=True)
def _least_shift(kappa, N, z, drift):
    start = _scaled_start(z, kappa, N)
    if kappa <= 0.0 or drift == 0.0:
        total = start + (drift * _geometric(kappa, N) if kappa <= 0.0 else 0.0)
        return total * total / _geometric(-2.0 * abs(kappa), N)
    return drift * drift * _squares(start / drift, -kappa, N)


@vectorize(cache=True)
def least_shift(kappa, N, z, drift):
    """The least sum of a_t^2 that brings a distance z to 0 in N steps of z <- exp(kappa) z + drift - a_t, z >= 0.

    Unrolled: sum over j of g_j a_j >= z + drift sum g_j, g_j = exp(-j kappa); the best a is proportional to g, but where
    distances grow (kappa > 0) the weights fall towards the end and a_t may not drop below the drift.
    """
    return _least_shift(kappa, N, z, drift)


@njit(cache=True)
def _least_both(kappa, N, z, drift, ratio):
    """The least sum of 1/beta_t + ratio a_t^2/(1 - beta_t), shares free: for given a_t it is (1 + sqrt(ratio) a_t)^2."""
    scale = sqrt(ratio)
    start, floor = scale * _scaled_start(z, kappa, N), scale * drift
    if kappa <= 0.0:
        return _squares(start + floor * _geometric(kappa, N), kappa, N)
    unit = 1.0 + floor
    return unit * unit * _squares(start / unit, -kappa, N)


@vectorize(cache=True)
def shift_level(kappa, N, z, drift, ratio):
    """nu of `_level` for free shares (`ratio` as in `_least_both`), or for a constant one (ratio = 0), to rebuild a_t from."""
    start = _scaled_start(z, kappa, N)
    if ratio > 0.0:
        scale = sqrt(ratio)
        if kappa <= 0.0:
            return _level(scale * (start + drift * _geometric(kappa, N)), kappa, N)[0]
        return _level(scale * start / (1.0 + scale * drift), -kappa, N)[0]
    if kappa <= 0.0 or drift == 0.0:
        total = start + (drift * _geometric(kappa, N) if kappa <= 0.0 else 0.0)
        return total / _geometric(-2.0 * abs(kappa), N)
    return _level(start / drift, -kappa, N)[0]


# ---------------------------------------------------------------- hidden-state theorem (BOUNDS section 5)


@njit(cache=True)
def _growth(N, log_delta_f, K, d, gap):
    """ln of c1, the factor that a step's distance exceeds with probability at most delta_f/N; gap = 1 - c^2."""
    loss = log(2.0 * N) - log_delta_f
    lin, const = 8.0 * (d - 2.0 * K) * loss, 12.0 * (d - K) * loss
    theta = (lin + sqrt(lin * lin + 12.0 * d * K * const)) / (6.0 * d * K)  # 3 d K theta^2 - lin theta - const = 0
    return 0.5 * log1p((theta * (2.0 - gap) - gap) * K / d)


@vectorize(cache=True)
def theorem_growth(N, log_delta_f, K, d, gap):
    """ln of the theorem's c1 for N counted steps; gap = 1 - c^2."""
    return _growth(N, log_delta_f, K, d, gap)


@njit(cache=True, error_model="numpy")  # a share of 0 or 1 divides by zero: infinite, as it should be
def _theorem(N, T, log_delta_f, K, d, gap, diameter, kick, drift, beta, data, shift):
    """rho of N counted steps. data: cost of the data part at share 1; shift: cost per squared shift at share 0.

    beta < 0 stands for the free schedule.
    """
    z = min(diameter, kick * (T - N))
    kappa = _growth(N, log_delta_f, K, d, gap)
    if beta < 0.0:
        return data * _least_both(kappa, N, z, drift, shift / data)
    return N * data / beta + shift / (1.0 - beta) * _least_shift(kappa, N, z, drift)


@vectorize(cache=True)
def theorem_rho(N, T, log_delta_f, K, d, gap, diameter, kick, drift, beta, data, shift):
    """rho of the hidden-state theorem with the last N of T steps counted (arguments as in `_theorem`)."""
    return _theorem(N, T, log_delta_f, K, d, gap, diameter, kick, drift, beta, data, shift)


@vectorize(cache=True)
def theorem_steps(T, most, log_delta_f, K, d, gap, diameter, kick, drift, beta, data, shift):
    """The number N of counted steps with the least rho; T = inf starts from the diameter, without a forward part.

    N is sought from the end of the run (N = 1, 2, 4, ...) and, where T is finite, from its start (N = T - 1, T - 2, ...),
    then refined by golden sections between the neighbours of the best. Any N is sound. No N with N data >= rho can win.
    """
    best, best_N = inf, 1.0
    for forward in range(1 if T == inf else 2):
        x, top, best_x = 1.0, min(most, T - 1.0), -1.0
        while x <= top:
            N = T - x if forward else x
            if N * data < best:
                value = _theorem(N, T, log_delta_f, K, d, gap, diameter, kick, drift, beta, data, shift)
                if value < best:
                    best, best_N, best_x = value, N, x
            elif not forward:
                break
            x = min(2.0 * x, top) if x < top else top + 1.0
        if best_x < 0.0:
            continue
        low, high = max(1.0, ceil(0.5 * best_x)), min(top, 2.0 * best_x)
        while high - low > 2.0:
            gap_x = (high - low) * GOLDEN
            left, right = float(round(high - gap_x)), float(round(low + gap_x))
            if left == right:
                right += 1.0
            left_N, right_N = (T - left, T - right) if forward else (left, right)
            at_left = _theorem(left_N, T, log_delta_f, K, d, gap, diameter, kick, drift, beta, data, shift)
            at_right = _theorem(right_N, T, log_delta_f, K, d, gap, diameter, kick, drift, beta, data, shift)
            if at_left < at_right:
                high = right
            else:
                low = left
        x = low
        while x <= high:
            N = T - x if forward else x
            value = _theorem(N, T, log_delta_f, K, d, gap, diameter, kick, drift, beta, data, shift)
            if value < best:
                best, best_N = value, N
            x += 1.0
    return best_N


@njit(cache=True)
def distances(z, a, factor, drift):
    """z_{t+1} = factor z_t + drift - a_t from z down to 0, taken in the direction in which rounding dies out."""
    N = a.size
    path = empty(N + 1)
    path[0], path[N] = z, 0.0
    if factor <= 1.0:
        for t in range(N):
            path[t + 1] = max(0.0, factor * path[t] + drift - a[t])
    else:
        for t in range(N - 1, -1, -1):
            path[t] = (path[t + 1] + a[t] - drift) / factor
    return path
