"""The sharper bound's recursions over blocks of steps, and its Beta moments (BOUNDS section 7).

A run of up to 2^53 steps is cut, counted from its end, into single steps and then blocks that grow with their distance from the
end. Within a block the fractions are constant and the square (x + w)^2 is bounded by a line in x^2 that touches it at the
block's typical distance, so that distances and costs are geometric sums: sound whatever the block, exact for one step.
"""

from math import exp, inf, log, log1p, sqrt

from numba import njit, vectorize
from numpy import empty

UP = 1.0 + 2e-15  # a few roundings, so that no factor of a recursion is rounded down
MOMENT_UP = 1.0 + 1e-14  # the logarithms' sums round to less than that
SINGLES = 16  # exact terms of a moment; later ones are bounded in blocks of an eighth of their distance


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


@vectorize(cache=True)
def complement_moment(K, d, order):
    """o, from above: the square root of E[(1-upsilon)^order]^(1/order), upsilon ~ Beta(K/2, (d-K)/2)."""
    return exp(0.5 * _log_mean(d - K, d, order)) * MOMENT_UP


@vectorize(cache=True)
def span_moment(K, d, order):
    """g, from above: the square root of E[gamma^order]^(1/order), gamma ~ Beta(K/2, (d-K)/2)."""
    return exp(0.5 * _log_mean(K, d, order)) * MOMENT_UP


@njit(cache=True)
def _affine(A, C, x, L):
    """After L steps of x <- A x + C: (x, the sum of x over the steps' starts), by doubling, without a cancellation.

    After k steps: lost = 1 - A^k, sums = 1 + A + ... + A^(k-1), twice = the sum of `sums` over the first k steps. Where little is
    kept, `power` = A^k has its digits: with a factor raised by `UP` it is not below the true one, however large L is.
    """
    top = 1
    while 2 * top <= L:
        top *= 2
    k, lost, power, sums, twice = 1.0, 1.0 - A, A, 1.0, 0.0
    bit = top // 2
    while bit > 0:
        kept = 1.0 - lost
        twice = twice * (1.0 + kept) + k * sums
        sums *= 1.0 + kept
        lost *= 1.0 + kept
        power *= power
        k *= 2.0
        if int(L) & bit:
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
def _backward(edges, count, typical, z0, far, most, alpha, pi, o, u, w, w_f, f, per_S, per_s2):
    """Fractions of every block from the end of the run to its start; from afar, also the best number of steps to count.

    kappa and rest are the slope and constant of twice the remaining cost in the square of the distance.
    """
    kappa, rest, best, best_steps = 0.0, 0.0, inf, edges[1]
    for b in range(count):
        L = min(edges[b + 1], most) - edges[b]
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
def _forward(edges, count, typical, z0, most, alpha, pi, o, u, w, w_f, w_0, w_0f, random, f, per_S, per_s2):
    """(rho, its derivative in ln f) of the counted steps under the fractions; `typical` becomes the distances met."""
    h, cost, slope = z0 * z0, 0.0, 0.0
    for b in range(count - 1, -1, -1):
        L = min(edges[b + 1], most) - edges[b]
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


@njit(cache=True)
def sweep(edges, typical, far, most, z0, o, u, w, w_f, w_0, w_0f, random, f, per_S, per_s2, rho, slope, steps):
    """One round of the recursion for every row: fractions backward along the `typical` distances, then rho forward.

    Args:
        edges: steps to the end at which blocks begin, shape (blocks + 1,), the last at least every `most`.
        typical: distances per block, shape (rows, blocks): those of the last round, changed in place.
        far: rows that start from afar and choose how many steps, at most `most`, to count; others count `most` from z0 = 0.
        rho, slope, steps: results, shape (rows,): the budget, its derivative in ln f, the steps counted.
    """
    alpha, pi = empty(edges.size - 1), empty(edges.size - 1)
    for i in range(rho.size):
        count = 1
        while count < edges.size - 1 and edges[count] < most[i]:
            count += 1
        steps[i] = _backward(
            edges, count, typical[i], z0[i], far[i], most[i], alpha, pi, o[i], u[i], w[i], w_f[i], f[i], per_S[i], per_s2[i]
        )
        if not far[i]:
            steps[i] = most[i]
        while edges[count - 1] >= steps[i]:
            count -= 1
        rho[i], slope[i] = _forward(
            edges, count, typical[i], z0[i], steps[i], alpha, pi, o[i], u[i], w[i], w_f[i], w_0[i], w_0f[i], random[i], f[i],
            per_S[i], per_s2[i],
        )  # fmt: skip


@njit(cache=True)
def walk(edges, typical, far, most, N, z0, o, u, w, w_f, w_0, w_0f, random, f, per_S, per_s2):
    """Step by step what `sweep` sums in blocks, for the last N steps of one row: z (one longer), alpha, pi, a, p in their order.

    `typical` are the distances that the row's best round started from.
    """
    block_alpha, block_pi = empty(edges.size - 1), empty(edges.size - 1)
    count = 1
    while count < edges.size - 1 and edges[count] < most:
        count += 1
    _backward(edges, count, typical, z0, far, most, block_alpha, block_pi, o, u, w, w_f, f, per_S, per_s2)
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
    return z, alpha, pi, a, p
