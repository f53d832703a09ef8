"""Bound the cost of the last, counted steps of a run on secret batches (docs/batches.md, "The
sharper bound on fresh batches").

These steps hide the distance that the history left. They use a share of the noise in the span and
all noise across it, and cost r = f^2 (v h + w) + E from a squared distance h. Estimates by a few
orders of Renyi divergence make the choices; any choice is sound.
"""

from math import inf, log1p, pi
from typing import NamedTuple

from numpy import (
    arange,
    array,
    dtype,
    empty,
    exp,
    linspace,
    log,
    ndarray,
    record,
    rint,
    sqrt,
    zeros,
)

from zoexplore.bounds.kernels.compiling import kernel
from zoexplore.bounds.kernels.laws import log_mixture
from zoexplore.bounds.kernels.norms import norm
from zoexplore.bounds.kernels.rounding import SUMS_UP
from zoexplore.bounds.kernels.steps import LEAST_SEEN, STEP, Block, advance, fill_step

# SINGLES: the last steps, which are blocks of their own. GROWTH: the length of a block, as a share
# of its distance to the end. BLOCKS: the most blocks.
SINGLES, GROWTH, BLOCKS = 24.0, 0.08, 400
REACH = 5.0  # the most steps tried, in units of those in which a distance falls e-fold
RENYI = rint(1.4 ** arange(2, 21))  # orders of Renyi divergence
# shares of the span's noise for the record
OMEGAS = array([0.3, 0.5, 0.7, 0.82, 0.9, 0.94, 0.97, 0.985, 0.995])
LOST = array([0.002, 0.008, 0.025, 0.08, 0.2])  # chances that the shifts stop early, over delta
FIRST_OMEGA, FIRST_LOST = 4, 2  # the places in OMEGAS and LOST to begin with
STRIDE = 8  # the distance between the blocks that are tried first
LEAST_FALL, MOST_COST = 1e-9, 1e6
NODES, DEVIATIONS = 40, 8.0  # nodes and reach of a normal number's integral, for estimates
UNNOTICED = 1e-3  # estimates leave out labels with a chance below this fraction of delta
CHOICE = dtype(
    (
        record,
        [
            (name, float)
            for name in (
                "order",  # the order of the norm
                "N",  # the number of counted steps
                "omega",  # the record's share of the span's noise
                "lost",  # delta_f over delta
            )
        ],
    )
)


class Noise(NamedTuple):
    """One over the variance of a step's noise along the span, and across it."""

    along: float
    across: float


class Window(NamedTuple):
    """The last steps of a run in blocks, the noise in the cool-down and before it, and how the
    squares of sums are split.
    """

    table: ndarray  # J on the rays
    edges: ndarray  # the steps to the end at which blocks begin
    blocks: int
    cooled: float
    late: Noise
    early: Noise
    x: float  # a typical distance
    drift: float  # the drift at that distance
    # v, w and E for a squared distance at the ends of the blocks, shape (3, blocks)
    costs: ndarray


class Prospect(NamedTuple):
    """What an estimate knows of a run: the labels of its distance, whether they are hidden, the
    sampled step's excess at every share and order, and the target delta.
    """

    h: ndarray
    share: ndarray
    hidden: bool
    excess: ndarray
    delta: float


class Spent(NamedTuple):
    """A chance that the shifts stop early: its fraction of delta, the factor f^2 on the shifts'
    cost, and the delta that is left.
    """

    lost: float
    f2: float
    left: float


class Best(NamedTuple):
    """The least estimate, and the block at whose end the counted steps begin."""

    value: float
    block: int


@kernel()
def _cut(most, cooldown, edges):
    """Cut the last `most` steps into blocks, and return their number. Fill `edges` with the steps
    to the end at which blocks begin, from 0 on. One block begins where the cool-down does.
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
    """Return the window of the last `most` steps of a run, for a typical distance x."""
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
    """Fill the window's costs. The share `omega` of the span's noise hides the record, and the rest
    hides the distance.
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
def excesses(q, square):
    """Estimate E exp((order - 1) L) - 1 of a sampled step that the record moves by the root of
    `square`: at every share of the noise and every order, shape (OMEGAS, RENYI), for comparisons.
    """
    found = zeros((OMEGAS.size, RENYI.size))
    for m in range(OMEGAS.size):
        for j in range(RENYI.size):
            order, kept = RENYI[j], max(1.0 - q, 1e-300)
            log_term = order * log(kept)
            for k in range(1, int(order) + 1):
                log_term += log((order - k + 1.0) / k * q / kept)
                log_moment = 0.5 * k * (k - 1.0) * square / OMEGAS[m]
                found[m, j] += exp(log_term + log_moment) - exp(log_term)
    return found


