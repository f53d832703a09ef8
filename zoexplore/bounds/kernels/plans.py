"""Plans of the sharper bound, and how large their random cost is (docs/sharp.md, "Two recursions").

Both recursions go from the end of a run to its start: what the square of a distance is worth, v <- F(v), and what is paid
beside it, w <- w + G(v). F and G are convex and increasing, so that over a block of steps chords bound both.
"""

from math import exp, inf, lgamma, log, sqrt
from typing import NamedTuple

from numpy import dtype, empty, ndarray

from zoexplore.bounds.kernels.blocks import affine, cut_into
from zoexplore.bounds.kernels.compiling import kernel
from zoexplore.bounds.kernels.moments import absolute, excess
from zoexplore.bounds.kernels.norms import norm
from zoexplore.bounds.kernels.rounding import SUMS_UP, UP

LEAST_REACH = 1e-3  # shorter typical distances, as a part of what a step adds, count as this
LEAST_SEEN = 1e-12  # least part of a squared distance that the span sees
LEAST_WORTH = 1e-40  # of the final cost of a squared distance: less is rounded up, so that nothing underflows
STEEPER = 1e-13  # relative rise of a chord's slope, for its rounding
SETTLED = 3e-5  # relative change of the planned cost that ends the rounds
HALF_SPREAD = 0.3633802276324187  # of |g| about its mean, squared: 1 - 2/pi
TOPS = 25.0, 50.0, 100.0, 200.0, 400.0, 800.0  # numbers of moments from which an exponential one is computed
FEWEST, ENOUGH, MOST = 20.0, 2.9, 0.9  # moments needed: so many, and this per unit of the exponent; its most per moment


# A step's numbers at an order of the norm, or at an exponent (`plans.steps`). Lengths are in units of its noise.
STEP = dtype([(name, float) for name in (
    "K", "d", "per_S", "per_s2", "most", "z0", "times",
    "cube",  # 1 where of the record's part every entry is known, else 0: its length alone
    "b",  # the record's part entry by entry, and the remainder,
    "e",  # of which only the length is known
    "order",
    "tilt",  # the tail's factor f: by how much what is random counts for more than what is certain
    "c2",  # of the drift
    "cross",  # by which a drift meets the record's part: half of what 2 sqrt(h) of it adds to a squared distance
    "kick",  # the record's part and the remainder in the norm, where their length is known
    "random",  # what they cost: in the norm,
    "sure",  # and for certain
    "first",  # the same three of a step from distance 0
    "first_random",
    "first_sure",
    "table",
    "theta",  # 0 for a norm
    "entry",  # at an exponent: b c_1/(sqrt(K) E chi_d),
    "along",  # b c_1,
    "reach",  # and the most that the square of a drift can be of that of a distance
    "shape",  # which of the tables of ln 1F1
    "cooled",  # so many last steps are those of the cool-down
)])  # fmt: skip


class Block(NamedTuple):
    """A block's fractions: A = A0 + A1 v across the span, C = C0 + C1 v in it, of which the drift counts C0 P + C1 Q v."""

    A0: float
    A1: float
    C0: float
    C1: float
    P: float
    Q: float
    x: float  # a typical distance
    left: float  # what a step adds to C1's part of the distance,
    spent: float  # to C0's of the cost,
    certain: float  # and for certain


@kernel(error_model="numpy")
def _block(s, alpha, pi, x, g):
    """The block's numbers; `g`, how much of a squared distance the span sees, only chooses how squares of sums are split."""
    C0, C1 = pi * pi * s.per_S, (1.0 - pi) ** 2
    A0, A1 = alpha * alpha * s.per_s2, (1.0 - alpha) ** 2
    drift = sqrt(g) * x
    if s.cube > 0.0:
        psi = s.e / sqrt(drift * drift + s.b * s.b)
        b2 = s.b * s.b if s.e == 0.0 else (s.b + s.e) ** 2 + s.e * s.e / psi
        return Block(A0, A1, C0, C1, 1.0 + psi, 1.0 + psi, x, b2, 0.0, b2)
    f, price = s.tilt, s.tilt * s.random + s.sure
    return Block(
        A0, A1, C0, C1, 1.0 + price / (f * drift), 1.0 + s.kick / drift, x, s.kick * (s.kick + drift),
        s.random * (price + f * drift) / f, s.sure * (price + f * drift),
    )  # fmt: skip


