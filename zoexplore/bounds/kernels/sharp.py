"""The sharper bound's recursion over blocks of steps (docs/sharp.md).

A run of up to 2^53 steps is cut, counted from its end, into single steps and then blocks that grow with their distance from the
end, and shrink again towards a start from distance 0, where distances build up. Within a block the fractions are constant and
the norm J is bounded by a line, so that what a distance is worth, and what it costs, are geometric sums: sound whatever the
block, exact for one step.
"""

from math import exp, inf, log, sqrt

from numpy import empty, empty_like, int64

from zoexplore.bounds.kernels.compiling import kernel
from zoexplore.bounds.kernels.gaussian import scalar_epsilon, scalar_share
from zoexplore.bounds.kernels.norms import largest_drift_constant, moment, norm
from zoexplore.bounds.kernels.rounding import SUMS_UP, UP

LEAST_REACH = 1e-3  # of what a step adds: shorter typical drifts are taken to be that long
LEAST_WORTH = 1e-40  # of what a distance is worth in the end: less is rounded up to it, so that nothing underflows
WIDER = 0.1  # by how much more a drift may change while it goes on in one direction
FEW_BLOCKS, MORE_ROUNDS = 20, 4  # rounds over so few blocks cost little: there so many times as many may be taken
APART = 1e-3  # of a block's first slope: smaller changes of it are not told from rounding


@kernel()
def _length(at, most, far, singles, growth):
    """How long the block is that begins so many steps before the end: a power of two, so that sums over it go by doubling."""
    if at < singles:
        return 1.0
    reach = 0.5 * growth * at if far else min(growth * at, 0.5 * (most - at))
    length = 1.0
    while 2.0 * length <= reach:
        length *= 2.0
    return length


@kernel()
def _cut(most, far, singles, growth, edges):
    """The number of blocks of a run; `edges` become the steps to its end at which they begin, and after the last one `most`."""
    count, edges[0] = 0, 0.0
    while edges[count] < most:
        edges[count + 1] = min(most, edges[count] + _length(edges[count], most, far, singles, growth))
        count += 1
    return count


@kernel()
def _count(most, far, singles, growth):
    count, at = 0, 0.0
    while at < most:
        at += _length(at, most, far, singles, growth)
        count += 1
    return count


@kernel()
def blocks_of(most, far, singles, growth):
    """The number of blocks that each run of `most` steps is cut into."""
    counts = empty(most.size, int64)
    for i in range(most.size):
        counts[i] = _count(most[i], far[i], singles, growth)
    return counts


@kernel()
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
    slope = A * A1 + C * C1  # at the other end; the chord between both is the better line where rounding lets it be told
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
    return v + _affine(norm(table, rays, A1, C1)[0], value - v, 0.0, L)[0]


@kernel()
def _typical(keep, left, G, h, L, w):
    """A drift for a block to be reckoned with: the larger of the start's and a bound on the end's.

    Distances move monotonically towards the fixed point of h <- keep h + left (sqrt(G h) + w)^2, where there is one, so that
    the larger of the two is safe from the runaway that too small a drift would give.
    """
    x = sqrt(G * h)
    top = x + sqrt(G * left) * L * w
    loss = 1.0 - keep - left * G
    if loss > 0.0:
        half = left * G * w / loss
        top = min(top, max(x, half + sqrt(half * half + left * G * w * w / loss)))
    return max(top, LEAST_REACH * w)


@kernel()
def _backward(edges, count, path, z0, far, times, fractions, table, rays, c2, w, w_f, w_0, w_0f, f, per_S, per_s2):
    """From the end of the run to its start: twice rho, its part that is random (and so carries f^2), and the steps counted.

    `fractions` become, block by block, alpha, pi, and the norm's slopes in A and in C. v is what the square of the distance is
    worth, `worth` what the record's own part adds to that, `paid` what is certain. From afar any number of steps will do: the
    best is taken, and from 0 all are.
    """
    v, worth, paid, best, best_random, best_steps = 0.0, 0.0, 0.0, inf, 0.0, edges[1]
    rate, least = 0.0, 0.0  # at which v falls from step to step, and what it is rounded up to
    for b in range(count):
        L, x = edges[b + 1] - edges[b], path[b]
        last = b == count - 1 and not far
        before = v
        # in a block, fractions between those that suit its end and its mean: with either alone the rounds can swing
        between = v if L == 1.0 else v / max(0.3, 1.0 + 0.25 * rate * L)
        alpha, pi = (1.0, 1.0) if b == 0 else _fractions(between, x, w, w_f, f, per_S, per_s2)
        A0, A1, C0, C1, added, cost = _weights(alpha, pi, x, w, w_f, f, c2, per_S, per_s2)
        base, P, Q, J_A, J_C = _line(table, rays, A0, A1, C0, C1, v, L)
        steps = L - 1.0 if last else L
        if steps == 1.0:
            worth += added * v
            paid += cost
            v = base + P + Q * (v - base)
        elif steps > 0.0:
            v, total = _affine(Q, P, v - base, steps)
            v += base
            worth += added * (total + steps * base)
            paid += steps * cost
        if last:  # the start: no distance yet, only the record's own part
            worth += v * ((1.0 - pi) * w_0) ** 2
            paid += (pi * w_0f) ** 2 * per_S
        elif b > 0:
            v = max(v, least)
            rate = log(before / v) / L
        else:
            least = LEAST_WORTH * v
        fractions[0, b], fractions[1, b], fractions[2, b], fractions[3, b] = alpha, pi, J_A, J_C
        if far:
            random = f * f * (v * z0 * z0 + worth)
            if random + paid < best:
                best, best_random, best_steps = random + paid, random, edges[b + 1]
            if f * f * worth + paid >= best and edges[b + 1] > best_steps:  # neither part can fall again
                break
    if not far:
        best_random, best_steps = f * f * worth, edges[count]
        best = best_random + paid
    return times * best * SUMS_UP, times * best_random, best_steps