@kernel(error_model="numpy")
def _estimate(of, m, window, b, spent):
    """Estimate epsilon of the sampled steps and the shifts up to the end of block b, by the best of
    a few orders.
    """
    best, costs = inf, window.costs
    v, fixed = spent.f2 * costs[0, b], spent.f2 * costs[1, b] + costs[2, b]
    if not v * of.h[0] + fixed < MOST_COST:
        return inf
    roots, ratios = sqrt(v * of.h + fixed), zeros(NODES)
    x = linspace(-DEVIATIONS, DEVIATIONS + roots[0], NODES)
    if of.hidden:
        for i in range(NODES):
            ratios[i] = log_mixture(x[i], roots, of.share)
    for k in range(RENYI.size):
        order = RENYI[k]
        if of.hidden:
            logs = order * ratios - 0.5 * x * x + log((x[1] - x[0]) / sqrt(2.0 * pi))
        else:
            logs = 0.5 * order * (order - 1.0) * roots * roots + log(of.share)
        drawn = logs.max() + log(exp(logs - logs.max()).sum())
        moment = window.edges[b + 1] * log1p(of.excess[m, k]) + drawn
        at_order = (moment - log(spent.left * order)) / (order - 1.0) + log1p(-1.0 / order)
        if at_order > best:
            break
        best = at_order
    return max(best, 0.0)


@kernel(error_model="numpy")
def _best_block(of, m, window, spent, at):
    """Find the least estimate of the blocks around block `at`, by strides that halve."""
    best, stride = _estimate(of, m, window, at, spent), STRIDE // 2
    while stride > 0:
        middle = at
        for b in (middle - stride, middle + stride):
            if 0 <= b < window.blocks:
                found = _estimate(of, m, window, b, spent)
                if found < best:
                    best, at = found, b
        if at == middle:
            stride //= 2
    return Best(best, at)


@kernel(error_model="numpy")
def _spent(s, of, k):
    """Return what spending the k-th fraction of delta in LOST gives. If nothing is random, nothing
    is spent.
    """
    if s.tilt == 1.0:
        return Spent(0.0, 1.0, of.delta)
    return Spent(LOST[k], exp(-log(LOST[k] * of.delta) / s.order), of.delta * (1.0 - LOST[k]))


@kernel(error_model="numpy")
def choose(rows, norms, k, x, of):
    """Choose N, omega and lost for the first row at its k-th order, by turns. Return (the least
    estimate, N, omega, lost).

    Args:
        rows: an array of `rows.ROW`, at all orders in `norms`.
        x: a typical distance.
        of: what is known of the run.
    """
    steps, row = empty(1, STEP), rows[0]
    s, table = steps[0], norms.tables[norms.place[0, k]]
    fill_step(s, row, norms, 0, k)
    fall = max(1.0 - sqrt(min(norm(table, 1.0, s.c2).J, 1.0)), LEAST_FALL)
    window = _window(row, s, table, max(min(REACH / fall // 1.0, row.most), 1.0), x)
    best, m, j = Best(inf, 0), FIRST_OMEGA, FIRST_LOST
    follow(s, window, OMEGAS[m])
    for b in range(0, window.blocks, STRIDE):
        found = Best(_estimate(of, m, window, b, _spent(s, of, j)), b)
        if found.value < best.value:
            best = found
    for more, later in ((0, 0), (1, 0), (-1, 0), (0, 1), (0, -1)):
        while 0 <= m + more < OMEGAS.size and 0 <= j + later < LOST.size:
            follow(s, window, OMEGAS[m + more])
            found = _best_block(of, m + more, window, _spent(s, of, j + later), best.block)
            if not found.value < best.value:
                break
            best, m, j = found, m + more, j + later
    return best.value, window.edges[best.block + 1], OMEGAS[m], _spent(s, of, j).lost


@kernel(error_model="numpy")
def evaluate(rows, norms, choices, x):
    """Return what the counted steps of every row cost under its `choices` (`CHOICE`), at its own
    order in `norms`, shape (rows, 3): the cost v per squared distance before them, the constant
    cost w, and the certain cost E. `x` has the typical distances, shape (rows,).
    """
    steps, found = empty(1, STEP), empty((rows.size, 3))
    for i in range(rows.size):
        s, row, choice = steps[0], rows[i], choices[i]
        fill_step(s, row, norms, i, 0)
        window = _window(row, s, norms.tables[norms.place[i, 0]], choice.N, x[i])
        follow(s, window, choice.omega)
        for k in range(3):
            found[i, k] = window.costs[k, window.blocks - 1]
    return found