class Laws(NamedTuple):
    """Tables for the random parts of steps."""

    tables: ndarray  # J on the rays, shape (tables, rays)
    shapes: ndarray  # ln 1F1, shape (shapes, 2, places)
    constants: ndarray  # c_lambda^2 at the orders of `TOPS`, shape (shapes, tops)


class Law(NamedTuple):
    """A row's own tables."""

    table: ndarray
    shape: ndarray
    constants: ndarray


@kernel()
def law_of(laws, s):
    """The tables that a row looks up."""
    shape = int(s.shape)
    return Law(laws.tables[int(s.table)], laws.shapes[shape], laws.constants[shape])


class Exponent(NamedTuple):
    """Where an exponential moment is taken: within a cap on the squared distance, Hoelder's exponent of the quadratic part."""

    h: float
    p: float


@kernel(error_model="numpy")
def _quadratic(s, law, exponent, A, C):
    """ln E exp(p theta (A |x across|^2 + C |drift|^2)) at |x|^2 = h, from above."""
    scale = exponent.p * s.theta * exponent.h
    A = 0.0 if s.K == s.d else A
    largest, k = scale * (A + C * s.reach), 0
    while k < len(TOPS) - 1 and TOPS[k] < ENOUGH * largest + FEWEST:
        k += 1
    top = TOPS[k]
    if not 0.0 < largest < MOST * top:
        return largest
    rest = exp((top + 1.0) * log(largest) - lgamma(top + 2.0)) / (1.0 - largest / (top + 2.0))
    mean = scale * (C * law.constants[k] - A)
    part = 1.0 if s.K == s.d else s.K / s.d
    luck = 0.0 if s.K == s.d else excess(law.shape, mean)
    return min(scale * A + mean * part + luck + rest, largest)


@kernel(error_model="numpy")
def _along(s, exponent, C):
    """An upper bound on the cross term of record and drift, over the distance."""
    most = 2.0 * C * s.along
    if exponent.p == 1.0:
        return most
    other = exponent.p / (exponent.p - 1.0) * s.theta * sqrt(exponent.h)
    return min(s.K * absolute(other * 2.0 * C * s.entry) / other, most)


@kernel(error_model="numpy")
def _exponent(s, law, h, block, v):
    """Hoelder's exponent, balanced between the quadratic part and the sum of entries."""
    if s.cube == 0.0:
        return Exponent(h, 1.0)
    A, C, part = block.A0 + block.A1 * v, block.C0 + block.C1 * v, s.K / s.d
    spread = abs(C * s.c2 - A) * h * sqrt(2.0 * part * (1.0 - part) / (s.d + 2.0))
    beside = 2.0 * C * s.along * sqrt(h * HALF_SPREAD / s.d)
    p = 1.0 + min(max(beside / spread if spread > 0.0 else inf, 1e-3), max(0.05, 300.0 / (s.theta * h * (A + C * s.reach)) - 1.0))
    return Exponent(h, p if _along(s, Exponent(h, p), C) < 2.0 * C * s.along else 1.0)


@kernel(error_model="numpy")
def _value(s, law, block, exponent, v):
    """(F(v), G(v), and of a norm its slopes in A and in C)."""
    A, C = block.A0 + block.A1 * v, block.C0 + block.C1 * v
    in_drift, own = block.C0 * block.P + block.C1 * block.Q * v, block.C1 * v * block.left + block.C0 * block.spent
    if s.theta > 0.0:
        kept = _quadratic(s, law, exponent, A, in_drift) / (exponent.p * s.theta * exponent.h)
        met = 0.5 * _along(s, exponent, C) if s.cube > 0.0 else 0.0
        return (kept + met / block.x) * UP, met * block.x + own, 0.0, 0.0
    if s.order == 1.0:
        in_A, in_C = 1.0 - s.K / s.d, s.K / s.d
        kept = A * in_A + in_drift * s.c2 * in_C
    else:
        kept, in_A, in_C = norm(law.table, A, in_drift * s.c2)
    met = C * s.cross
    return (kept + met / block.x) * UP, met * block.x + own, in_A, in_C


