"""The sharper bound by caps (docs/batches.md, "The sharper bound on fresh batches").

Steps are counted from the end of the run, one by one and then in blocks that grow with their distance to it. Within a block
the fractions are constant and (x + e)^2 is bounded by a line that touches it at a typical drift: sound anywhere.
"""

from math import exp, inf, log, log1p, nan, sqrt
from typing import NamedTuple

from numpy import empty, ndarray

from zoexplore.bounds.kernels.blocks import affine
from zoexplore.bounds.kernels.compiling import kernel
from zoexplore.bounds.kernels.norms import ROUNDING, largest_drift_constant, norm, slower
from zoexplore.bounds.kernels.rounding import SUMS_UP, UP
from zoexplore.bounds.kernels.subsampled_renyi import CLOSE, _cumulant, order_from

SINGLES, GROWTH = 16.0, 0.07  # steps one by one, then blocks of this share of their distance to the end
BLOCKS, LONGEST = 380, 2.0**40
LEAST_REACH = 1e-3  # shorter typical drifts, as a part of what a step adds, count as this
LEAST_SHARE, MOST_SHARE = 1e-6, 0.999  # of delta, for a cap to be exceeded
TOUCHES = 3  # rounds that move the lines' points of contact to the distances
ROUNDS, WIDEST = 7, 1.2  # of the search, and its first step in the logit of omega
FIRST_ORDER, NEAR = 1.2, 0.02  # low, to be below the order at which full batches show; changes that end the rounds
# Of `Rows`, in `cells`.
COLUMNS = ("K", "d", "r", "low", "top", "acting", "certain", "remainder", "z0", "delta", "beta", "slowest")


class Run(NamedTuple):
    """One of the runs, as numbers: what a step makes of distances, what it adds, where they start, and what shifts cost."""

    K: float
    d: float
    r: float
    low: float
    top: float
    slowest: float
    acting: float
    certain: float
    e: float
    h0: float
    delta: float
    per_S: float
    per_s2: float
    plain: float


class Norm(NamedTuple):
    """The norm of one order: its table, the order, and c_lambda^2 of a run."""

    table: ndarray
    order: float
    c2: float


@kernel(error_model="numpy")
def run_of(cells, i):
    """A row of `cells`, whose columns are COLUMNS."""
    K, d, r, low, top, beta, slowest = cells[i, 0], cells[i, 1], cells[i, 2], cells[i, 3], cells[i, 4], cells[i, 10], cells[i, 11]
    s2 = (1.0 - beta) / d
    q, least, most = slower(r, low, top, slowest)
    plain = inf if cells[i, 5] else max(abs(r - low), abs(r - top), abs(q - least), abs(q - most)) + ROUNDING
    return Run(
        K, d, r, low, top, slowest, cells[i, 5], cells[i, 6], cells[i, 7], cells[i, 8] * cells[i, 8], cells[i, 9],
        K / (beta + s2 * K), 0.0 if K == d else 1.0 / s2, plain * plain,
    )  # fmt: skip


@kernel()
def norm_of(run, table, order):
    """The norm of an order, with the run's constant."""
    c2 = largest_drift_constant(run.r, run.low, run.top, run.slowest, run.d, order, run.acting, run.certain > 0.0)
    return Norm(table, order, c2)


