"""The last, counted steps of a run on secret batches (docs/batches.md, "The sharper bound on fresh batches").

They work off the distance that the history left, by a share of the span's noise and all of the complement's, at a cost of
r = f^2 (v h + w) + E from a squared distance h. Estimates by a few orders of Renyi divergence choose; any choice is sound.
"""

from math import exp, expm1, inf, log, log1p, sqrt
from typing import NamedTuple

from numpy import array, empty, ndarray

from zoexplore.bounds.kernels.compiling import kernel
from zoexplore.bounds.kernels.history import LABELS, history
from zoexplore.bounds.kernels.norms import norm
from zoexplore.bounds.kernels.plans import LEAST_SEEN, Block, Exponent, _advance, law_of
from zoexplore.bounds.kernels.rounding import SUMS_UP

SINGLES, GROWTH, BLOCKS = 24.0, 0.08, 400  # steps one by one, then blocks of this share of their distance to the end
REACH = 5.0  # steps that are tried, over those in which a distance falls e-fold
RENYI = array(  # orders of Renyi divergence
    [1.2, 1.5, 2.0, 3.0, 4.0, 6.0, 8.0, 12.0, 16.0, 24.0, 32.0, 48.0, 64.0, 96.0, 128.0, 176.0, 256.0, 360.0, 512.0, 720.0, 1e3]
)
OMEGAS = array([0.3, 0.5, 0.7, 0.82, 0.9, 0.94, 0.97, 0.985, 0.995])  # shares of the span's noise for the record
LOST = array([0.002, 0.008, 0.025, 0.08, 0.2])  # parts of delta for the shifts to stop early
FIRST_OMEGA, FIRST_LOST = 4, 2  # of these, to begin with
COARSE, STRIDE = 2, 6  # labels that an estimate takes together; blocks between those that are looked at first
LEAST_FALL, MOST_COST = 1e-9, 1e6
NODES, DEVIATIONS = 40, 8.0  # of a standard normal number, for estimates
UNNOTICED = 1e-3  # of delta: rarer labels play no part in an estimate


class Noise(NamedTuple):
    """One over the variance of the noise along the span, and across it: at the last steps, and before them."""

    along: float
    across: float
    early_along: float
    early_across: float
    cooldown: float  # the number of those last steps


class Choice(NamedTuple):
    """Which order of the norm, how many steps count, the record's share of the span's noise, and delta_f over delta."""

    order: int
    N: float
    omega: float
    lost: float


class Prospect(NamedTuple):
    """What an estimate knows of a run: coarse labels, the sampled step's excess at every order, 2 where a record is replaced,
    whether labels are hidden, and the target.
    """

    h: ndarray
    share: ndarray
    excess: ndarray
    twice: float
    hidden: float  # 1 where nobody learns which budget was drawn
    delta: float


