"""The sharper bound where every step's cost keeps within a cap (docs/minibatch.md, "The sharper bound: caps").

Steps are counted from the end of the run, one by one and then in blocks that grow with their distance to it. Within a block
the fractions are constant and (x + e)^2 is bounded by a line that touches it at a typical drift: sound anywhere.
"""

from math import exp, inf, log, log1p, sqrt

from numba import njit
from numpy import empty

from zoexplore.bounds.kernels.norms import ROUNDING, norm
from zoexplore.bounds.kernels.rounding import SUMS_UP, UP
from zoexplore.bounds.kernels.sharp import _affine, _step
from zoexplore.bounds.kernels.subsampled_renyi import _cumulant, order_from

SINGLES, GROWTH = 16.0, 0.07  # steps one by one, then blocks of this share of their distance to the end
BLOCKS, LONGEST = 380, 2.0**40
LEAST_REACH = 1e-3  # of what a step adds: shorter typical drifts are taken to be that long
LEAST_SHARE, MOST_SHARE = 1e-6, 0.999  # of delta, for a cap to be exceeded
TOUCHES = 3  # rounds for the lines to touch where the distances are
ROUNDS, WIDEST = 7, 1.2  # of the search, and its first step in the logit of omega
FIRST_ORDER, NEAR = 1.2, 0.02  # low, so that it is on this side of where full batches show; changes that end the turns