@kernel()
def _forward(edges, count, path, z0, N, fractions, c2, w, w_0):
    """`path` becomes the drifts that the fractions lead to, block by block; a choice for the next round, and no bound."""
    h = z0 * z0
    for b in range(count - 1, -1, -1):
        alpha, pi, J_A, G = fractions[0, b], fractions[1, b], fractions[2, b], fractions[3, b] * c2
        keep, left = (1.0 - alpha) ** 2 * J_A, (1.0 - pi) ** 2
        L = min(edges[b + 1], N) - edges[b]
        if b == count - 1 and z0 == 0.0:
            h = left * w_0 * w_0
            path[b] = max(sqrt(G * h), LEAST_REACH * w)
            L -= 1.0
        if L == 0.0:
            continue
        if L == 1.0:
            x = max(sqrt(G * h), LEAST_REACH * w)
            path[b], h = x, keep * h + left * (x + w) ** 2
        else:
            x = _typical(keep, left, G, h, L, w)
            h, total = _affine(keep + left * G * (1.0 + w / x), left * w * (w + x), h, L)
            path[b] = max(sqrt(G * total / L), LEAST_REACH * w)


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


@kernel(error_model="numpy")
def first_guess(run, tables, rays, lipschitz, singles, growth):
    """Constant drifts to start the recursion from, shape (rows, blocks)."""
    rows, blocks = run.K.size, 1
    for i in range(rows):
        blocks = max(blocks, _count(run.most[i], run.far[i], singles, growth))
    path = empty((rows, blocks))
    for i in range(rows):
        c2, w = _step(run, i, lipschitz, run.share[i])[:2]
        kept, _, J_C = norm(tables[run.table[i]], rays, 1.0, c2)
        guess = w
        if run.far[i]:
            guess = max(w, run.z0[i])
        elif run.high[i]:
            ratio = sqrt(kept)
            guess = min(run.most[i] * w, w / (1.0 - ratio) if ratio < 1.0 else inf, 1e100)
        path[i].fill(max(sqrt(J_C * c2) * guess, LEAST_REACH * w))
    return path


@kernel()
def _copy(values, into):
    """Number by number: the assignment of a slice takes Numba two seconds to compile."""
    for i in range(values.size):
        into[i] = values[i]


@kernel(error_model="numpy")
def _damp(path, before, count, moved, most):
    """Let each block's drift change by no more than a factor, which falls to its root whenever the change turns round.

    Where the norm bends sharply, as at high orders, its slopes lead beyond the best drifts and back again, for ever. `moved`
    become the factors of this change, `most` the largest allowed; at first 0 and infinite.
    """
    for b in range(count):
        ratio = path[b] / before[b]
        if (ratio > 1.0) != (moved[b] > 1.0):
            most[b] = sqrt(min(most[b], max(moved[b], 1.0 / moved[b])))
        else:
            most[b] += WIDER * (most[b] - 1.0)
        moved[b] = min(max(ratio, 1.0 / most[b]), most[b])
        path[b] = before[b] * moved[b]