@kernel(error_model="numpy")
def _other_end(v, F, L, falls):
    """A guess at a value that v does not pass in L steps."""
    if falls:
        return max(0.0, min(v - L * (v - F), 0.99 * v))
    return min(max(v + 2.0 * L * (F - v), 1.01 * v), 4.0 * (v + F))


@kernel(error_model="numpy")
def _chords(v, F, G, other, F_2, G_2, L):
    """(v, what is paid, the steps taken) after at most L steps by the lines through two values of F and of G; none where the
    lines leave the interval between the two.

    Where v falls, it goes on falling. The line of F is above it as long as it stays in the interval; below that F is at most what
    it is at its lower end. Where v rises, likewise.
    """
    falls = F <= v
    low, F_low, G_low = (other, F_2, G_2) if falls else (v, F, G)
    slope = (F - F_2) / (v - other) + STEEPER
    rise = (G - G_2) / (v - other) * (1.0 + STEEPER)
    while True:
        after, total = affine(slope, F_low - low, v - low, L)
        within = low + after >= other or other == 0.0 if falls else low + after <= other
        if within:
            return (low + after) * UP, (L * G_low + rise * total) * (1.0 + 1e-14), L
        if falls or L <= 2.0:
            return F, G, 1.0 if L <= 2.0 and not falls else 0.0
        L = float(0.5 * L // 1.0)


@kernel(error_model="numpy", forceinline=True)
def _advance(s, law, block, exponent, v, n):
    """(v, what is paid, the norm's slopes in A and in C) after n steps with the same fractions."""
    w, in_A, in_C = 0.0, 1.0, 0.0
    while n > 0.0:
        F, G, in_A, in_C = _value(s, law, block, exponent, v)
        if n == 1.0 or not F + G < inf:
            return F, w + G, in_A, in_C
        other, tried = _other_end(v, F, n, F <= v), 0.0
        while tried == 0.0:
            F_2, G_2, _, _ = _value(s, law, block, exponent, other)
            after, paid, tried = _chords(v, F, G, other, F_2, G_2, n)
            other = 0.5 * other if other > 1e-3 * v else 0.0
        v, w, n = after, w + paid, n - tried
    return v, w, in_A, in_C


@kernel(error_model="numpy")
def _fractions(s, v, x, g):
    """The best fractions (alpha, pi) of a step after which the square of the distance is worth v."""
    drift, f = sqrt(g) * x, s.tilt
    if s.cube > 0.0:
        met = f * f * (drift * drift + 2.0 * s.cross * x)
        b2 = (s.b + s.e) ** 2
        gain, price = v * (met + f * f * b2), (met + b2) * s.per_S
    else:
        gain, price = v * (f * (drift + s.kick)) ** 2, (f * drift + f * s.random + s.sure) ** 2 * s.per_S
    return v / (v + s.per_s2), gain / (gain + price)


@kernel(error_model="numpy")
def _choose(s, v, x, plan, m, L, rate):
    """The best fractions of a part of L steps, in which the worth of a distance falls at about that rate."""
    between = v if L <= 1.0 else v / max(0.3, 1.0 + 0.25 * rate * L)
    plan[0, m], plan[1, m] = (1.0, 1.0) if m == 0 else _fractions(s, between, x[m], max(plan[3, m], LEAST_SEEN))


@kernel(error_model="numpy", forceinline=True)
def _period(s, quiet, law, cap, parts, x, plan, first, v, choosing, rate):
    """(v, what is paid, what is paid for certain, the rate at which v fell) after a period whose parts stand from `first` on.

    Its last step, the first on the way back, meets the record; the others are `quiet`. On all records there is one part. With
    `choosing`, the fractions become the best ones.
    """
    w = sure = 0.0
    for j in range(parts.size):
        m, L, before, step = first + j, parts[j], v, s if j == 0 else quiet
        if choosing > 0.0:
            _choose(step, v, x, plan, m, L, rate)
        block = _block(step, plan[0, m], plan[1, m], x[m], max(plan[3, m], LEAST_SEEN))
        exponent = _exponent(step, law, cap, block, v) if step.theta > 0.0 else Exponent(1.0, 1.0)
        v, paid, in_A, in_C = _advance(step, law, block, exponent, v, L)
        v = max(v, LEAST_WORTH * s.per_S)
        w, sure = w + paid, sure + L * block.C0 * block.certain
        if choosing > 0.0 and L > 0.0:
            plan[2, m], plan[3, m] = in_A, in_C * step.c2
            if m > 0 and (j > 0 or parts.size == 1):
                rate = max(0.0, log(before / v) / L)
    return v, w, sure, rate


@kernel()
def _kind(steps, edge):
    """Which of a row's steps a block has that begins there: the first, or in a cool-down the third. The next one is the same
    without the record's part.
    """
    return 2 if steps.size > 2 and edge < steps[0].cooled else 0


@kernel(error_model="numpy")
def backward(steps, law, edges, count, parts, x, plan, caps, choosing):
    """The recursion from the end of the run to its start: its random cost, its certain cost, and the number of counted blocks.

    A block is a number of steps, or of periods of several `parts`: a step that meets the record and those before it that do not.
    `plan` has, part by part of each block, alpha, pi, and how much of a squared distance a step counts across the span and in it.
    Where it is `choosing`, the first two become the best ones, and the others what they are there. A number says so, since numba
    compiles a function once for True and once for False. From z0 > 0 any number of blocks will do, and the best is chosen; from
    0 all are counted.
    """
    v, w, Y, rate, best, X_best, Y_best, blocks = 0.0, 0.0, 0.0, 0.0, inf, inf, 0.0, count
    f, size, z0 = steps[0].tilt, parts.size, steps[0].z0
    for b in range(count):
        kind = _kind(steps, edges[b])
        s, quiet = steps[kind], steps[min(kind + 1, steps.size - 1)]
        m, first, cap = b * size, b == count - 1 and z0 == 0.0, caps[min(b, caps.size - 1)]
        n = edges[b + 1] - edges[b] - (1.0 if first else 0.0)
        if size == 1:
            parts[0], n = n, min(n, 1.0)
        if choosing > 0.0 and first:
            _choose(s, v, x, plan, m, 1.0, 0.0)
        now = choosing
        while n > 0.0:
            F, G, sure, rate = _period(s, quiet, law, cap, parts, x, plan, m, v, now, rate)
            if not F + G < inf:
                return inf, inf, count
            if n == 1.0:
                v, w, Y = F, w + G, Y + sure
                break
            now = 0.0
            other, tried = _other_end(v, F, n, F <= v), 0.0
            while tried == 0.0:
                F_2, G_2, _, _ = _period(s, quiet, law, cap, parts, x, plan, m, other, now, rate)
                after, paid, tried = _chords(v, F, G, other, F_2, G_2, n)
                other = 0.5 * other if other > 1e-3 * v else 0.0
            v, w, Y, n = after, w + paid, Y + tried * sure, n - tried
        if first:
            block = _block(s, plan[0, m], plan[1, m], x[m], max(plan[3, m], LEAST_SEEN))
            price = f * s.first_random + s.first_sure
            w += block.C1 * v * s.first * s.first + block.C0 * s.first_random * price / f
            Y += block.C0 * s.first_sure * price
        elif z0 > 0.0 and (choosing > 0.0 or b == count - 1):
            X = v * z0 * z0 + w
            if f * f * X + Y < best:
                best, X_best, Y_best, blocks = f * f * X + Y, X, Y, b + 1
            if f * f * w + Y >= best:
                break
    if z0 == 0.0:
        X_best, Y_best = w, Y
    return steps[0].times * X_best * SUMS_UP, steps[0].times * Y_best * SUMS_UP, blocks


@kernel(error_model="numpy")
def _grow(s, keep, left, g, h, L):
    """(h after L steps, its mean over their starts), nearly."""
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
def _follow(s, quiet, parts, x, plan, first, at, floor):
    """The squared distance after a period, from one before it; `x` become the typical distances of its parts."""
    for j in range(parts.size - 1, -1, -1):
        m, step = first + j, s if j == 0 else quiet
        if parts[j] > 0.0:
            keep, left = (1.0 - plan[0, m]) ** 2 * plan[2, m], (1.0 - plan[1, m]) ** 2
            at, mean = _grow(step, keep, left, plan[3, m], at, parts[j])
            x[m] = max(sqrt(mean), floor)
    return at


@kernel(error_model="numpy")
def forward(steps, edges, count, parts, x, plan, floor):
    """From the start to the end: `x` become the distances that the fractions lead to, at least `floor`: no bound."""
    z0, size = steps[0].z0, parts.size
    at = z0 * z0
    for b in range(count - 1, -1, -1):
        kind = _kind(steps, edges[b])
        s, quiet = steps[kind], steps[min(kind + 1, steps.size - 1)]
        m, n = b * size, edges[b + 1] - edges[b]
        if b == count - 1 and z0 == 0.0:
            at, n = (1.0 - plan[1, m]) ** 2 * s.first * s.first, n - 1.0
            for j in range(size):
                x[m + j] = max(sqrt(at), floor) if size > 1 else floor
        if size == 1:
            parts[0], n = n, min(n, 1.0)
        if n > 1.0:  # the others continue as two periods do
            once = _follow(s, quiet, parts, x, plan, m, at, floor)
            again = _follow(s, quiet, parts, x, plan, m, once, floor)
            slope = min(max((again - once) / (once - at), 0.0), 1.0) if once != at else 0.0
            end, total = affine(slope, once - slope * at, at, n)
            _follow(s, quiet, parts, x, plan, m, total / n, floor)
            at = end
        elif n == 1.0:
            at = _follow(s, quiet, parts, x, plan, m, at, floor)


@kernel()
def cut_apart(quiet, parts):
    """The `parts` of a period become their steps: one that meets the record, and so many `quiet` ones, from the later back."""
    parts[0], at = 1.0, 0.0
    growth = max(0.4, quiet ** (1.0 / 6.0) - 1.0)
    for j in range(1, parts.size):
        rest = quiet - at
        parts[j] = rest if j == parts.size - 1 else min(rest, max(1.0, float(growth * at // 1.0)))
        at += parts[j]


@kernel(error_model="numpy")
def plan(rows, laws, apart, size, starts, rounds, x, plans):
    """Rounds for every row: fractions and costs backward along typical distances, these forward, until the cost stands.

    Args:
        rows: of `STEP`, one that meets the record and, if there are others, one that does not; with a cool-down both of before
            it, then both of it: shape (rows, 1, 2 or 4).
        apart: the steps between two that meet it, row by row.
        size: the parts that a period is cut into.
        starts: the distances to start from, row by row.
        x, plans: typical distances, shape (rows, blocks * size), and plans, (rows, 4, blocks * size): become the best round's.

    Returns:
        Row by row what of the cost is random, what is certain, and the blocks and their steps counted; shape (rows, 4).
    """
    found = empty((rows.shape[0], 4))
    edges, parts = empty(x.shape[1] // size + 1), empty(size)
    h, trial = empty(x.shape[1]), empty((4, x.shape[1]))
    for i in range(rows.shape[0]):
        s = rows[i, 0]
        law = law_of(laws, s)
        cut_apart(apart[i], parts)
        count = cut_into(s.most, s.z0 > 0.0, s.cooled, edges)
        part = norm(law.table, 1.0, s.c2)[2] if s.order > 1.0 else s.K / s.d
        for m in range(h.size):
            h[m], trial[0, m], trial[1, m], trial[2, m], trial[3, m] = starts[i], 1.0, 1.0, 1.0, part * s.c2
        best, last = inf, inf
        found[i, 0], found[i, 1], found[i, 2], found[i, 3] = inf, inf, count, edges[count]
        for _ in range(rounds):
            X, Y, n = backward(rows[i], law, edges, count, parts, h, trial, h, 1.0)
            cost = s.tilt * s.tilt * X + Y
            if cost < best:
                best = cost
                found[i, 0], found[i, 1], found[i, 2], found[i, 3] = X, Y, n, edges[n]
                for m in range(h.size):
                    x[i, m] = h[m]
                    for k in range(4):
                        plans[i, k, m] = trial[k, m]
            if not cost < inf or abs(cost - last) <= SETTLED * cost:
                break
            last = cost
            forward(rows[i], edges, n, parts, h, trial, LEAST_REACH * (s.b if s.cube > 0.0 else s.kick))
            for m in range(n * size, count * size):  # any step before those would be the first
                h[m] = max(h[(n - 1) * size], s.z0)
    return found


@kernel(error_model="numpy")
def tails_of(rows, laws, apart, size, of, x, plans, counted, caps):
    """The random and the certain cost of given plans: in a norm, or at an exponent within caps.

    Args:
        rows, apart, size: as for `plan`; `of` which plan each row is about.
        x, plans, counted: typical distances, fractions and counted blocks, plan by plan.
        caps: shape (plans, blocks), or (plans, 1) where none are needed.
    """
    found = empty((rows.shape[0], 2))
    edges, parts = empty(x.shape[1] // size + 1), empty(size)
    for i in range(rows.shape[0]):
        s, k = rows[i, 0], of[i]
        law = law_of(laws, s)
        cut_apart(apart[i], parts)
        cut_into(s.most, s.z0 > 0.0, s.cooled, edges)
        found[i, 0], found[i, 1], _ = backward(rows[i], law, edges, int(counted[k]), parts, x[k], plans[k], caps[k], 0.0)
    return found


@kernel(error_model="numpy")
def caps_of(rows, laws, lost, x, plans, counted):
    """(Caps on squared distances, shape (rows, blocks); their sizes weighed by the costs, shape (rows,)). A run which never stops
    exceeds one with a chance of at most `lost`, by the norm at the order and Markov's inequality.
    """
    caps, sizes = empty(x.shape), empty(rows.shape[0])
    edges = empty(x.shape[1] + 1)
    for i in range(rows.shape[0]):
        s = rows[i, 0]
        law, z0 = law_of(laws, s), s.z0
        cut_into(s.most, z0 > 0.0, s.cooled, edges)
        count = int(counted[i])
        factor = exp(log(s.times * edges[count] / lost[i]) / s.order) * SUMS_UP
        H, sizes[i] = z0 * z0, 0.0
        for b in range(count - 1, -1, -1):
            s = rows[i, _kind(rows[i], edges[b])]
            L, before = edges[b + 1] - edges[b], H
            block = _block(s, plans[i, 0, b], plans[i, 1, b], x[i, b], max(plans[i, 3, b], LEAST_SEEN))
            if b == count - 1 and z0 == 0.0:
                H, before, L = block.C1 * s.first * s.first, 0.0, L - 1.0
            if L > 0.0:
                kept = 0.0
                if block.A1 + block.C1 > 0.0:
                    kept = norm(law.table, block.A1, block.C1 * block.Q * s.c2)[0]
                at = max(sqrt(H), LEAST_REACH * s.b)
                for _ in range(2 if L > 1.0 and s.cube > 0.0 else 1):
                    met = block.C1 * s.cross
                    end = affine((kept + met / at) * UP, met * at + block.C1 * block.left, H, L)[0] * SUMS_UP
                    at = sqrt(max(H, end))
                before, H = max(before, H), end
            caps[i, b] = max(before, H) * factor
            sizes[i] += (edges[b + 1] - edges[b]) * caps[i, b] * (plans[i, 0, b] ** 2 * s.per_s2 + plans[i, 1, b] ** 2 * s.per_S)
    return caps, sizes