@kernel()
def cut(most, cooldown, edges):
    """The number of blocks of the last `most` steps; `edges` become the steps to the end at which they begin, and last all. One
    begins where the cool-down does.
    """
    count, edges[0] = 0, 0.0
    while edges[count] < most and count < BLOCKS:
        at = edges[count]
        after = at + (1.0 if at < SINGLES else float(GROWTH * at // 1.0))
        if at < cooldown < after:
            after = cooldown
        edges[count + 1] = min(after, most)
        count += 1
    return count


@kernel(error_model="numpy")
def follow(s, law, noise, omega, edges, count, x, found):
    """Fill (v, w, E) at the ends of the blocks, shape (3, blocks): what the shifts cost from a squared distance there.

    Args:
        s: a step of `plans.STEP`, with the tables that it looks up.
        omega: the share of the span's noise that the shifts do not have.
        x: the distance at which squares of sums are split.
    """
    v = w = E = rate = 0.0
    e, f = s.e, s.tilt
    drift = sqrt(max(norm(law.table, 1.0, s.c2)[2] * s.c2, LEAST_SEEN)) * x
    for b in range(count):
        late, L, before, alpha, pi = edges[b] < noise.cooldown, edges[b + 1] - edges[b], v, 1.0, 1.0
        along, across = (noise.along if late else noise.early_along) / (1.0 - omega), noise.across if late else noise.early_across
        if b > 0:
            between = v if L == 1.0 else v / max(0.3, 1.0 + 0.25 * rate * L)
            gain, price = between * (f * (drift + e)) ** 2, (f * drift + e) ** 2 * along
            alpha, pi = between / (between + across), gain / (gain + price)
        block = Block(
            alpha * alpha * across if alpha > 0.0 else 0.0, (1.0 - alpha) ** 2, pi * pi * along, (1.0 - pi) ** 2,
            1.0 + e / (f * drift), 1.0 + e / drift, x, e * (e + drift), 0.0, e * (e + f * drift),
        )  # fmt: skip
        v, paid, _, _ = _advance(s, law, block, Exponent(1.0, 1.0), v, L)
        w, E = w + paid, E + L * block.C0 * block.certain
        rate = max(0.0, log(before / v) / L) if b > 0 and v > 0.0 else 0.0
        found[0, b], found[1, b], found[2, b] = v, w * SUMS_UP, E * SUMS_UP


@kernel(error_model="numpy")
def _excess(order, q, square):
    """Nearly E exp((order - 1) L) - 1 of a sampled step that the record moves by the root of `square`, for comparisons."""
    pairs = 0.5 * order * (order - 1.0)
    second = pairs * q * q * expm1(min(square, 300.0))
    if q >= 1.0:
        return expm1(min(pairs * square, 600.0))
    if order != float(order // 1.0):
        return second
    term, k, last = pairs * q * q * exp((order - 2.0) * log1p(-q)), 2.0, order * log(q) + pairs * square
    total = term * expm1(min(square, 300.0))
    while k < order and term > 0.0:
        term *= (order - k) / (k + 1.0) * q / (1.0 - q)
        k += 1.0
        grown = term * expm1(min(0.5 * k * (k - 1.0) * square, 600.0))
        total += grown
        if k > order * q + 4.0 and grown < 1e-12 * total:
            break
    return total + (exp(last) if last < 600.0 else inf)


@kernel(error_model="numpy")
def _log_ratio(h, share, v, fixed, x):
    """The logarithm of the likelihood ratio at x of shifts whose budget nobody learns."""
    top = -inf
    for j in range(h.size):
        r = v * h[j] + fixed
        top = max(top, sqrt(r) * x - 0.5 * r)
    total = 0.0
    for j in range(h.size):
        r = v * h[j] + fixed
        total += share[j] * exp(sqrt(r) * x - 0.5 * r - top)
    return top + log(total)


@kernel(error_model="numpy")
def _log_moment(of, order, v, fixed, ratios, reach):
    """Nearly log E exp((order - 1) L) of the shifts."""
    each, total = 0.5 * order * (order - 1.0), 0.0
    if of.hidden > 0.0:
        width, top = (reach + DEVIATIONS) / (ratios.size - 1.0), -inf
        for i in range(ratios.size):
            x = i * width - DEVIATIONS
            top = max(top, order * ratios[i] - 0.5 * x * x)
        for i in range(ratios.size):
            x = i * width - DEVIATIONS
            total += exp(order * ratios[i] - 0.5 * x * x - top)
        return top + log(total * width / 2.5066282746310002)
    top = each * (v * of.h[0] + fixed)
    for j in range(of.h.size):
        total += of.share[j] * exp(each * v * (of.h[j] - of.h[0]))
    return top + log(total)


@kernel(error_model="numpy")
def _estimate(of, m, N, cost, f2, left):
    """Nearly epsilon of N sampled steps and shifts of that cost (v, w, E), by the best of a few orders, with `left` of delta."""
    best, v, fixed = inf, f2 * cost[0], f2 * cost[1] + cost[2]
    if not v * of.h[0] + fixed < MOST_COST:
        return inf
    ratios, reach = empty(NODES), DEVIATIONS + sqrt(v * of.h[0] + fixed)
    if of.hidden > 0.0:
        for i in range(NODES):
            ratios[i] = _log_ratio(of.h, of.share, v, fixed, i * (reach + DEVIATIONS) / (NODES - 1.0) - DEVIATIONS)
    for k in range(RENYI.size):
        order = RENYI[k]
        sampled = N * log1p(of.twice * of.excess[m, k]) + _log_moment(of, order, v, fixed, ratios, reach)
        best = min(best, (sampled - log(left) - log(order)) / (order - 1.0) + log1p(-1.0 / order))
    return max(best, 0.0)


@kernel(error_model="numpy")
def _best_block(of, m, edges, costs, count, f2, left, near, stride):
    """(The least estimate, its block) of every `stride`-th block, and of those around it; near a block if one is known."""
    best, at = inf, 0
    for b in range(0 if near < 0 else max(near - STRIDE, 0), count if near < 0 else min(near + STRIDE + 1, count), stride):
        found = _estimate(of, m, edges[b + 1], costs[:, b], f2, left)
        if found < best:
            best, at = found, b
    for b in range(max(at - stride + 1, 0), min(at + stride, count)):
        found = _estimate(of, m, edges[b + 1], costs[:, b], f2, left)
        if found < best:
            best, at = found, b
    return best, at


@kernel(error_model="numpy")
def _climb(s, law, noise, of, edges, count, x, costs):
    """(The estimate, N, omega, delta_f over delta) of one order of the norm: by turns the steps, omega and the chance lost."""
    random = s.tilt != 1.0
    m, lost = FIRST_OMEGA, FIRST_LOST
    f2 = exp(-log(LOST[lost] * of.delta) / s.order) if random else 1.0
    follow(s, law, noise, OMEGAS[m], edges, count, x, costs)
    left = of.delta * (1.0 - LOST[lost] if random else 1.0)
    best, at = _best_block(of, m, edges, costs, count, f2, left, -1, STRIDE)
    for way in (1, -1):
        while 0 <= m + way < OMEGAS.size:
            follow(s, law, noise, OMEGAS[m + way], edges, count, x, costs)
            found, b = _best_block(of, m + way, edges, costs, count, f2, left, at, 2)
            if found >= best:
                break
            best, at, m = found, b, m + way
    if not random:
        return best, edges[at + 1], OMEGAS[m], 0.0
    follow(s, law, noise, OMEGAS[m], edges, count, x, costs)
    for way in (1, -1):
        while 0 <= lost + way < LOST.size:
            f2 = exp(-log(LOST[lost + way] * of.delta) / s.order)
            found, b = _best_block(of, m, edges, costs, count, f2, of.delta * (1.0 - LOST[lost + way]), at, 2)
            if found >= best:
                break
            best, at, lost = found, b, lost + way
    return best, edges[at + 1], OMEGAS[m], LOST[lost]


@kernel(error_model="numpy")
def _gathered(h, share, delta):
    """A few labels in place of many, without those as rare as no delta notices."""
    first, total = 0, share[0]
    while first < h.size - 1 and total < UNNOTICED * delta:
        first += 1
        total += share[first]
    few = (h.size - first + COARSE - 1) // COARSE
    to, chance = empty(few), empty(few)
    for j in range(few):
        to[j] = chance[j] = 0.0
        for i in range(first + COARSE * j, min(first + COARSE * j + COARSE, h.size)):
            to[j] += share[i] * h[i]
            chance[j] += share[i]
        to[j] = to[j] / chance[j] if chance[j] > 0.0 else h[first]
    return to, chance


@kernel(error_model="numpy")
def choose(rows, laws, noises, q, most, square, twice, delta, longest, found):
    """The choices that promise the least, run by run.

    Args:
        rows: of `plans.STEP`, shape (runs, orders): a step that meets the record.
        noises: columns of `Noise`, shape (runs, 5).
        q, most, square, delta: the chance that a step meets the record, the largest squared distance, the square of what the
            record moves a step over the noise in its span, the target.
        twice: 2 where a record is replaced, 1 where it is added or removed.
        longest: the most steps that may be counted.
        found: becomes `Choice`, shape (runs, 4).
    """
    edges, costs, h, share = empty(BLOCKS + 1), empty((3, BLOCKS)), empty(LABELS), empty(LABELS)
    excess = empty((OMEGAS.size, RENYI.size))
    for i in range(rows.shape[0]):
        best, k, way = inf, rows.shape[1] // 2, 1
        found[i, 0], found[i, 1], found[i, 2], found[i, 3] = k, 1.0, 0.9, 0.03
        noise = Noise(noises[i, 0], noises[i, 1], noises[i, 2], noises[i, 3], noises[i, 4])
        for m in range(OMEGAS.size):
            for j in range(RENYI.size):
                excess[m, j] = _excess(RENYI[j], q[i], square[i] / OMEGAS[m])
        tried = k
        while 0 <= tried < rows.shape[1]:
            s, law = rows[i, tried], law_of(laws, rows[i, tried])
            history(s, law, q[i], most[i], h, share)
            fall = max(1.0 - sqrt(min(norm(law.table, 1.0, s.c2)[0], 1.0)), LEAST_FALL)
            count, x = cut(max(min(REACH / fall // 1.0, longest[i]), 1.0), noise.cooldown, edges), sqrt(h[LABELS // 2])
            value = inf
            if h[0] < inf:
                few, chance = _gathered(h, share, delta[i])
                of = Prospect(few, chance, excess, twice, 2.0 - twice, delta[i])
                value, N, omega, lost = _climb(s, law, noise, of, edges, count, x, costs)
            if value < best:
                best = value
                found[i, 0], found[i, 1], found[i, 2], found[i, 3] = tried, N, omega, lost
            elif tried != k and way == 1 and tried == k + 1:
                way, tried = -1, k
            elif tried != k:
                break
            tried += way


@kernel(error_model="numpy")
def evaluate(rows, laws, noises, q, most, N, omega, lost, rho, share):
    """Fill the budgets of the shifts and their chances, shape (runs, LABELS), under the choices, run by run.

    Args:
        rows: of `plans.STEP`, shape (runs,).
        N, omega, lost: the counted steps, the record's share of the span's noise, the chance that the shifts stop early.
    """
    edges, costs, h, chance = empty(BLOCKS + 1), empty((3, BLOCKS)), empty(LABELS), empty(LABELS)
    known = -1
    for i in range(rows.size):
        s, law = rows[i], law_of(laws, rows[i])
        noise = Noise(noises[i, 0], noises[i, 1], noises[i, 2], noises[i, 3], noises[i, 4])
        if known < 0 or not _alike(s, q[i], most[i], rows[known], q[known], most[known]):
            history(s, law, q[i], most[i], h, chance)
            known = i
        grown = (s.kick / rows[known].kick) ** 2 * SUMS_UP
        x = sqrt(h[LABELS // 2] * grown)
        count = cut(N[i], noise.cooldown, edges)
        follow(s, law, noise, omega[i], edges, count, x, costs)
        f2 = exp(-log(lost[i]) / s.order) * SUMS_UP if lost[i] > 0.0 else 1.0
        v, w, E = costs[0, count - 1], costs[1, count - 1], costs[2, count - 1]
        for j in range(LABELS):
            rho[i, j] = 0.5 * (f2 * (v * min(h[j] * grown, most[i]) + w) + E) * SUMS_UP
            share[i, j] = chance[j]


@kernel(error_model="numpy")
def _alike(s, q, most, other, q_other, most_other):
    """Whether the squared distances of two runs differ by a factor alone, that of their kicks."""
    ratio = s.kick / other.kick
    same = s.table == other.table and s.c2 == other.c2 and q == q_other and abs(s.e - ratio * other.e) <= 1e-12 * s.e
    return same and (most == most_other == inf or abs(most - ratio**2 * most_other) <= 1e-12 * most)
