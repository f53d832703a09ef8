"""The last, counted steps of a run on secret batches (docs/batches.md, "The sharper bound on fresh
batches").

They work off the distance that the history left, by a share of the span's noise and all of the
complement's, at a cost of r = f^2 (v h + w) + E from a squared distance h. Estimates by a few
orders of Renyi divergence choose; any choice is sound.
"""

from math import exp, expm1, inf, log, log1p, sqrt
from typing import NamedTuple

from numpy import array, dtype, empty, minimum, ndarray, record, zeros

from zoexplore.bounds.kernels.compiling import kernel
from zoexplore.bounds.kernels.history import LABELS, history
from zoexplore.bounds.kernels.norms import norm
from zoexplore.bounds.kernels.rounding import SUMS_UP
from zoexplore.bounds.kernels.steps import LEAST_SEEN, STEP, Block, advance, fill_step

# steps one by one, then blocks of this share of their distance to the end
SINGLES, GROWTH, BLOCKS = 24.0, 0.08, 400
REACH = 5.0  # steps that are tried, over those in which a distance falls e-fold
RENYI = array(  # orders of Renyi divergence
    [
        1.2,
        1.5,
        2.0,
        3.0,
        4.0,
        6.0,
        8.0,
        12.0,
        16.0,
        24.0,
        32.0,
        48.0,
        64.0,
        96.0,
        128.0,
        176.0,
        256.0,
        360.0,
        512.0,
        720.0,
        1e3,
    ]
)
# shares of the span's noise for the record
OMEGAS = array([0.3, 0.5, 0.7, 0.82, 0.9, 0.94, 0.97, 0.985, 0.995])
LOST = array([0.002, 0.008, 0.025, 0.08, 0.2])  # parts of delta for the shifts to stop early
FIRST_OMEGA, FIRST_LOST = 4, 2  # of these, to begin with
# labels that an estimate takes together; blocks between those that are looked at first
COARSE, STRIDE = 2, 6
LEAST_FALL, MOST_COST = 1e-9, 1e6
NODES, DEVIATIONS = 40, 8.0  # of a standard normal number, for estimates
UNNOTICED = 1e-3  # of delta: rarer labels play no part in an estimate


CHOICE = dtype(
    (
        record,
        [
            (name, float)
            for name in (
                "order",  # of the norm
                "N",  # the counted steps
                "omega",  # the record's share of the span's noise
                "lost",  # delta_f over delta
            )
        ],
    )
)
KNOWN = dtype(
    (
        record,
        [
            (name, float)
            for name in (  # what a history depends on
                "place",  # in `Norms`
                "kick",
                "e",
                "q",
                "most",  # the largest squared distance
            )
        ],
    )
)


class Noise(NamedTuple):
    """One over the variance of a step's noise along the span, and across it."""

    along: float
    across: float


class Window(NamedTuple):
    """The last steps of a run in blocks: the noise in the cool-down and before it, and how the
    squares of sums are split.
    """

    table: ndarray  # J on the rays
    edges: ndarray  # steps to the end at which blocks begin
    blocks: int
    cooled: float
    late: Noise
    early: Noise
    x: float  # a typical distance
    drift: float  # and drift
    # at the ends of the blocks, from a squared distance there: v, w, E, shape (3, blocks)
    costs: ndarray


class Labels(NamedTuple):
    """The law of the squared distance before the counted steps, of runs whose kick is 1: shapes
    (LABELS,).
    """

    h: ndarray
    share: ndarray


class Prospect(NamedTuple):
    """What an estimate knows of a run: coarse labels, the sampled step's excess at every order,
    whether labels are hidden (else a record is replaced), and the target.
    """

    h: ndarray
    share: ndarray
    excess: ndarray
    hidden: bool
    delta: float


class Spent(NamedTuple):
    """What a part of delta for the shifts to stop early makes of their cost, and what it leaves."""

    lost: float
    f2: float
    left: float


