"""The sharper bound's recursions over blocks of steps, and its Beta moments (BOUNDS section 7).

A run of up to 2^53 steps is cut, counted from its end, into single steps and then blocks that grow with their distance from the
end, and shrink again towards a start from distance 0, where distances build up. Within a block the fractions are constant and
the square (x + w)^2 is bounded by a line in x^2 that touches it at the block's typical distance, so that distances and costs are
geometric sums: sound whatever the block, exact for one step.
"""

from math import exp, inf, isfinite, log, log1p, sqrt

from numba import njit, vectorize
from numpy import empty, empty_like

from zoexplore.bounds.kernels.gaussian import scalar_epsilon, scalar_share
from zoexplore.bounds.kernels.rounding import SUMS_UP, UP

MOMENT_UP = 1.0 + 1e-14  # the logarithms' sums round to less than that
SINGLES = 16  # exact terms of a moment; later ones are bounded in blocks of an eighth of their distance
LOWER = 0.3  # of the distance to start from, for runs from afar that work it off over more steps


@njit(cache=True)
def _log_mean(part, d, order):
    """Mean over j < order of log((part/2 + j)/(d/2 + j)): of the moments of a Beta(part/2, (d - part)/2) variable.

    The summand is concave in j, so that a block is at most its length times the summand at its middle (Jensen).
    """
    total, j = 0.0, 0.0
    while j < order:
        length = 1.0 if j < SINGLES else float(min(order - j, j // 8.0))
        middle = 2.0 * j + length - 1.0
        ratio = (part + middle) / (d + middle)
        total += length * (log(ratio) if ratio < 0.5 else log1p(-(d - part) / (d + middle)))
        j += length
    return total / order


@njit(cache=True)
def _moment(part, d, order):
    """The square root of E[x^order]^(1/order), x ~ Beta(part/2, (d - part)/2), from above."""
    return exp(0.5 * _log_mean(part, d, order)) * MOMENT_UP


@vectorize(cache=True)
def complement_moment(K, d, order):
    """o, from above: the square root of E[(1-upsilon)^order]^(1/order), upsilon ~ Beta(K/2, (d-K)/2)."""
    return _moment(d - K, d, order)


@vectorize(cache=True)
def span_moment(K, d, order):
    """g, from above: the square root of E[gamma^order]^(1/order), gamma ~ Beta(K/2, (d-K)/2)."""
    return _moment(K, d, order)


@njit(cache=True)
def _length(at, most, far, singles, growth):
    """How long the block is that begins so many steps before the end: a power of two, so that sums over it go by doubling."""
    if at < singles:
        return 1.0
    reach = 0.5 * growth * at if far else min(growth * at, 0.5 * (most - at))
    length = 1.0
    while 2.0 * length <= reach:
        length *= 2.0
    return length


@njit(cache=True)
def _cut(most, far, singles, growth, edges):
    """The number of blocks of a run; `edges` become the steps to its end at which they begin, and after the last one `most`."""
    count, edges[0] = 0, 0.0
    while edges[count] < most:
        edges[count + 1] = min(most, edges[count] + _length(edges[count], most, far, singles, growth))
        count += 1
    return count


@njit(cache=True)
def _count(most, far, singles, growth):
    count, at = 0, 0.0
    while at < most:
        at += _length(at, most, far, singles, growth)
        count += 1
    return count


@vectorize(cache=True)
def blocks_of(most, far, singles, growth):
    """The number of blocks that a run of `most` steps is cut into."""
    return _count(most, far, singles, growth)


@njit(cache=True)
def _affine(A, C, x, L):
    """After L steps of x <- A x + C: (x, the sum of x over the steps' starts), by doubling, without a cancellation.

    After k steps: lost = 1 - A^k, sums = 1 + A + ... + A^(k-1), twice = the sum of `sums` over the first k steps. Where little is
    kept, `power` = A^k has its digits: with a factor raised by `UP` it is not below the true one, however large L is.
    """
    steps = int(L)
    bit = steps
    while bit & (bit - 1):  # the highest bit of all
        bit &= bit - 1
    bit //= 2
    k, lost, power, sums, twice = 1.0, 1.0 - A, A, 1.0, 0.0
    while bit > 0:
        kept = 1.0 - lost
        twice = twice * (1.0 + kept) + k * sums
        sums *= 1.0 + kept
        lost *= 1.0 + kept
        power *= power
        k *= 2.0
        if steps & bit:
            twice += sums
            kept = 1.0 - lost
            sums += kept
            lost += kept * (1.0 - A)
            power *= A
            k += 1.0
        bit //= 2
    return (1.0 - lost if lost < 0.5 else power) * x + C * sums, x * sums + C * twice


@njit(cache=True, error_model="numpy")
def _fractions(kappa, z, u, w, w_f, f, per_S, per_s2):
    """The best fractions (alpha, pi) of a step after which the square of the distance is worth kappa."""
    x = u * z
    gain, price = kappa * (x + w) ** 2, (f * x + w_f) ** 2 * per_S
    return kappa / (kappa + f * f * per_s2), gain / (gain + price)


@njit(cache=True, error_model="numpy")
def _lines(alpha, pi, z, o, u, w, w_f, f, per_S, per_s2):
    """The step's square of the distance, A h + C, and twice its cost, D h + E, as lines in h that touch at h = z^2."""
    keep, left, x, per_z = (1.0 - alpha) * o, 1.0 - pi, u * z, 1.0 / z
    x_f, spent, bought = f * x, pi * pi * per_S, alpha * o * f
    A = keep * keep + left * left * u * (u + w * per_z)
    C = left * left * w * (w + x)
    D = bought * bought * per_s2 + spent * f * u * (f * u + w_f * per_z)
    E = spent * w_f * (w_f + x_f)
    return A, C, D, E


@njit(cache=True)
def _typical(alpha, pi, h, L, o, u, w):
    """A distance that the block's lines may touch at: between the start's and a bound on the end's, improved twice.

    Distances move monotonically towards the fixed point of z^2 <- (keep z)^2 + left^2 (u z + w)^2, where there is one, so
    that touching at the larger of the two is safe from the runaway that touching too low would give.
    """
    keep, left = (1.0 - alpha) * o, 1.0 - pi
    z = sqrt(h)
    top = z + L * left * w
    loss = 1.0 - keep * keep - (left * u) ** 2
    if loss > 0.0:
        half = left * left * u * w / loss
        top = min(top, max(z, half + sqrt(half * half + left * left * w * w / loss)))
    top = max(top, 1e-3 * w)
    for _ in range(1):
        A, C = keep * keep + left * left * u * (u + w / top), left * left * w * (w + u * top)
        top = max(sqrt(0.5 * (h + _affine(A, C, h, L)[0])), 1e-3 * w)
    return top


@njit(cache=True)
def _backward(edges, count, typical, z0, far, alpha, pi, o, u, w, w_f, f, per_S, per_s2):
    """Fractions of every block from the end of the run to its start; from afar, also the best number of steps to count.

    kappa and rest are the slope and constant of twice the remaining cost in the square of the distance.
    """
    kappa, rest, best, best_steps = 0.0, 0.0, inf, edges[1]
    for b in range(count):
        L = edges[b + 1] - edges[b]
        z = typical[b]
        if b == 0:
            alpha[b], pi[b] = 1.0, 1.0
        else:
            alpha[b], pi[b] = _fractions(kappa, z, u, w, w_f, f, per_S, per_s2)
        A, C, D, E = _lines(alpha[b], pi[b], z, o, u, w, w_f, f, per_S, per_s2)
        if L == 1.0:
            rest += E + C * kappa
            kappa = A * kappa + D
        else:  # fractions between those that suit the block's end and its mean: with either alone the rounds can swing
            between = sqrt(kappa * _affine(A, D, kappa, L)[1] / L)
            alpha[b], pi[b] = _fractions(between, z, u, w, w_f, f, per_S, per_s2)
            A, C, D, E = _lines(alpha[b], pi[b], z, o, u, w, w_f, f, per_S, per_s2)
            kappa, total = _affine(A, D, kappa, L)
            rest += L * E + C * total
        if far and kappa * z0 * z0 + rest < best:
            best, best_steps = kappa * z0 * z0 + rest, edges[b] + L
        if far and rest >= best:  # neither part can fall again
            break
    return best_steps


@njit(cache=True)
def _forward(edges, count, typical, z0, N, alpha, pi, o, u, w, w_f, w_0, w_0f, random, f, per_S, per_s2):
    """(rho, its derivative in ln f) of the counted steps under the fractions; `typical` becomes the distances met."""
    h, cost, slope = z0 * z0, 0.0, 0.0
    for b in range(count - 1, -1, -1):
        L = min(edges[b + 1], N) - edges[b]
        if b == count - 1 and z0 == 0.0:  # the first step: no distance yet, only the data
            p = pi[b] * w_0f
            cost += p * p * per_S
            slope += p * pi[b] * random * per_S
            h = ((1.0 - pi[b]) * w_0) ** 2
            typical[b] = max(sqrt(h), w)
            L -= 1.0
        if L == 0.0:
            continue
        if L == 1.0:
            z = sqrt(h)
            typical[b] = max(z, 1e-3 * w)
            x, a = u * z, alpha[b] * o * f * z
            p = pi[b] * (f * x + w_f)
            cost += a * a * per_s2 + p * p * per_S
            slope += a * a * per_s2 + p * pi[b] * (f * x + random) * per_S
            h = ((1.0 - alpha[b]) * o * z) ** 2 + ((1.0 - pi[b]) * (x + w)) ** 2
        else:
            typical[b] = _typical(alpha[b], pi[b], h, L, o, u, w)
            A, C, D, E = _lines(alpha[b], pi[b], typical[b], o, u, w, w_f, f, per_S, per_s2)
            h, total = _affine(A * UP, C, h, L)
            cost += D * total + L * E
            slope += D * total + random / w_f * L * E
    return 0.5 * cost, slope


@njit(cache=True, error_model="numpy")
def _step(run, i, lipschitz, o, g, share):
    """A step's numbers from o to 1/s2: the drift's span part is u z + w, and f u z + w_f with the tail's factor f.

    w_0 and w_0f stand for w and w_f in a first step from distance 0; `random` is the part of w_f that is proportional to f.
    """
    f = exp(-log(share * run.delta[i]) / (2.0 * run.order[i]))
    s2 = (1.0 - run.beta[i]) / run.d[i]
    S = run.beta[i] / run.K[i] + s2
    B, remainder = run.B[i], run.remainder[i]
    w = w_f = B + remainder
    w_0, w_0f, random = B, B, 0.0
    if lipschitz:
        data, at_zero = B / sqrt(run.K[i]), remainder / run.n[i]
        tail = min(f * g, 1.0)  # a projection never lengthens: where the tail says less than that, it is not needed
        w, w_f = g * data + remainder, tail * data + remainder
        w_0, w_0f = min(g * data + at_zero, B), min(tail * data + at_zero, B)
        random = tail * data if f * g < 1.0 else 0.0
    return o, run.c[i] * g, w, w_f, w_0, w_0f, random, f, 1.0 / S, 1.0 / s2


@njit(cache=True)
def _moments(run, i):
    """o and g of a row."""
    return _moment(run.d[i] - run.K[i], run.d[i], run.order[i]), _moment(run.K[i], run.d[i], run.order[i])


@njit(cache=True, error_model="numpy")
def first_guess(run, lipschitz, singles, growth):
    """Constant trajectories to start the recursion from, shape (rows, blocks)."""
    rows, blocks = run.K.size, 1
    for i in range(rows):
        blocks = max(blocks, _count(run.most[i], run.far[i], singles, growth))
    typical = empty((rows, blocks))
    for i in range(rows):
        o, g = _moments(run, i)
        _, u, w = _step(run, i, lipschitz, o, g, run.share[i])[:3]
        guess = w
        if run.far[i]:
            guess = max(w, run.z0[i]) * (1.0 if run.high[i] else LOWER)
        elif run.high[i]:
            ratio = sqrt(o * o + u * u)
            guess = min(run.most[i] * w, w / (1.0 - ratio) if ratio < 1.0 else inf, 1e100)
        typical[i] = guess
    return typical


@njit(cache=True, error_model="numpy")
def improve(run, lipschitz, conversion, singles, growth, typical, rounds, settled, most_rounds):
    """Rounds of the recursion for every row: fractions backward along the `typical` distances, rho forward, then a better split
    of delta. `rounds`, and then more as long as the last one gained more than `settled` of epsilon, at most `most_rounds`.

    Args:
        run: rows (`riccati.Rows`).
        singles, growth: steps one by one at the end, and the largest share of its distance to the end that a block takes.
        typical: distances per block, shape (rows, blocks): those of the last round, changed in place.

    Returns:
        Of the best round, row by row: epsilon, rho, the steps counted, the share of delta, and the distances it started from.
    """
    rows, blocks = typical.shape
    edges, alpha, pi, started = empty(blocks + 1), empty(blocks), empty(blocks), empty(blocks)
    epsilons, rhos, steps, shares, paths = empty(rows), empty(rows), empty(rows), empty(rows), empty_like(typical)
    for i in range(rows):
        o, g = _moments(run, i)
        far, z0, share, path = run.far[i], run.z0[i], run.share[i], typical[i]
        cut = _cut(run.most[i], far, singles, growth, edges)
        epsilons[i], rhos[i], steps[i], shares[i] = inf, inf, run.most[i], share
        paths[i] = path
        for done in range(most_rounds):
            started[:] = path
            o, u, w, w_f, w_0, w_0f, random, f, per_S, per_s2 = _step(run, i, lipschitz, o, g, share)
            N = _backward(edges, cut, path, z0, far, alpha, pi, o, u, w, w_f, f, per_S, per_s2)
            if not far:
                N = run.most[i]
            count = cut
            while edges[count - 1] >= N:
                count -= 1
            rho, slope = _forward(edges, count, path, z0, N, alpha, pi, o, u, w, w_f, w_0, w_0f, random, f, per_S, per_s2)
            rho *= SUMS_UP
            delta_p = run.delta[i] * (1.0 - share)
            epsilon = scalar_epsilon(conversion, rho, delta_p)
            gain = 1.0 - epsilon / epsilons[i] if epsilon < epsilons[i] else 0.0
            if gain > 0.0:
                epsilons[i], rhos[i], steps[i], shares[i] = epsilon, rho, N, share
                paths[i] = started
            if not isfinite(rho):  # distances that run away are not gone on from
                path[:] = paths[i]
            if done + 1 >= rounds and gain <= settled:
                break
            share = scalar_share(conversion, rho, slope, epsilon, run.order[i], delta_p)
    return epsilons, rhos, steps, shares, paths


@njit(cache=True)
def walk(run, lipschitz, singles, growth, typical, N):
    """Step by step what `improve` sums in blocks, for the last N steps of one row: z (one longer), alpha, pi, a, p and rho.

    `typical` are the distances that the row's best round started from.
    """
    far, z0 = run.far[0], run.z0[0]
    o, g = _moments(run, 0)
    o, u, w, w_f, w_0, w_0f, _, f, per_S, per_s2 = _step(run, 0, lipschitz, o, g, run.share[0])
    edges, block_alpha, block_pi = empty(typical.size + 1), empty(typical.size), empty(typical.size)
    count = _cut(run.most[0], far, singles, growth, edges)
    _backward(edges, count, typical, z0, far, block_alpha, block_pi, o, u, w, w_f, f, per_S, per_s2)
    z, alpha, pi, a, p = empty(N + 1), empty(N), empty(N), empty(N), empty(N)
    z[0] = z0
    b = count - 1
    for t in range(N):
        while edges[b] > N - 1 - t:
            b -= 1
        alpha[t], pi[t] = block_alpha[b], block_pi[b]
        start = z[t] == 0.0
        q = w_0 if start else u * z[t] + w
        q_f = w_0f if start else f * u * z[t] + w_f
        a[t], p[t] = alpha[t] * o * f * z[t], pi[t] * q_f
        z[t + 1] = sqrt(((1.0 - alpha[t]) * o * z[t]) ** 2 + ((1.0 - pi[t]) * q) ** 2)
    return z, alpha, pi, a, p, (p * p * per_S + a * a * per_s2) / 2.0