def block_ends():  # once, so not compiled
    """Steps to the end at which blocks begin and end, shape (blocks + 1,)."""
    edges = empty(BLOCKS + 1)
    edges[0], count = 0.0, 0
    while count < BLOCKS and edges[count] < LONGEST:
        at = edges[count]
        edges[count + 1] = at + (1.0 if at < SINGLES else float(GROWTH * at // 1.0))
        count += 1
    return edges[: count + 1]


@kernel(error_model="numpy")
def _weigh(of, A, C, plain):
    """(a norm of A (1 - gamma) + C times the drift, its slope in C): the joint one with c_lambda^2, or the sum of both parts'
    norms where that is less. In the sum the drift's constant is one that holds in every direction.
    """
    if A + C == 0.0:
        return 0.0, 0.0
    J, _, slope = norm(of.table, A, C * of.c2)
    slope *= of.c2
    apart = plain * of.table[of.table.size - 1]
    other = (A * of.table[0] + C * apart) * UP
    return (other, apart) if other < J else (J, slope)


@kernel(error_model="numpy")
def _step_lines(run, of, alpha, pi, x, f, per_S):
    """A step's lines in h: the next h is keep h + add, twice its cost D h + E; and how much of h the drift is, squared."""
    e, left, spent = run.e, (1.0 - pi) ** 2, pi * pi * per_S
    keep, slope = _weigh(of, (1.0 - alpha) ** 2, left * (1.0 + e / x), run.plain)
    D, other = _weigh(of, alpha * alpha * run.per_s2, spent * (1.0 + e / (f * x)), run.plain)
    return keep, left * e * (e + x), D, spent * e * (e + f * x), max(slope, other)


@kernel(error_model="numpy")
def _backward(run, of, work, alpha, once, each, every, per_S, log_f0):
    """The number of steps with the least Renyi divergence of the order alpha; `lines` become the blocks'.

    `once` is the last step's divergence for the differing record, `each` that of every other; log_f0 the logarithm of 1/delta_f,
    or 0 where nothing is random.
    """
    edges, lines, path = work
    e, f = run.e, exp(log_f0 / (2.0 * of.order))
    v, w, paid, rate, best, best_b = 0.0, 0.0, 0.0, 0.0, inf, 0
    before, left, right = inf, inf, inf  # the scores beside the best
    for b in range(edges.size - 1):
        L, x = edges[b + 1] - edges[b], path[b]
        a = pi = 1.0
        if b > 0:
            between = v if L == 1.0 else v / max(0.3, 1.0 + 0.25 * rate * L)
            a, pi = between / (between + run.per_s2), 0.0
            if every:
                gain, price = f * f * between * (x + e) ** 2, (f * x + e) ** 2 * per_S
                pi = gain / (gain + price)
        keep, add, D, E, G = _step_lines(run, of, a, pi, x, f, per_S)
        lines[0, b], lines[1, b], lines[2, b], lines[3, b], lines[4, b] = keep, add, D, E, G
        new, total = affine(keep, D, v, L)
        w += add * total
        paid += L * E
        rate = max(0.0, log(v / new) / L) if b > 0 else 0.0
        v = new
        N = edges[b + 1]
        data = once + (N - 1.0) * each
        F = exp((log(N) + log_f0) / of.order) if log_f0 > 0.0 else 1.0
        score = data + 0.5 * alpha * (F * (v * run.h0 + w) + paid)
        if b == best_b + 1:
            right = score
        if score < best:
            best, best_b, left, right = score, b, before, inf
        before = score
        if data > best:
            break
    N = edges[best_b + 1]
    if 0 < best_b and left < inf and right < inf and N >= SINGLES:
        low, high = log(N / edges[best_b]), log(edges[best_b + 2] / N)
        fall, rise = (left - best) / low, (right - best) / high
        N = float(N * exp(0.5 * (fall * high - rise * low) / (fall + rise)) // 1.0)
        N = min(max(N, edges[best_b]), edges[best_b + 2])
    return N


@kernel(error_model="numpy")
def _forward(run, order, work, N):
    """(twice the caps' random cost times delta_f^(1/order), twice the certain cost) of N steps; `path` becomes the drifts.

    Caps f_t^2 X_t, X_t in the norm, with the sum of f_t^(-2 order) delta_f cost least where that is
    delta_f^(-1/order) (sum of X_t^p)^(1/p), p = order/(order + 1). Over a block the sum is at most what equal X_t would give.
    """
    (edges, lines, path), e = work, run.e
    p = 1.0 if run.certain > 0.0 else order / (order + 1.0)
    b = 0
    while edges[b + 1] < N:
        b += 1
    h, powers, paid = run.h0, 0.0, 0.0
    while b >= 0:
        L = min(edges[b + 1], N) - edges[b]
        after, total = affine(lines[0, b], lines[1, b], h, L)
        powers += L * (lines[2, b] * total / L) ** p
        paid += L * lines[3, b]
        if e > 0.0:
            path[b] = max(sqrt(lines[4, b] * total / L), LEAST_REACH * e)
        h = after
        b -= 1
    return powers ** (1.0 / p) * SUMS_UP, paid * SUMS_UP


@kernel(error_model="numpy")
def _caps(run, of, omega, alpha, once, each, every, share, work):
    """(N, and what `_forward` returns) for one choice of the rest."""
    e, log_f0 = run.e, 0.0 if run.certain > 0.0 else -log(share * run.delta)
    work[2].fill(max(sqrt(of.c2 * run.h0), LEAST_REACH * e) if e > 0.0 else 1.0)
    N, random, paid = 1.0, inf, inf
    for _ in range(TOUCHES if e > 0.0 else 1):
        N = _backward(run, of, work, alpha, once, each, every, run.per_S / (1.0 - omega), log_f0)
        random, paid = _forward(run, of.order, work, N)
    return N, random, paid


@kernel(error_model="numpy")
def _epsilon(divergence, alpha, delta, cks):
    """Of a Renyi divergence, for comparisons."""
    s = alpha - 1.0
    return divergence - log(delta) / s - (log(alpha) / s + log1p(1.0 / s) if cks else 0.0)


@kernel(error_model="numpy")
def _settled(run, of, omega, alpha, once, each, every, share, cks, work):
    """(epsilon, N, share, budget) at the order alpha of the Renyi divergence: the split follows from where the slope vanishes."""
    delta, order = run.delta, of.order
    N, random, paid = _caps(run, of, omega, alpha, once, each, every, share, work)
    if run.certain > 0.0:
        budget, share = 0.5 * (random + paid), 0.0
    else:
        for _ in range(3):
            odds = alpha * (alpha - 1.0) * random * exp(-log(share * delta) / order) / (2.0 * order)
            share = min(max(odds / (1.0 + odds), LEAST_SHARE), MOST_SHARE) if odds < inf else MOST_SHARE
        budget = 0.5 * (random * exp(-log(share * delta) / order) + paid)
    return _epsilon(once + (N - 1.0) * each + alpha * budget, alpha, delta * (1.0 - share), cks), N, share, budget


@kernel(error_model="numpy")
def _data(alpha, q, mu, omega, every):
    """What `_cumulant` says of a step at the order alpha, and the last step's divergence for its record. Where that step alone
    shares its noise, the others have all of theirs.
    """
    shared = mu / sqrt(omega)
    cumulant = _cumulant(alpha, q, shared if every else mu)
    return cumulant, (cumulant if every else _cumulant(alpha, q, shared))[0] / (alpha - 1.0)


@kernel(error_model="numpy")
def _suited(run, of, omega, alpha, data, q, mu, every, share, cks, times, work):
    """`_settled` and the Renyi order, alternating with the choice of steps, so many times: (epsilon, N, share, budget, alpha, the
    last step's divergence for its record, every other step's). `data` is what `_data` says at the order alpha.
    """
    x, before, turn, cumulant, once = log(alpha - 1.0), nan, 0.0, data[0], data[1]
    shared = mu / sqrt(omega)
    best = inf, 1.0, share, inf, alpha, inf, inf
    while True:
        each = cumulant[0] / (alpha - 1.0)
        if turn > 0.0:
            once = each if every else _cumulant(alpha, q, shared)[0] / (alpha - 1.0)
        now = _settled(run, of, omega, alpha, once, each, every, share, cks, work)
        if now[0] < best[0] or turn == 0.0:
            best = now[0], now[1], now[2], now[3], alpha, once, each
        if turn == times or not now[3] < inf or abs(x - before) < NEAR:
            return best
        before, share, turn = x, now[2], turn + 1.0
        noise = shared if every else mu
        x, cumulant = order_from(x, cumulant, now[1], now[3], q, noise, run.delta * (1.0 - share), cks, CLOSE)
        alpha = 1.0 + exp(x)


@kernel(error_model="numpy")
def scan(cells, q, mu, orders, places, tables, every, cks, edges):
    """The order of the norm among `orders` that promises most: (its index, omega, alpha, share) of every row."""
    rows = cells.shape[0]
    work = edges, empty((5, edges.size)), empty(edges.size)
    chosen, omegas, alphas, shares = empty(rows), empty(rows), empty(rows), empty(rows)
    for i in range(rows):
        run, best = run_of(cells, i), inf
        chosen[i], omegas[i], alphas[i], shares[i] = 0.0, 0.5, FIRST_ORDER, 0.1
        for omega in (0.6 if every else 0.9, 0.995):
            data = _data(FIRST_ORDER, q[i], mu[i], omega, every)
            for k in range(orders.size):
                of = norm_of(run, tables[places[i, k]], orders[k])
                found = _suited(run, of, omega, FIRST_ORDER, data, q[i], mu[i], every, 0.1, cks, 4.0, work)
                if found[0] < best:
                    best, chosen[i], omegas[i], alphas[i], shares[i] = found[0], float(k), omega, found[4], found[2]
    return chosen, omegas, alphas, shares


@kernel(error_model="numpy")
def _towards_least(values):
    """Where a parabola through the values at -1, 0 and 1 is least, or which of its ends is lower; at most 1.5 away."""
    bend = values[0] - 2.0 * values[1] + values[2]
    if bend > 0.0 and bend < inf:
        return min(max(0.5 * (values[0] - values[2]) / bend, -1.5), 1.5)
    if values[0] == values[2]:
        return 0.0
    return 1.0 if values[2] < values[0] else -1.0


@kernel(error_model="numpy")
def seek(cells, q, mu, orders, places, tables, every, cks, edges, first, alphas, shares):
    """The choices of every row, from the results of `scan`, shape (rows,): (index among the row's orders, omega, alpha, share).

    Alternately: omega along a parabola, the order of the norm among its neighbours.
    """
    rows, count = orders.shape
    work, values = (edges, empty((5, edges.size)), empty(edges.size)), empty(3)
    chosen, omegas, found_alphas, found_shares = empty(rows), empty(rows), empty(rows), empty(rows)
    for i in range(rows):
        run, now = run_of(cells, i), (inf, 1.0, 0.1, inf, FIRST_ORDER, inf, inf)
        norms = [norm_of(run, tables[places[i, k]], orders[i, k]) for k in range(count)]
        k, alpha, share, x, wide, best = count // 2, alphas[i], shares[i], log(first[i] / (1.0 - first[i])), WIDEST, inf
        chosen[i], omegas[i], found_alphas[i], found_shares[i] = float(k), 1.0 / (1.0 + exp(-x)), alpha, share
        for turn in range(ROUNDS):
            move, omega, tried = 0.0, 0.0, x
            for side in range(4):  # to both sides of omega, and then where a parabola through these is least
                if side == 1 and turn > 0:
                    values[1] = best
                    continue
                tried = x + (side - 1.0) * wide
                if side == 3:
                    move = wide * _towards_least(values)
                    tried = min(max(x + move, -7.0), 9.0)
                    if abs(move) < wide:
                        wide *= 0.4
                omega = 1.0 / (1.0 + exp(-tried))
                data, times = _data(alpha, q[i], mu[i], omega, every), 2.0 if side == 3 else 1.0
                now = _suited(run, norms[k], omega, alpha, data, q[i], mu[i], every, share, cks, times, work)
                if side < 3:
                    values[side] = now[0]
            at, way = k, 1
            least, share_now, alpha_now, once, each = now[0], now[2], now[4], now[5], now[6]
            while True:
                gained = False
                if 0 <= at + way < count:
                    beside = at + way
                    other = _settled(run, norms[beside], omega, alpha_now, once, each, every, share_now, cks, work)
                    gained = other[0] < least
                    if gained:
                        least, share_now, at = other[0], other[2], beside
                if not gained:
                    if way < 0:
                        break
                    way = -1
            if not least < best:
                if abs(move) < 0.1 or wide < 0.1:
                    break
                wide *= 0.5
                continue
            gain = best - least
            best, x, k, alpha, share = least, tried, at, alpha_now, share_now
            chosen[i], omegas[i], found_alphas[i], found_shares[i] = float(k), omega, alpha, share
            if gain < 1e-5 * best and wide < 0.3:
                break
    return chosen, omegas, found_alphas, found_shares


@kernel(error_model="numpy")
def finish(cells, q, mu, orders, places, tables, every, cks, edges, omegas, alphas, shares):
    """Every row's bound under its choices: (steps, share of delta, budget of the shifts, alpha, the data's divergence)."""
    rows = cells.shape[0]
    work = edges, empty((5, edges.size)), empty(edges.size)
    steps, lost, budgets, found_orders, data = empty(rows), empty(rows), empty(rows), empty(rows), empty(rows)
    for i in range(rows):
        run, first = run_of(cells, i), _data(alphas[i], q[i], mu[i], omegas[i], every)
        of = norm_of(run, tables[places[i]], orders[i])
        _, steps[i], lost[i], budgets[i], found_orders[i], once, each = _suited(
            run, of, omegas[i], alphas[i], first, q[i], mu[i], every, shares[i], cks, 2.0, work
        )
        data[i] = once + (steps[i] - 1.0) * each
    return steps, lost, budgets, found_orders, data
