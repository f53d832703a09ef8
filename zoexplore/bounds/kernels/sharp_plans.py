"""Make plans of the sharper bound, and bound their random cost (docs/sharp.md, "The recursion")."""

from math import inf, log, sqrt
from typing import NamedTuple

from numpy import empty, ndarray

from zoexplore.bounds.kernels.blocks import affine, cut_into
from zoexplore.bounds.kernels.compiling import kernel
from zoexplore.bounds.kernels.norms import norm
from zoexplore.bounds.kernels.rounding import SUMS_UP
from zoexplore.bounds.kernels.steps import (
    LEAST_SEEN,
    STEP,
    Jump,
    Value,
    advance,
    block_of,
    chords,
    fill_step,
    forget,
    other_end,
    set_noise,
)

LEAST_REACH = 1e-3  # the least typical distance, as a fraction of what a step adds
# the least worth, as a fraction of a squared distance's final cost: it prevents underflow
LEAST_WORTH = 1e-40
SETTLED = 3e-5  # the relative change of the planned cost at which rounds end
HIGH = 30.0  # a late plan from distance 0 begins with this many times what one step adds
ALPHA, PI, ACROSS, ALONG = 0, 1, 2, 3  # rows of a plan's fractions


class Run(NamedTuple):
    """A run at one order of the norm, cut into blocks of steps or of periods. The parts of a period
    are a step that meets the record and stretches of the steps before it, which do not.
    """

    steps: ndarray  # `STEP`: one with the record, one without, and both in a cool-down
    table: ndarray  # J on the rays
    edges: ndarray  # the steps, or periods, to the end at which blocks begin
    blocks: int
    # the steps of a period's parts, the last first; if all steps meet the record, the block's
    parts: ndarray
    cooled: float
    start: float  # the distance at the start; 0 if all blocks count
    times: float  # the number of such stretches between releases


class Plan(NamedTuple):
    """Typical distances, shape (parts,), and fractions, shape (4, parts): alpha, pi, and how much
    of a squared distance a step counts across the span and in it.
    """

    x: ndarray
    fractions: ndarray


class Worth(NamedTuple):
    """The cost of the steps to come: v per squared distance, w constant, Y certain; and the rate at
    which v falls.
    """

    v: float
    w: float
    Y: float
    rate: float


class Cost(NamedTuple):
    """The cost of a plan: its random part, its certain part, and how many blocks count."""

    X: float
    Y: float
    blocks: int