@kernel(error_model="numpy")
def improve(run, tables, rays, lipschitz, conversion, singles, growth, paths, rounds, settled, most_rounds):
    """Rounds of the recursion for every row: fractions and rho backward along the typical drifts, these forward, then a better
    split of delta. `rounds`, and then more as long as the last one changed more than `settled` of epsilon, at most `most_rounds`
    or, over few blocks, some times as many. A count of steps from afar can be a local optimum: once it has settled, the drifts of
    a run that is a block longer are tried, until those gain nothing.

    Args:
        run: rows (`sharp_search.Rows`).
        tables, rays: J on the rays (`norms.knots`), shape (tables, rays); a row's is `run.table`.
        singles, growth: steps one by one at the end, and the largest share of its distance to the end that a block takes.
        paths: drifts per block, shape (rows, blocks): those of the last round, changed in place.

    Returns:
        Of the best round, row by row: epsilon, rho, the steps counted, the share of delta, and the drifts it started from.
    """
    rows, blocks = paths.shape
    edges, fractions, started, moved, most = empty(blocks + 1), empty((4, blocks)), empty(blocks), empty(blocks), empty(blocks)
    epsilons, rhos, steps, shares, best_paths = empty(rows), empty(rows), empty(rows), empty(rows), empty_like(paths)
    for i in range(rows):
        far, z0, share, path, table = run.far[i], run.z0[i], run.share[i], paths[i], tables[run.table[i]]
        cut = _cut(run.most[i], far, singles, growth, edges)
        epsilons[i], rhos[i], steps[i], shares[i], last = inf, inf, run.most[i], share, inf
        _copy(path, best_paths[i])
        moved.fill(0.0)
        most.fill(inf)
        longer = False  # whether the round starts from the drifts of a longer run
        for done in range(most_rounds * (1 if cut > FEW_BLOCKS else MORE_ROUNDS)):
            _copy(path, started)
            c2, w, w_f, w_0, w_0f, f, chance, per_S, per_s2 = _step(run, i, lipschitz, share)
            twice, random, N = _backward(
                edges, cut, path, z0, far, run.times[i], fractions, table, rays, c2, w, w_f, w_0, w_0f, f, per_S, per_s2
            )
            rho = 0.5 * twice
            delta_p = run.delta[i] if run.certain[i] else run.delta[i] * (1.0 - share)
            epsilon = scalar_epsilon(conversion, rho, delta_p)
            over = done + 1 >= rounds and (not abs(1.0 - epsilon / last) > settled or (longer and epsilon >= epsilons[i]))
            if epsilon < epsilons[i]:
                epsilons[i], rhos[i], steps[i], shares[i] = epsilon, rho, N, share
                _copy(started, best_paths[i])
            if over and (longer or not far):
                break
            last, longer = epsilon, over
            if rho < inf:
                count = cut
                while edges[count - 1] >= N:
                    count -= 1
                if longer and count < cut:
                    count += 1
                    N = edges[count]
                    moved.fill(0.0)
                    most.fill(inf)
                _forward(edges, count, path, z0, N, fractions, c2, w, w_0)
                _damp(path, started, count, moved, most)
                for b in range(count, cut):  # any step before those would be the first, and start from as far as theirs
                    path[b] = path[count - 1]
            else:  # drifts that run away are not gone on from
                _copy(best_paths[i], path)
            slope = random + (twice - random) * chance / w_f
            share = scalar_share(conversion, rho, slope, epsilon, run.order[i], delta_p)
    return epsilons, rhos, steps, shares, best_paths


@kernel(error_model="numpy")
def walk(run, tables, rays, lipschitz, singles, growth, path, N):
    """Step by step what `improve` sums in blocks, for a row's last N steps: z (one longer), alpha, pi, a, p, rho and drift.

    `path` are the drifts that the row's best round started from. The costs add up to rho because J, homogeneous, is the sum of
    its arguments times its slopes: with the distances z that these slopes carry forward, each step's share is its shifts'.
    """
    table, z0 = tables[run.table[0]], run.z0[0]
    c2, w, w_f, w_0, w_0f, f, _, per_S, per_s2 = _step(run, int64(0), lipschitz, run.share[0])
    edges, fractions = empty(path.size + 1), empty((4, path.size))
    count = _cut(run.most[0], run.far[0], singles, growth, edges)
    far_off = 1e200  # so that no number of steps is found to be enough
    _backward(edges, count, path, far_off, run.far[0], 1.0, fractions, table, rays, c2, w, w_f, w_0, w_0f, f, per_S, per_s2)
    alpha, pi, drift, J_A, J_C = empty(N), empty(N), empty(N), empty(N), empty(N)
    v, b = 0.0, 0
    for t in range(N - 1, -1, -1):
        while edges[b + 1] <= N - 1 - t:
            b += 1
        alpha[t], pi[t], drift[t] = fractions[0, b], fractions[1, b], path[b]
        A0, A1, C0, C1, _, _ = _weights(alpha[t], pi[t], drift[t], w, w_f, f, c2, per_S, per_s2)
        v, J_A[t], J_C[t] = norm(table, rays, A0 + A1 * v, C0 + C1 * v)
    z, a, p, rho = empty(N + 1), empty(N), empty(N), empty(N)
    z[0] = z0
    for t in range(N):
        x, G = drift[t], J_C[t] * c2
        if z[t] == 0.0:
            a[t], p[t], z[t + 1] = 0.0, pi[t] * w_0f, (1.0 - pi[t]) * w_0
            rho[t] = 0.5 * p[t] * p[t] * per_S
            continue
        a[t] = alpha[t] * f * sqrt(J_A[t]) * z[t]
        square = f * f * G * z[t] * z[t] * (1.0 + w_f / (f * x)) + w_f * (w_f + f * x)
        p[t] = pi[t] * sqrt(square)
        moved = G * z[t] * z[t] * (1.0 + w / x) + w * (w + x)
        z[t + 1] = sqrt((1.0 - alpha[t]) ** 2 * J_A[t] * z[t] * z[t] + (1.0 - pi[t]) ** 2 * moved)
        rho[t] = 0.5 * (p[t] * p[t] * per_S + a[t] * a[t] * per_s2)
    return z, alpha, pi, a, p, rho, drift