@njit(cache=True)
def block_ends():
    """Steps to the end at which blocks begin and end."""
    edges = empty(BLOCKS + 1)
    edges[0], count = 0.0, 0
    while count < BLOCKS and edges[count] < LONGEST:
        at = edges[count]
        edges[count + 1] = at + (1.0 if at < SINGLES else float(GROWTH * at // 1.0))
        count += 1
    return edges[: count + 1]


@njit(cache=True, error_model="numpy")
def _weigh(table, rays, A, C, c2, plain):
    """(a norm of A (1 - gamma) + C times the drift, its slope in C): the joint one with c_lambda^2, or, where it is less, both
    parts' own norms added up, with the square of a constant of the step that holds in every direction.
    """
    if A + C == 0.0:
        return 0.0, 0.0
    J, _, slope = norm(table, rays, A, C * c2)
    slope *= c2
    apart = plain * table[table.size - 1]
    other = (A * table[0] + C * apart) * UP
    return (other, apart) if other < J else (J, slope)


@njit(cache=True, error_model="numpy")
def _step_lines(alpha, pi, x, e, f, c2, plain, per_S, per_s2, table, rays):
    """A step's lines in h: the next h is keep h + add, twice its cost D h + E; and how much of h the drift is, squared."""
    left, spent = (1.0 - pi) ** 2, pi * pi * per_S
    keep, slope = _weigh(table, rays, (1.0 - alpha) ** 2, left * (1.0 + e / x), c2, plain)
    D, other = _weigh(table, rays, alpha * alpha * per_s2, spent * (1.0 + e / (f * x)), c2, plain)
    return keep, left * e * (e + x), D, spent * e * (e + f * x), max(slope, other)


@njit(cache=True, error_model="numpy")
def _backward(edges, lines, path, h0, e, f, c2, plain, per_S, per_s2, every, table, rays, once, each, alpha, log_f0, order):
    """The number of steps with the least Renyi divergence of the order alpha; `lines` become the blocks'.

    `once` is the last step's divergence for the differing record, `each` that of every other; log_f0 the logarithm of 1/delta_f,
    or 0 where nothing is random.
    """
    v, w, paid, rate, best, best_b = 0.0, 0.0, 0.0, 0.0, inf, 0
    before, left, right = inf, inf, inf  # the scores beside the best
    for b in range(edges.size - 1):
        L, x = edges[b + 1] - edges[b], path[b]
        a = pi = 1.0
        if b > 0:
            between = v if L == 1.0 else v / max(0.3, 1.0 + 0.25 * rate * L)
            a, pi = between / (between + per_s2), 0.0
            if every:
                gain, price = f * f * between * (x + e) ** 2, (f * x + e) ** 2 * per_S
                pi = gain / (gain + price)
        keep, add, D, E, G = _step_lines(a, pi, x, e, f, c2, plain, per_S, per_s2, table, rays)
        lines[0, b], lines[1, b], lines[2, b], lines[3, b], lines[4, b] = keep, add, D, E, G
        new, total = _affine(keep, D, v, L)
        w += add * total
        paid += L * E
        rate = max(0.0, log(v / new) / L) if b > 0 else 0.0
        v = new
        N = edges[b + 1]
        data = once + (N - 1.0) * each
        F = exp((log(N) + log_f0) / order) if log_f0 > 0.0 else 1.0
        score = data + 0.5 * alpha * (F * (v * h0 + w) + paid)
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


@njit(cache=True, error_model="numpy")
def _forward(edges, lines, path, h0, N, order, certain, e):
    """(twice the caps' random cost times delta_f^(1/order), twice the certain cost) of N steps; `path` becomes the drifts.

    Caps f_t^2 X_t, X_t in the norm, with the sum of f_t^(-2 order) delta_f cost least where that is
    delta_f^(-1/order) (sum of X_t^p)^(1/p), p = order/(order + 1). Over a block the sum is at most what equal X_t would give.
    """
    p = 1.0 if certain else order / (order + 1.0)
    b = 0
    while edges[b + 1] < N:
        b += 1
    h, powers, paid = h0, 0.0, 0.0
    while b >= 0:
        L = min(edges[b + 1], N) - edges[b]
        after, total = _affine(lines[0, b], lines[1, b], h, L)
        powers += L * (lines[2, b] * total / L) ** p
        paid += L * lines[3, b]
        if e > 0.0:
            path[b] = max(sqrt(lines[4, b] * total / L), LEAST_REACH * e)
        h = after
        b -= 1
    return powers ** (1.0 / p) * SUMS_UP, paid * SUMS_UP


@njit(cache=True, error_model="numpy")
def _caps(run, i, table, rays, order, omega, alpha, once, each, every, share, work):
    """(N, and what `_forward` returns) for one choice of the rest."""
    edges, lines, path = work
    run.order[i] = order
    c2, _, _, _, _, f, _, per_S, per_s2 = _step(run, i, False, share)
    idle = not run.acting[i]
    plain = max(abs(run.r[i] - run.low[i]), abs(run.r[i] - run.top[i])) + ROUNDING if idle else inf
    plain *= plain
    certain, e, h0 = run.certain[i], run.bias_term[i], run.z0[i] * run.z0[i]
    path.fill(max(sqrt(c2) * run.z0[i], LEAST_REACH * e) if e > 0.0 else 1.0)
    log_f0 = 0.0 if certain else -log(share * run.delta[i])
    N, random, paid = 1.0, inf, inf
    for _ in range(TOUCHES if e > 0.0 else 1):
        N = _backward(
            edges, lines, path, h0, e, f, c2, plain, per_S / (1.0 - omega), per_s2, every, table, rays, once, each, alpha, log_f0,
            order,
        )  # fmt: skip
        random, paid = _forward(edges, lines, path, h0, N, order, certain, e)
    return N, random, paid


@njit(cache=True, error_model="numpy")
def _epsilon(divergence, alpha, delta, cks):
    """Of a Renyi divergence, for comparisons."""
    s = alpha - 1.0
    return divergence - log(delta) / s - (log(alpha) / s + log1p(1.0 / s) if cks else 0.0)


@njit(cache=True, error_model="numpy")
def _settled(run, i, table, rays, order, omega, alpha, once, each, every, share, cks, work):
    """(epsilon, N, share, budget) at the order alpha of the Renyi divergence: the split follows from where the slope vanishes."""
    certain, delta = run.certain[i], run.delta[i]
    N, random, paid = _caps(run, i, table, rays, order, omega, alpha, once, each, every, share, work)
    if certain:
        budget = 0.5 * (random + paid)
        return _epsilon(once + (N - 1.0) * each + alpha * budget, alpha, delta, cks), N, 0.0, budget
    for _ in range(3):
        odds = alpha * (alpha - 1.0) * random * exp(-log(share * delta) / order) / (2.0 * order)
        share = min(max(odds / (1.0 + odds), LEAST_SHARE), MOST_SHARE) if odds < inf else MOST_SHARE
    budget = 0.5 * (random * exp(-log(share * delta) / order) + paid)
    return _epsilon(once + (N - 1.0) * each + alpha * budget, alpha, delta * (1.0 - share), cks), N, share, budget


@njit(cache=True, error_model="numpy")
def _suited(run, i, table, rays, order, omega, alpha, q, mu, every, share, cks, times, work):
    """`_settled` and the Renyi order, that and the steps chosen in turns, so many times: (epsilon, N, share, budget, alpha, the
    last step's divergence for its record, every other step's).
    """
    x, shared = log(alpha - 1.0), mu / sqrt(omega)
    noise = shared if every else mu  # where the last step alone shares its noise, as if none did
    cumulant = _cumulant(alpha, q, noise)
    each = cumulant[0] / (alpha - 1.0)
    once = each if every else _cumulant(alpha, q, shared)[0] / (alpha - 1.0)
    best = _settled(run, i, table, rays, order, omega, alpha, once, each, every, share, cks, work)
    at, now, data = alpha, best, (once, each)
    for _ in range(int(times)):  # a float: each number that is a literal would be compiled for
        if not now[3] < inf:
            break
        before = x
        x, cumulant = order_from(x, cumulant, now[1], now[3], q, noise, run.delta[i] * (1.0 - now[2]), cks)
        at = 1.0 + exp(x)
        each = cumulant[0] / exp(x)
        once = each if every else _cumulant(at, q, shared)[0] / exp(x)
        now = _settled(run, i, table, rays, order, omega, at, once, each, every, now[2], cks, work)
        if now[0] < best[0]:
            best, alpha, data = now, at, (once, each)
        if abs(x - before) < NEAR:
            break
    return best[0], best[1], best[2], best[3], alpha, data[0], data[1]


@njit(cache=True, error_model="numpy")
def scan(run, q, mu, orders, places, tables, rays, every, cks, edges):
    """The order of the norm among `orders` that promises most: (its index, omega, alpha, share) of every row."""
    rows = run.K.size
    work = edges, empty((5, edges.size)), empty(edges.size)
    chosen, omegas, alphas, shares = empty(rows), empty(rows), empty(rows), empty(rows)
    for i in range(rows):
        best = inf
        chosen[i], omegas[i], alphas[i], shares[i] = 0.0, 0.5, FIRST_ORDER, 0.1
        for omega in (0.6 if every else 0.9, 0.995):
            for k in range(orders.size):
                found = _suited(
                    run, i, tables[places[i, k]], rays, orders[k], omega, FIRST_ORDER, q[i], mu[i], every, 0.1, cks, 4.0, work
                )
                if found[0] < best:
                    best, chosen[i], omegas[i], alphas[i], shares[i] = found[0], float(k), omega, found[4], found[2]
    return chosen, omegas, alphas, shares


@njit(cache=True, error_model="numpy")
def seek(run, q, mu, orders, places, tables, rays, every, cks, edges, first, alphas, shares):
    """The choices of every row, from what `scan` found, shape (rows,): (index among the row's orders, omega, alpha, share).

    In turns: omega along a parabola, the order of the norm among its neighbours.
    """
    rows, count = orders.shape
    work, values = (edges, empty((5, edges.size)), empty(edges.size)), empty(3)
    chosen, omegas, found_alphas, found_shares = empty(rows), empty(rows), empty(rows), empty(rows)
    for i in range(rows):
        k, alpha, share, x, wide, best = count // 2, alphas[i], shares[i], log(first[i] / (1.0 - first[i])), WIDEST, inf
        chosen[i], omegas[i], found_alphas[i], found_shares[i] = float(k), 1.0 / (1.0 + exp(-x)), alpha, share
        for turn in range(ROUNDS):
            table, order = tables[places[i, k]], orders[i, k]
            for side in range(3):
                if side == 1 and turn > 0:
                    values[1] = best
                    continue
                omega = 1.0 / (1.0 + exp(-x - (side - 1.0) * wide))
                values[side] = _suited(run, i, table, rays, order, omega, alpha, q[i], mu[i], every, share, cks, 1.0, work)[0]
            bend, move = values[0] - 2.0 * values[1] + values[2], 0.0
            if bend > 0.0 and bend < inf:
                move = wide * min(max(0.5 * (values[0] - values[2]) / bend, -1.5), 1.5)
            elif values[0] != values[2]:
                move = wide if values[2] < values[0] else -wide
            tried = min(max(x + move, -7.0), 9.0)
            if abs(move) < wide:
                wide *= 0.4
            omega = 1.0 / (1.0 + exp(-tried))
            now = _suited(run, i, table, rays, order, omega, alpha, q[i], mu[i], every, share, cks, 2.0, work)
            at, alpha_now, once, each = k, now[4], now[5], now[6]
            least, share_now = now[0], now[2]
            for way in (1, -1):
                while 0 <= at + way < count:
                    beside, next_order = tables[places[i, at + way]], orders[i, at + way]
                    other = _settled(run, i, beside, rays, next_order, omega, alpha_now, once, each, every, share_now, cks, work)
                    if not other[0] < least:
                        break
                    least, share_now, at = other[0], other[2], at + way
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


@njit(cache=True, error_model="numpy")
def finish(run, q, mu, tables, rays, every, cks, edges, omegas, alphas):
    """What every row comes to under its choices: (steps, share of delta, budget of the shifts, alpha, the data's divergence).

    run: with the orders of the norm, and where their tables are.
    """
    rows = run.K.size
    work = edges, empty((5, edges.size)), empty(edges.size)
    steps, shares, budgets, orders, data = empty(rows), empty(rows), empty(rows), empty(rows), empty(rows)
    for i in range(rows):
        table, order, omega, alpha = tables[run.table[i]], run.order[i], omegas[i], alphas[i]
        _, steps[i], shares[i], budgets[i], orders[i], once, each = _suited(
            run, i, table, rays, order, omega, alpha, q[i], mu[i], every, run.share[i], cks, 2.0, work
        )
        data[i] = once + (steps[i] - 1.0) * each
    return steps, shares, budgets, orders, data
