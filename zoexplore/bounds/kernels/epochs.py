"""The sharper bound's recursion where batches are taken in turn (docs/batches.md, "Batches in epochs")."""

from math import inf, isfinite, log, sqrt

from numpy import empty

from zoexplore.bounds.kernels.compiling import kernel
from zoexplore.bounds.kernels.gaussian import scalar_epsilon, scalar_share
from zoexplore.bounds.kernels.norms import norm
from zoexplore.bounds.kernels.rounding import SUMS_UP, UP
from zoexplore.bounds.kernels.sharp import LEAST_REACH, LEAST_WORTH, _affine, _fractions, _line, _step, _weights

SEGMENTS = 8  # at most, of the steps between visits: within one the fractions are constant
EXACT = 96  # visits that are followed one by one, from the last; the earlier ones have the fractions of the earliest of these
SETTLE = 40  # of the earlier ones that distances are followed over
STEEPER = 1e-13  # by how much of 1 a chord's slope is raised: what it rounds to


@kernel()
def _segments(quiet, lengths):
    """Cut the steps between two visits, from the later one back: `lengths` become the segments'; returns how many there are."""
    growth, at, count = max(0.4, quiet ** (1.0 / 6.0) - 1.0), 0.0, 0
    while at < quiet:
        length = quiet - at if count == SEGMENTS - 1 else min(quiet - at, max(1.0, float(growth * at // 1.0)))
        lengths[count] = length
        at += length
        count += 1
    return count


@kernel(error_model="numpy")
def _period(table, rays, fractions, paths, k, lengths, segments, c2, w, w_f, e, f, per_S, per_s2, v):
    """The k-th visit and the steps before it, fractions and drifts given: (v, what is added to the worth, what is paid)."""
    alpha, pi = fractions[0, 0, k], fractions[0, 1, k]
    A0, A1, C0, C1, added, paid = _weights(alpha, pi, paths[0, k], w, w_f, f, c2, per_S, per_s2)
    worth = added * v
    v = norm(table, rays, A0 + A1 * v, C0 + C1 * v)[0] * UP
    for s in range(1, segments + 1):
        L = lengths[s - 1]
        A0, A1, C0, C1, added, cost = _weights(fractions[s, 0, k], fractions[s, 1, k], paths[s, k], e, e, f, c2, per_S, per_s2)
        base, P, Q, _, _ = _line(table, rays, A0, A1, C0, C1, v, L)
        v, total = _affine(Q, P, v - base, L)
        v += base
        worth += added * (total + L * base)
        paid += L * cost
    return v, worth, paid


@kernel(error_model="numpy")
def _periods(table, rays, fractions, paths, k, lengths, segments, c2, w, w_f, e, f, per_S, per_s2, v, count):
    """What so many more periods like the k-th add to the worth, and what is paid for them.

    A period takes v to F(v) and adds G(v), which are convex and do not fall: between two values both are below their chords. One
    of the two is v, and the other lies beyond where v comes to rest, or is 0.
    """
    given = lengths, segments, c2, w, w_f, e, f, per_S, per_s2
    low = high = v
    F_low, G_low, paid = F_high, G_high, _ = _period(table, rays, fractions, paths, k, *given, v)
    if F_low > v:
        for factor in (1.03, 1.3, 3.0, 30.0):
            high = factor * v
            F_high, G_high, _ = _period(table, rays, fractions, paths, k, *given, high)
            if F_high <= high:
                break
        if not F_high <= high:
            return inf, inf
    else:
        for factor in (0.97, 0.7, 0.3, 0.0):
            low = factor * v
            F_low, G_low, _ = _period(table, rays, fractions, paths, k, *given, low)
            if F_low >= low:
                break
    slope = (F_high - F_low) / (high - low) + STEEPER
    _, total = _affine(slope, F_low - low, v - low, count)
    return count * G_low + (G_high - G_low) / (high - low) * (1.0 + STEEPER) * total, count * paid


@kernel(error_model="numpy")
def _backward(
    visits, lengths, segments, paths, fractions, z0, far, times, table, rays, c2, w, w_f, w_0, w_0f, e, f, per_S, per_s2
):  # fmt: skip
    """Twice rho and its part that is random. `paths` and `fractions` have a row for visits and one a segment before."""
    v, worth, paid, best, best_random, rate, least = 0.0, 0.0, 0.0, inf, 0.0, 0.0, 0.0
    count = int(min(visits, paths.shape[1]))
    for k in range(count):
        x = paths[0, k]
        alpha, pi = (1.0, 1.0) if k == 0 else _fractions(v, x, w, w_f, f, per_S, per_s2)
        if not far and k == visits - 1:  # the first time that the record is met: no distance yet
            worth += v * ((1.0 - pi) * w_0) ** 2
            paid += (pi * w_0f) ** 2 * per_S
            fractions[0, 0, k], fractions[0, 1, k] = alpha, pi
            break
        A0, A1, C0, C1, added, cost = _weights(alpha, pi, x, w, w_f, f, c2, per_S, per_s2)
        worth += added * v
        paid += cost
        v, J_A, J_C = norm(table, rays, A0 + A1 * v, C0 + C1 * v)
        v *= UP
        fractions[0, 0, k], fractions[0, 1, k], fractions[0, 2, k], fractions[0, 3, k] = alpha, pi, J_A, J_C
        if far and f * f * (v * z0 * z0 + worth) + paid < best:
            best_random = f * f * (v * z0 * z0 + worth)
            best = best_random + paid
        for s in range(1, segments + 1):
            x, L, before = paths[s, k], lengths[s - 1], v
            alpha, pi = _fractions(v / (1.0 + 0.25 * rate * L) if L > 1.0 else v, x, e, e, f, per_S, per_s2)
            A0, A1, C0, C1, added, cost = _weights(alpha, pi, x, e, e, f, c2, per_S, per_s2)
            base, P, Q, J_A, J_C = _line(table, rays, A0, A1, C0, C1, v, L)
            v, total = _affine(Q, P, v - base, L)
            v += base
            worth += added * (total + L * base)
            paid += L * cost
            fractions[s, 0, k], fractions[s, 1, k], fractions[s, 2, k], fractions[s, 3, k] = alpha, pi, J_A, J_C
            rate = max(0.0, log(before / v) / L)
            if k == 0:
                least = LEAST_WORTH * v
            v = max(v, least)
        if far and f * f * (v * z0 * z0 + worth) + paid < best:
            best_random = f * f * (v * z0 * z0 + worth)
            best = best_random + paid
    if not far:
        if visits > count:
            added, cost = _periods(
                table, rays, fractions, paths, count - 1, lengths, segments, c2, w, w_f, e, f, per_S, per_s2, v, visits - count
            )
            worth += added
            paid += cost
        best_random = f * f * worth
        best = best_random + paid
    return times * best * SUMS_UP, times * best_random


@kernel(error_model="numpy")
def _forward(visits, lengths, segments, paths, fractions, z0, c2, w, w_0, e):
    """`paths` become the drifts that the fractions lead to: a choice for the next round, and no bound."""
    count = int(min(visits, paths.shape[1]))
    h = z0 * z0
    again = int(min(visits - count, SETTLE)) if z0 == 0.0 else 0  # the visits before those that are followed
    for at in range(count - 1 + again, -1, -1):
        k, first = min(at, count - 1), z0 == 0.0 and at == visits - 1
        if not first:
            for s in range(segments, 0, -1):
                alpha, pi, J_A, J_C = fractions[s, 0, k], fractions[s, 1, k], fractions[s, 2, k], fractions[s, 3, k]
                keep, left, G = (1.0 - alpha) ** 2 * J_A, (1.0 - pi) ** 2, J_C * c2
                x = max(sqrt(G * h), LEAST_REACH * w)
                h, total = _affine(keep + left * G * (1.0 + e / x), left * e * (e + x), h, lengths[s - 1])
                paths[s, k] = max(sqrt(G * total / lengths[s - 1]), LEAST_REACH * w)
        alpha, pi, J_A, J_C = fractions[0, 0, k], fractions[0, 1, k], fractions[0, 2, k], fractions[0, 3, k]
        x = 0.0 if first else sqrt(J_C * c2 * h)
        paths[0, k] = max(x, LEAST_REACH * w)
        h = ((1.0 - alpha) ** 2 * J_A * h if x > 0.0 else 0.0) + (1.0 - pi) ** 2 * (x + (w if x > 0.0 else w_0)) ** 2


@kernel(error_model="numpy")
def improve(run, visits, quiet, tables, rays, lipschitz, conversion, rounds):
    """Rounds of the recursion for every row, as in `kernels.sharp`.

    Args:
        run: rows (`sharp_search.Rows`), B and data those of a step that meets the record.
        visits, quiet: how often the record is met, and the steps between, at least one.

    Returns:
        Row by row: epsilon, rho and the share of delta.
    """
    rows = run.K.size
    epsilons, rhos, shares = empty(rows), empty(rows), empty(rows)
    paths, fractions, lengths = empty((1 + SEGMENTS, EXACT)), empty((1 + SEGMENTS, 4, EXACT)), empty(SEGMENTS)
    for i in range(rows):
        table, share, z0 = tables[run.table[i]], run.share[i], run.z0[i]
        epsilons[i], rhos[i], shares[i] = inf, inf, share
        segments = _segments(quiet[i], lengths)
        for done in range(rounds):
            c2, w, w_f, w_0, w_0f, f, chance, per_S, per_s2 = _step(run, i, lipschitz, share)
            e = run.remainder[i]
            if done == 0:
                start = max(w, z0) if run.high[i] else w
                paths.fill(max(sqrt(norm(table, rays, 1.0, c2)[2] * c2) * start, LEAST_REACH * w))
                fractions.fill(1.0)
            twice, random = _backward(
                visits[i], lengths, segments, paths, fractions, z0, run.far[i], run.times[i], table, rays, c2, w, w_f, w_0, w_0f,
                e, f, per_S, per_s2,
            )  # fmt: skip
            rho, delta_p = 0.5 * twice, run.delta[i] if run.certain[i] else run.delta[i] * (1.0 - share)
            epsilon = scalar_epsilon(conversion, rho, delta_p)
            if epsilon < epsilons[i]:
                epsilons[i], rhos[i], shares[i] = epsilon, rho, share
            if not isfinite(rho):
                break
            _forward(visits[i], lengths, segments, paths, fractions, z0, c2, w, w_0, e)
            share = scalar_share(conversion, rho, random + (twice - random) * chance / w_f, epsilon, run.order[i], delta_p)
    return epsilons, rhos, shares