@kernel()
def cut_apart(quiet, parts):
    """Cut a period into `parts`, counted from its end: the step that meets the record, then growing
    stretches of the `quiet` steps before that one.
    """
    parts[0], at = 1.0, 0.0
    growth = max(0.4, quiet ** (1.0 / 6.0) - 1.0)
    for j in range(1, parts.size):
        rest = quiet - at
        parts[j] = rest if j == parts.size - 1 else min(rest, max(1.0, float(growth * at // 1.0)))
        at += parts[j]


@kernel(error_model="numpy")
def run_of(rows, norms, i, size, most):
    """Return row i at its first order, with `size` parts to a period and room for `most` blocks."""
    row, parts, edges = rows[i], empty(size), empty(most + 1)
    cut_apart(row.apart, parts)
    far = row.far > 0.0
    blocks = cut_into(row.most, far, row.cooled, edges)
    run = Run(
        empty(4, STEP),
        norms.tables[0],
        edges,
        blocks,
        parts,
        row.cooled,
        row.diameter if far else 0.0,
        row.times,
    )
    return at_order(run, rows, norms, i, 0, blocks)


@kernel(error_model="numpy")
def at_order(run, rows, norms, i, k, blocks):
    """Return the run of row i at its k-th order, of which `blocks` blocks count."""
    row = rows[i]
    for j in range(4 if row.cooled > 0.0 else 2 if row.apart > 0.0 else 1):
        fill_step(run.steps[j], row, norms, i, k)
        if j > 1:
            set_noise(run.steps[j], row, row.last_beta)
        if j % 2 == 1 or (j == 2 and row.forgets > 0.0):
            forget(run.steps[j])
    table = norms.tables[norms.place[i, k]]
    return Run(run.steps, table, run.edges, blocks, run.parts, run.cooled, run.start, run.times)


@kernel()
def _kind(run, b):
    """Return the index in `run.steps` of block b's step: 0 or, in a cool-down, 2. The next index has
    the same step without the record's part.
    """
    return 2 if run.edges[b] < run.cooled else 0


@kernel(error_model="numpy")
def _fractions(s, v, x, g):
    """Return the best fractions (alpha, pi) of a step after which a squared distance is worth v."""
    drift, f = sqrt(g) * x, s.tilt
    if s.cube > 0.0:
        met = f * f * (drift * drift + 2.0 * s.cross * x)
        b2 = (s.b + s.e) ** 2
        gain, price = v * (met + f * f * b2), (met + b2) * s.per_S
    else:
        gain, price = (
            v * (f * (drift + s.kick)) ** 2,
            (f * drift + f * s.random + s.sure) ** 2 * s.per_S,
        )
    return v / (v + s.per_s2), gain / (gain + price)


@kernel(error_model="numpy")
def _choose(s, worth, plan, m, L):
    """Choose the best fractions of part m, which has L steps. In these the worth of a distance
    falls at about `worth.rate`.
    """
    v, of = worth.v, plan.fractions
    between = v if L <= 1.0 else v / max(0.3, 1.0 + 0.25 * worth.rate * L)
    of[ALPHA, m], of[PI, m] = (
        (1.0, 1.0) if m == 0 else _fractions(s, between, plan.x[m], max(of[ALONG, m], LEAST_SEEN))
    )


@kernel(error_model="numpy", forceinline=True)
def _period(run, b, plan, worth, choosing):
    """Return the worth before a period of block b. The period's last step, the first one met going
    backward, meets the record; the others do not. If `choosing`, set the best fractions.
    """
    v, w, Y, rate = worth.v, 0.0, 0.0, worth.rate
    size, kind, of = run.parts.size, _kind(run, b), plan.fractions
    for j in range(size):
        m, L, before, s = b * size + j, run.parts[j], v, run.steps[kind if j == 0 else kind + 1]
        if choosing:
            _choose(s, Worth(v, w, Y, rate), plan, m, L)
        block = block_of(s, of[ALPHA, m], of[PI, m], plan.x[m], of[ALONG, m])
        after = advance(s, run.table, block, v, L)
        v = max(after.F, LEAST_WORTH * run.steps[kind].per_S)
        w, Y = w + after.G, Y + L * block.C0 * block.certain
        if choosing and L > 0.0:
            of[ACROSS, m], of[ALONG, m] = after.in_A, after.in_C * s.c2
            if m > 0 and (j > 0 or size == 1):
                rate = max(0.0, log(before / v) / L)
    return Worth(v, w, Y, rate)


@kernel(error_model="numpy")
def _before(run, b, plan, worth, choosing):
    """Return the worth before the steps, or periods, of block b, without a first step from distance
    0. The worth is infinite if F is.
    """
    v, w, Y, rate, n = worth.v, worth.w, worth.Y, worth.rate, run.edges[b + 1] - run.edges[b]
    if b == run.blocks - 1 and run.start == 0.0:
        n -= 1.0
    if run.parts.size == 1:
        run.parts[0], n = n, min(n, 1.0)
    while n > 0.0:
        one = _period(run, b, plan, Worth(v, w, Y, rate), choosing)
        rate = one.rate
        if not one.v + one.w < inf:
            return Worth(inf, inf, inf, rate)
        if n == 1.0:
            return Worth(one.v, w + one.w, Y + one.Y, rate)
        choosing = False
        here, other, jump = (
            Value(v, one.v, one.w, 0.0, 0.0),
            other_end(v, one.v, n),
            Jump(v, 0.0, 0.0),
        )
        while jump.steps == 0.0:
            two = _period(run, b, plan, Worth(other, w, Y, rate), choosing)
            rate = two.rate
            jump = chords(here, Value(other, two.v, two.w, 0.0, 0.0), n)
            other = 0.5 * other if other > 1e-3 * v else 0.0
        v, w, Y, n = jump.v, w + jump.paid, Y + jump.steps * one.Y, n - jump.steps
    return Worth(v, w, Y, rate)


@kernel(error_model="numpy")
def backward(run, plan, choosing):
    """Follow the recursion from the end of the run to its start. If `choosing`, alpha and pi become
    the best ones, and the other fractions are set to match. From the diameter any number of blocks
    is sound, and the best is chosen; from 0 all blocks count.
    """
    worth, best, least = Worth(0.0, 0.0, 0.0, 0.0), inf, Cost(inf, 0.0, run.blocks)
    f = run.steps[0].tilt
    for b in range(run.blocks):
        last, m = b == run.blocks - 1, b * run.parts.size
        if choosing and last and run.start == 0.0:
            _choose(run.steps[_kind(run, b)], Worth(worth.v, 0.0, 0.0, 0.0), plan, m, 1.0)
        worth = _before(run, b, plan, worth, choosing)
        if not worth.v < inf:
            return Cost(inf, inf, run.blocks)
        if last and run.start == 0.0:
            least = _from_zero(run, plan, worth)
        elif run.start > 0.0 and (choosing or last):
            X = worth.v * run.start * run.start + worth.w
            if f * f * X + worth.Y < best:
                best, least = f * f * X + worth.Y, Cost(X, worth.Y, b + 1)
            if f * f * worth.w + worth.Y >= best:
                break
    return Cost(run.times * least.X * SUMS_UP, run.times * least.Y * SUMS_UP, least.blocks)


@kernel(error_model="numpy")
def _from_zero(run, plan, worth):
    """Return the cost of all steps, of which the first starts from distance 0."""
    b = run.blocks - 1
    s, m, of = run.steps[_kind(run, b)], b * run.parts.size, plan.fractions
    block = block_of(s, of[ALPHA, m], of[PI, m], plan.x[m], of[ALONG, m])
    f, price = run.steps[0].tilt, run.steps[0].tilt * s.first_random + s.first_sure
    w = worth.w + (block.C1 * worth.v * s.first * s.first + block.C0 * s.first_random * price / f)
    return Cost(w, worth.Y + block.C0 * s.first_sure * price, run.blocks)


@kernel(error_model="numpy")
def _grow(s, keep, left, g, h, L):
    """Return approximately (h after L steps, the mean of h before each of the steps)."""
    if s.cube > 0.0:
        cross, b2 = s.cross, (s.b + s.e) ** 2
    else:
        cross, b2 = s.kick * sqrt(g), s.kick * s.kick
    if L == 1.0:
        return keep * h + left * (g * h + 2.0 * cross * sqrt(h) + b2), h
    end, mean = h, h
    for _ in range(2):
        x = sqrt(max(0.5 * (mean + max(end, h)), LEAST_REACH * LEAST_REACH * b2))
        end, total = affine(keep + left * (g + cross / x), left * (cross * x + b2), h, L)
        mean = total / L
    return end, mean


@kernel(error_model="numpy")
def _follow(run, b, plan, at, floor):
    """Return the squared distance after a period of block b, if it is `at` before. Set the typical
    distances of the period's parts in `plan.x`.
    """
    size, kind, of = run.parts.size, _kind(run, b), plan.fractions
    for j in range(size - 1, -1, -1):
        m, s = b * size + j, run.steps[kind if j == 0 else kind + 1]
        if run.parts[j] > 0.0:
            keep, left = (1.0 - of[ALPHA, m]) ** 2 * of[ACROSS, m], (1.0 - of[PI, m]) ** 2
            at, mean = _grow(s, keep, left, of[ALONG, m], at, run.parts[j])
            plan.x[m] = max(sqrt(mean), floor)
    return at


@kernel(error_model="numpy")
def forward(run, plan, counted, floor):
    """Go from the start of the `counted` blocks to the end, and set `plan.x` to the distances that
    the fractions lead to, at least `floor`. They are no bounds.
    """
    size, at = run.parts.size, run.start * run.start
    for b in range(counted - 1, -1, -1):
        m, n = b * size, run.edges[b + 1] - run.edges[b]
        if b == counted - 1 and run.start == 0.0:
            first = run.steps[_kind(run, b)].first
            at, n = (1.0 - plan.fractions[PI, m]) ** 2 * first * first, n - 1.0
            for j in range(size):
                plan.x[m + j] = max(sqrt(at), floor) if size > 1 else floor
        if size == 1:
            run.parts[0], n = n, min(n, 1.0)
        if n > 1.0:  # the other periods continue as the first two do
            once = _follow(run, b, plan, at, floor)
            again = _follow(run, b, plan, once, floor)
            slope = min(max((again - once) / (once - at), 0.0), 1.0) if once != at else 0.0
            end, total = affine(slope, once - slope * at, at, n)
            _follow(run, b, plan, total / n, floor)
            at = end
        elif n == 1.0:
            at = _follow(run, b, plan, at, floor)


@kernel(error_model="numpy")
def _begin(row, run, plan):
    """Set the plan from which a search starts: every step hides all, and every distance is as long
    as at the start.
    """
    s = run.steps[0]
    added = row.B + row.remainder if row.cube > 0.0 else s.kick  # what a step adds to the distance
    start = run.start if run.start > 0.0 else (HIGH if row.late > 0.0 else 1.0) * added
    part = norm(run.table, 1.0, s.c2)[2]
    plan.x[:], plan.fractions[:ALONG], plan.fractions[ALONG] = start, 1.0, part * s.c2


@kernel(error_model="numpy")
def plan_rows(rows, norms, size, rounds, x, fractions):
    """Plan every row, in rounds until the cost settles: backward for the fractions and the cost,
    forward for the typical distances.

    Args:
        rows: an array of `rows.ROW`, each planned for its one order in `norms`.
        size: the number of parts of a period.
        rounds: the largest number of rounds.
        x, fractions: the `Plan` of every row, shapes (rows, parts) and (rows, 4, parts): become the
            best round's.

    Returns:
        The random cost, the certain cost, the number of blocks that count and that of their steps,
        row by row, shape (rows, 4).
    """
    found = empty((rows.size, 4))
    trial = Plan(empty(x.shape[1]), empty((4, x.shape[1])))
    for i in range(rows.size):
        run = run_of(rows, norms, i, size, x.shape[1] // size)
        s, count = run.steps[0], run.blocks
        _begin(rows[i], run, trial)
        best, last = inf, inf
        found[i, 0], found[i, 1], found[i, 2], found[i, 3] = inf, inf, count, run.edges[count]
        for _ in range(rounds):
            now = backward(run, trial, True)
            cost = s.tilt * s.tilt * now.X + now.Y
            if cost < best:
                best = cost
                found[i, 0], found[i, 1], found[i, 2], found[i, 3] = (
                    now.X,
                    now.Y,
                    now.blocks,
                    run.edges[now.blocks],
                )
                x[i], fractions[i] = trial.x, trial.fractions
            if not cost < inf or abs(cost - last) <= SETTLED * cost:
                break
            last = cost
            forward(run, trial, now.blocks, LEAST_REACH * (s.b if s.cube > 0.0 else s.kick))
            # a step of any earlier block would be the first
            for m in range(now.blocks * size, count * size):
                trial.x[m] = max(trial.x[(now.blocks - 1) * size], run.start)
    return found


@kernel(error_model="numpy")
def tails_of(rows, norms, size, x, fractions, counted):
    """Return the random and the certain cost of given plans at each of the orders in `norms`, shape
    (rows, orders, 2).

    Args:
        rows, size: as for `plan_rows`.
        x, fractions, counted: what `plan_rows` found.
    """
    found = empty((*norms.place.shape, 2))
    for i in range(rows.size):
        run = run_of(rows, norms, i, size, x.shape[1] // size)
        for k in range(norms.place.shape[1]):
            cost = backward(
                at_order(run, rows, norms, i, k, int(counted[i])), Plan(x[i], fractions[i]), False
            )
            found[i, k, 0], found[i, k, 1] = cost.X, cost.Y
    return found
