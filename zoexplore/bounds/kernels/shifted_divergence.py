"""Minimise shift budgets over geometric weights, and solve the hidden-state theorem's program on
them (docs/bounds.md).
"""

from math import ceil, exp, expm1, inf, log, log1p, sqrt
from typing import Any, NamedTuple

from numpy import empty

from zoexplore.bounds.kernels.compiling import elementwise, kernel
from zoexplore.bounds.kernels.rounding import UP

FREE = -1.0  # stands for beta if the share of every step is chosen


@kernel()
def _geometric(kappa, count):
    """Return 1 + q + ... + q^(count-1) with q = exp(kappa), kappa <= 0."""
    return expm1(kappa * count) / expm1(kappa) if kappa < 0.0 else count


@kernel()
def _level(need, kappa, N):
    """Return (nu, m): for q = exp(kappa) <= 1 and x_i = max(1, nu q^i), i < N, the sum of q^i
    (x_i - 1) is `need`; m of the x_i exceed 1.

    Of all x >= 1 under that constraint this x has the least sum of squares. All the excess is in
    the first m terms; over these nu = (need + sum q^i)/(sum q^2i). The real m with nu q^m = 1 is a
    root of a quadratic in q^m.
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


@kernel()
def _squares(need, kappa, N):
    """Return the least sum of squares, which `_level` attains."""
    nu, m = _level(need, kappa, N)
    return (N - m) + nu * nu * _geometric(2.0 * kappa, m)


@kernel()
def _scaled_start(z, kappa, N):
    """Return the distance at the start in units of the largest weight. That is the last step's
    weight if distances shrink, else the first step's.
    """
    if kappa > 0.0:
        return z * exp(kappa)
    half = exp(0.5 * kappa * N)  # exp(kappa N) may underflow where its product with z does not
    return z * half * half


@kernel()
def _least_shift(kappa, N, z, drift):
    start = _scaled_start(z, kappa, N)
    if kappa <= 0.0 or drift == 0.0:
        total = start + (drift * _geometric(kappa, N) if kappa <= 0.0 else 0.0)
        return total * total / _geometric(-2.0 * abs(kappa), N)
    return drift * drift * _squares(start / drift, -kappa, N)


@elementwise
def least_shift(kappa, N, z, drift):
    """Return the least sum of a_t^2 that brings a distance z >= 0 to 0 in N steps of
    z <- exp(kappa) z + drift - a_t.

    Unrolled: sum over j of g_j a_j >= z + drift sum g_j, g_j = exp(-j kappa). The best a is
    proportional to g. But if distances grow (kappa > 0), the weights fall towards the end, and a_t
    may not drop below the drift.
    """
    return _least_shift(kappa, N, z, drift)


@kernel()
def _least_both(kappa, N, z, drift, ratio):
    """Return the least sum of 1/beta_t + ratio a_t^2/(1 - beta_t), shares free: for given a_t each
    term is (1 + sqrt(ratio) a_t)^2.
    """
    scale = sqrt(ratio)
    start, floor = scale * _scaled_start(z, kappa, N), scale * drift
    if kappa <= 0.0:
        return _squares(start + floor * _geometric(kappa, N), kappa, N)
    unit = 1.0 + floor
    return unit * unit * _squares(start / unit, -kappa, N)


@elementwise
def shift_level(kappa, N, z, drift, ratio):
    """Return nu of `_level`, from which a_t is rebuilt: for free shares (`ratio` as in
    `_least_both`), or for a constant share (ratio = 0).
    """
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


# ---------------------------------------------------------------- docs/bounds.md, "The hidden-state theorem"


@kernel()
def _growth(N, log_delta_f, K, d, gap):
    """Return ln of the factor c1 that one step exceeds with a probability of at most delta_f/N;
    gap = 1 - c^2.
    """
    loss = log(2.0 * N) - log_delta_f
    lin, const = 8.0 * (d - 2.0 * K) * loss, 12.0 * (d - K) * loss
    # 3 d K theta^2 - lin theta - const = 0
    theta = (lin + sqrt(lin * lin + 12.0 * d * K * const)) / (6.0 * d * K)
    theta *= UP
    return 0.5 * log1p((theta * (2.0 - gap) - gap) * K / d)


@elementwise
def theorem_growth(N, log_delta_f, K, d, gap):
    """Return ln of the theorem's c1 for N counted steps; gap = 1 - c^2."""
    return _growth(N, log_delta_f, K, d, gap)


class Program(NamedTuple):
    """The numbers of the theorem's minimisation, or arrays of them that broadcast.

    Args:
        K, d: directions per step, and parameters.
        gap: 1 - c^2 of the first-order step.
        diameter: the diameter of the ball.
        separation: the largest increase of the distance in a step.
        drift: c2 = eta M xi, the two-point error that a step adds to the distance.
        beta: the share of the noise along the directions; `FREE` if every step has its own.
        data: what a step's data costs, times beta.
        shift: what a shift's square costs, times 1 - beta.
    """

    K: Any
    d: Any
    gap: Any
    diameter: Any
    separation: Any
    drift: Any
    beta: Any
    data: Any
    shift: Any


@kernel(error_model="numpy")  # a share of 0 or 1 divides by zero, which gives inf, as it should
def _theorem(N, T, log_delta_f, of):
    z = min(of.diameter, of.separation * (T - N))
    kappa = _growth(N, log_delta_f, of.K, of.d, of.gap)
    if of.beta == FREE:
        return of.data * _least_both(kappa, N, z, of.drift, of.shift / of.data)
    return N * of.data / of.beta + of.shift / (1.0 - of.beta) * _least_shift(kappa, N, z, of.drift)


@elementwise
def theorem_rho(N, T, log_delta_f, of: Program):
    """Return rho of the hidden-state theorem, with the last N of T steps counted."""
    return _theorem(N, T, log_delta_f, of)


@elementwise
def theorem_steps(T, log_delta_f, of: Program):
    """Return the number N < T of counted steps with the least rho, or 1. If T is inf, they start
    from the diameter.

    N is sought from the end of the run (N = 1, 2, 4, ...) and from its start (N = T - 1, T - 2,
    ...), then by halving strides around the best. Any N is sound. No N with N data >= rho can win.
    """
    best, best_N, top = inf, 1.0, T - 1.0
    for from_start in (False, True):
        x = 1.0
        while x <= top and (T < inf if from_start else x * of.data < best):
            N = T - x if from_start else x
            value = _theorem(N, T, log_delta_f, of)
            if value < best:
                best, best_N = value, N
            x *= 2.0
    stride = float(ceil(0.5 * min(best_N, T - best_N)))
    while stride >= 1.0:
        for N in (best_N - stride, best_N + stride):
            value = _theorem(N, T, log_delta_f, of) if 1.0 <= N <= top else inf
            if value < best:
                best, best_N = value, N
        stride //= 2.0
    return best_N


@kernel()
def distances(z, a, factor, drift):
    """Return the distances z_{t+1} = factor z_t + drift - a_t from z to 0, shape (N + 1,). They are
    computed in the direction in which rounding errors shrink.
    """
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