class Best(NamedTuple):
    """The least estimate, and the block at whose end the counted steps begin."""

    value: float
    block: int


@kernel()
def _cut(most, cooldown, edges):
    """The number of blocks of the last `most` steps; `edges` become the steps to the end at which
    they begin, and last all. One begins where the cool-down does.
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
def _noise(row, beta):
    s2 = (1.0 - beta) / row.d
    return Noise(1.0 / (beta / row.K + s2), 0.0 if row.K == row.d else 1.0 / s2)


@kernel(error_model="numpy")
def _window(row, s, table, most, x):
    """The last `most` steps of a run, from a typical distance x."""
    edges, costs = empty(BLOCKS + 1), empty((3, BLOCKS))
    blocks, drift = (
        _cut(most, row.cooled, edges),
        sqrt(max(norm(table, 1.0, s.c2).in_C * s.c2, LEAST_SEEN)) * x,
    )
    return Window(
        table,
        edges,
        blocks,
        row.cooled,
        _noise(row, row.last_beta),
        _noise(row, row.beta),
        x,
        drift,
        costs,
    )


@kernel(error_model="numpy")
def follow(s, window, omega):
    """Fill the window's costs, with that share of the span's noise for the record and the rest for
    the shifts.
    """
    v = w = E = rate = 0.0
    e, f, drift = s.e, s.tilt, window.drift
    for b in range(window.blocks):
        noise, L = (
            window.late if window.edges[b] < window.cooled else window.early,
            window.edges[b + 1] - window.edges[b],
        )
        before, alpha, pi, along, across = v, 1.0, 1.0, noise.along / (1.0 - omega), noise.across
        if b > 0:
            between = v if L == 1.0 else v / max(0.3, 1.0 + 0.25 * rate * L)
            gain, price = between * (f * (drift + e)) ** 2, (f * drift + e) ** 2 * along
            alpha, pi = between / (between + across), gain / (gain + price)
        block = Block(
            alpha * alpha * across if alpha > 0.0 else 0.0,
            (1.0 - alpha) ** 2,
            pi * pi * along,
            (1.0 - pi) ** 2,
            1.0 + e / (f * drift),
            1.0 + e / drift,
            window.x,
            e * (e + drift),
            0.0,
            e * (e + f * drift),
        )
        after = advance(s, window.table, block, v, L)
        v, w, E = after.F, w + after.G, E + L * block.C0 * block.certain
        rate = max(0.0, log(before / v) / L) if b > 0 and v > 0.0 else 0.0
        window.costs[0, b], window.costs[1, b], window.costs[2, b] = v, w * SUMS_UP, E * SUMS_UP


@kernel(error_model="numpy")
def _excess(order, q, square):
    """Nearly E exp((order - 1) L) - 1 of a sampled step that the record moves by the root of
    `square`, for comparisons.
    """
    pairs = 0.5 * order * (order - 1.0)
    second = pairs * q * q * expm1(min(square, 300.0))
    if q >= 1.0:
        return expm1(min(pairs * square, 600.0))
    if order != float(order // 1.0):
        return second
    term, k, last = (
        pairs * q * q * exp((order - 2.0) * log1p(-q)),
        2.0,
        order * log(q) + pairs * square,
    )
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
    if of.hidden:
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
def _estimate(of, m, window, b, spent):
    """Nearly epsilon of the sampled steps and shifts up to the end of block b, by the best of a few
    orders.
    """
    best, N, costs = inf, window.edges[b + 1], window.costs
    v, fixed = spent.f2 * costs[0, b], spent.f2 * costs[1, b] + costs[2, b]
    if not v * of.h[0] + fixed < MOST_COST:
        return inf
    ratios, reach = empty(NODES), DEVIATIONS + sqrt(v * of.h[0] + fixed)
    if of.hidden:
        for i in range(NODES):
            ratios[i] = _log_ratio(
                of.h, of.share, v, fixed, i * (reach + DEVIATIONS) / (NODES - 1.0) - DEVIATIONS
            )
    for k in range(RENYI.size):
        order = RENYI[k]
        excess = of.excess[m, k] if of.hidden else 2.0 * of.excess[m, k]
        sampled = N * log1p(excess) + _log_moment(of, order, v, fixed, ratios, reach)
        best = min(
            best, (sampled - log(spent.left) - log(order)) / (order - 1.0) + log1p(-1.0 / order)
        )
    return max(best, 0.0)


@kernel(error_model="numpy")
def _best_block(of, m, window, spent, near, stride):
    """The least estimate of every `stride`-th block, and of those around it; near a block if one is
    known.
    """
    best, at, count = inf, 0, window.blocks
    for b in range(
        0 if near < 0 else max(near - STRIDE, 0),
        count if near < 0 else min(near + STRIDE + 1, count),
        stride,
    ):
        found = _estimate(of, m, window, b, spent)
        if found < best:
            best, at = found, b
    for b in range(max(at - stride + 1, 0), min(at + stride, count)):
        found = _estimate(of, m, window, b, spent)
        if found < best:
            best, at = found, b
    return Best(best, at)


@kernel(error_model="numpy")
def _spent(s, of, k):
    """The k-th part of delta; nothing where nothing is random."""
    if s.tilt == 1.0:
        return Spent(0.0, 1.0, of.delta)
    return Spent(LOST[k], exp(-log(LOST[k] * of.delta) / s.order), of.delta * (1.0 - LOST[k]))


@kernel(error_model="numpy")
def _climb(s, window, of, choice):
    """The least estimate of one order of the norm, and its `choice`: by turns the steps, omega and
    the chance lost.
    """
    m, k = FIRST_OMEGA, FIRST_LOST
    follow(s, window, OMEGAS[m])
    best = _best_block(of, m, window, _spent(s, of, k), -1, STRIDE)
    for way in (1, -1):
        while 0 <= m + way < OMEGAS.size:
            follow(s, window, OMEGAS[m + way])
            found = _best_block(of, m + way, window, _spent(s, of, k), best.block, 2)
            if found.value >= best.value:
                break
            best, m = found, m + way
    if s.tilt != 1.0:
        follow(s, window, OMEGAS[m])
        for way in (1, -1):
            while 0 <= k + way < LOST.size:
                found = _best_block(of, m, window, _spent(s, of, k + way), best.block, 2)
                if found.value >= best.value:
                    break
                best, k = found, k + way
    choice.order, choice.N, choice.omega, choice.lost = (
        s.order,
        window.edges[best.block + 1],
        OMEGAS[m],
        _spent(s, of, k).lost,
    )
    return best.value


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
    return Labels(to, chance)


@kernel(error_model="numpy")
def _labels(s, table, met, known, labels):
    """Make `labels` the law of a run's squared distance, which depends on what is `met`, unless it
    is `known` but for a factor. Of runs that differ in their kick alone it is. Returns by which
    factor its h, at most `met.most`, are the run's.
    """
    ratio = met.kick / known.kick if known.kick > 0.0 else 0.0
    same = (
        met.place == known.place
        and met.q == known.q
        and abs(met.e - ratio * known.e) <= 1e-12 * met.e
    )
    ball = (
        met.most == known.most
        if met.most == inf
        else abs(met.most - ratio**2 * known.most) <= 1e-12 * met.most
    )
    if not (same and ball):
        history(s, table, met.q, met.most, labels.h, labels.share)
        known.place, known.kick, known.e, known.q, known.most = (
            met.place,
            met.kick,
            met.e,
            met.q,
            met.most,
        )
        ratio = 1.0
    return ratio**2 * SUMS_UP


@kernel(error_model="numpy")
def _meet(met, row, s, place):
    """Fill what a history depends on."""
    met.place, met.kick, met.e, met.q, met.most = (
        place,
        s.kick,
        s.e,
        row.q,
        row.diameter * row.diameter,
    )


@kernel(error_model="numpy")
def choose(rows, norms, square, hidden, found):
    """The choices that promise the least, run by run.

    Args:
        rows: of `rows.ROW`, at all orders in `norms`.
        square: of what the record moves a step over the noise in its span, shape (runs,).
        hidden: whether nobody learns which record was met: it is added or removed, not replaced.
        found: `CHOICE`, shape (runs,), becomes them.
    """
    orders, excess, labels = (
        norms.place.shape[1],
        empty((OMEGAS.size, RENYI.size)),
        empty((2, norms.place.shape[1], LABELS)),
    )
    steps, choices, known = empty(1, STEP), empty(1, CHOICE), zeros(orders + 1, KNOWN)
    for k in range(orders):
        known[k].place = -1.0
    for i in range(rows.size):
        # compiled, a record does not keep its array
        s, choice, met = steps[0], choices[0], known[orders]
        row, best, middle, way = rows[i], inf, orders // 2, 1
        found[i].order, found[i].N, found[i].omega, found[i].lost = (
            norms.orders[i, middle],
            1.0,
            0.9,
            0.03,
        )
        for m in range(OMEGAS.size):
            for j in range(RENYI.size):
                excess[m, j] = _excess(RENYI[j], row.q, square[i] / OMEGAS[m])
        k = middle
        while 0 <= k < orders:
            fill_step(s, row, norms, i, k)
            table, law, value = (
                norms.tables[norms.place[i, k]],
                Labels(labels[0, k], labels[1, k]),
                inf,
            )
            _meet(met, row, s, norms.place[i, k])
            h = minimum(law.h * _labels(s, table, met, known[k], law), met.most)
            if h[0] < inf:
                fall = max(1.0 - sqrt(min(norm(table, 1.0, s.c2).J, 1.0)), LEAST_FALL)
                window = _window(
                    row,
                    s,
                    table,
                    max(min(REACH / fall // 1.0, row.most), 1.0),
                    sqrt(h[LABELS // 2]),
                )
                few = _gathered(h, law.share, row.delta)
                of = Prospect(few.h, few.share, excess, hidden, row.delta)
                value = _climb(s, window, of, choice)
            if value < best:
                best, found[i] = value, choice
            elif k == middle + 1 and way == 1:
                way, k = -1, middle
            elif k != middle:
                break
            k += way


@kernel(error_model="numpy")
def evaluate(rows, norms, choices, rho, share):
    """Fill the budgets of the shifts and their chances, shape (runs, LABELS), under the choices
    (`CHOICE`), run by run, each at its own order in `norms`, with the chance itself that the shifts
    stop early in the place of `lost`.
    """
    steps, histories, labels = empty(1, STEP), zeros(2, KNOWN), Labels(empty(LABELS), empty(LABELS))
    histories[0].place = -1.0
    for i in range(rows.size):
        s, known, met, row, choice = steps[0], histories[0], histories[1], rows[i], choices[i]
        fill_step(s, row, norms, i, 0)
        _meet(met, row, s, norms.place[i, 0])
        table = norms.tables[norms.place[i, 0]]
        grown = _labels(s, table, met, known, labels)
        window = _window(row, s, table, choice.N, sqrt(labels.h[LABELS // 2] * grown))
        follow(s, window, choice.omega)
        f2 = exp(-log(choice.lost) / s.order) * SUMS_UP if choice.lost > 0.0 else 1.0
        last = window.blocks - 1
        v, w, E = window.costs[0, last], window.costs[1, last], window.costs[2, last]
        for j in range(LABELS):
            rho[i, j] = 0.5 * (f2 * (v * min(labels.h[j] * grown, met.most) + w) + E) * SUMS_UP
            share[i, j] = labels.share[j]
