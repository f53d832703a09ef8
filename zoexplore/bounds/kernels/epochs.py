"""The sharper bound's recursion where batches are taken in turn (docs/batches.md, "Batches in epochs")."""

from math import exp, inf, isfinite, log, sqrt

from numpy import empty

from zoexplore.bounds.kernels.blocks import affine
from zoexplore.bounds.kernels.compiling import kernel
from zoexplore.bounds.kernels.gaussian import scalar_epsilon, scalar_share
from zoexplore.bounds.kernels.norms import largest_drift_constant, moment, norm
from zoexplore.bounds.kernels.rounding import SUMS_UP, UP

SEGMENTS = 8  # at most, of the steps between visits: within one the fractions are constant
EXACT = 96  # visits that are followed one by one, from the last; the earlier ones have the fractions of the earliest of these
SETTLE = 40  # of the earlier ones that distances are followed over
LEAST_REACH = 1e-3  # of what a step adds: shorter typical drifts are taken to be that long
LEAST_WORTH = 1e-40  # of what a distance is worth in the end: less is rounded up to it, so that nothing underflows
APART = 1e-3  # of a block's first slope: smaller changes of it may be rounding
STEEPER = 1e-13  # by how much of 1 a chord's slope is raised: what it rounds to


@kernel(error_model="numpy")
def _fractions(v, x, w, w_f, f, per_S, per_s2):
    """The best fractions (alpha, pi) of a step after which the square of the distance is worth v; x is the drift in the span."""
    gain, price = f * f * v * (x + w) ** 2, (f * x + w_f) ** 2 * per_S
    return v / (v + per_s2), gain / (gain + price)


@kernel(error_model="numpy")
def _weights(alpha, pi, x, w, w_f, f, c2, per_S, per_s2):
    """What a step's norm is taken of: A0 + A1 v and C0 + C1 v; and what is certain: `added` v and `paid`, twice its cost.

    Any x > 0 will do: it splits (drift + w)^2 into (1 + w/x) drift^2 + (1 + x/w) w^2.
    """
    left, spent = (1.0 - pi) ** 2, pi * pi * per_S
    A0, A1 = alpha * alpha * per_s2, (1.0 - alpha) ** 2
    C0, C1 = c2 * spent * (1.0 + w_f / (f * x)), c2 * left * (1.0 + w / x)
    return A0, A1, C0, C1, left * w * (w + x), spent * w_f * (w_f + f * x)


@kernel(error_model="numpy")
def _line(table, rays, A0, A1, C0, C1, v, L):
    """(base, P, Q, slopes of J): with u = v - base, base + P + Q u is at least J(A0 + A1 v, C0 + C1 v), at this v and wherever L
    steps of it lead. The base is 0 where v falls, and v where it rises, so that nothing is negative.
    """
    _, J_A, J_C = norm(table, rays, A0 + A1 * v, C0 + C1 * v)
    P, Q = J_A * A0 + J_C * C0, J_A * A1 + J_C * C1
    value = (P + Q * v) * UP
    if L == 1.0:
        return 0.0, P * UP, Q * UP, J_A, J_C
    falls = value <= v
    if falls:  # by ever less, since J is convex, and not below where its tangent would come to rest
        end = max(v - L * (v - value), P / (1.0 - Q) if Q < 1.0 else 0.0) * (1.0 - 1e-9)
    else:
        end = _highest(table, rays, A0, A1, C0, C1, v, value, L)
    other, A, C = norm(table, rays, A0 + A1 * end, C0 + C1 * end)
    slope = A * A1 + C * C1  # at the other end; the chord between both is the better line unless rounding hides it
    if abs(end - v) > APART * v:
        chord = (other - value) / (end - v)
        slope = max(slope, min(Q, chord - 1e-12)) if falls else min(slope, chord + 1e-12 * Q)
    if falls:
        slope = min(slope, Q)
        return 0.0, (P + (Q - slope) * v) * UP, slope * UP, J_A, J_C
    return v, value - v, max(slope, Q) * UP, J_A, J_C


@kernel(error_model="numpy")
def _highest(table, rays, A0, A1, C0, C1, v, value, L):
    """What v does not exceed in L steps that let it rise: a place that the step does not lead beyond, or by Minkowski."""
    for factor in (1.03, 1.3, 3.0, 30.0):
        if norm(table, rays, A0 + A1 * factor * v, C0 + C1 * factor * v)[0] <= factor * v:
            return factor * v
    return v + affine(norm(table, rays, A1, C1)[0], value - v, 0.0, L)[0]


@kernel(error_model="numpy")
def _step(run, i, lipschitz, share):
    """A step's numbers: c^2 and, beside the drift, what the record and the two-point remainder add: w to the distance, w_f to the
    cost, w_0 and w_0f in a first step from distance 0; the tail's factor f; `chance`, by how much w_f grows with f; 1/S and 1/s2.
    """
    K, d, order = run.K[i], run.d[i], run.order[i]
    drift = run.r[i], run.low[i], run.top[i], run.slowest[i]
    c2 = largest_drift_constant(*drift, d, order, run.acting[i], run.certain[i])
    f = 1.0 if run.certain[i] else exp(-log(share * run.delta[i]) / (2.0 * order))
    s2 = (1.0 - run.beta[i]) / d
    B, remainder = run.B[i], run.remainder[i]
    w = w_f = B + remainder
    w_0, w_0f, chance = B, B, 0.0
    if lipschitz:
        g = 1.0 if K == d else moment(K, d, order)
        data, at_zero = run.data[i], run.remainder_at_zero[i]
        tail = min(f * g, 1.0)  # a projection never lengthens: where the tail says less than that, it is not needed
        w, w_f = min(g * data, B) + remainder, min(tail * data, B) + remainder
        w_0, w_0f = min(g * data + at_zero, B), min(tail * data + at_zero, B)
        chance = tail * data if f * g < 1.0 and tail * data < B else 0.0
    return c2, w, w_f, w_0, w_0f, f, chance, K / (run.beta[i] + s2 * K), 0.0 if K == d else 1.0 / s2


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
        v, total = affine(Q, P, v - base, L)
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
    _, total = affine(slope, F_low - low, v - low, count)
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
            v, total = affine(Q, P, v - base, L)
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
                h, total = affine(keep + left * G * (1.0 + e / x), left * e * (e + x), h, lengths[s - 1])
                paths[s, k] = max(sqrt(G * total / lengths[s - 1]), LEAST_REACH * w)
        alpha, pi, J_A, J_C = fractions[0, 0, k], fractions[0, 1, k], fractions[0, 2, k], fractions[0, 3, k]
        x = 0.0 if first else sqrt(J_C * c2 * h)
        paths[0, k] = max(x, LEAST_REACH * w)
        h = ((1.0 - alpha) ** 2 * J_A * h if x > 0.0 else 0.0) + (1.0 - pi) ** 2 * (x + (w if x > 0.0 else w_0)) ** 2


@kernel(error_model="numpy")
def improve(run, visits, quiet, tables, rays, lipschitz, conversion, rounds):
    """Rounds of the recursion for every row.

    Args:
        run: rows (`Rows`), B and data those of a step that meets the record.
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
