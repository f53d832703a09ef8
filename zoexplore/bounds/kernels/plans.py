"""What a run does at each step, and the fractions of its distances that are shifted away (docs/sharp.md, "The plan")."""

from math import inf, log, sqrt
from typing import NamedTuple

from zoexplore.bounds.kernels.blocks import affine
from zoexplore.bounds.kernels.compiling import kernel
from zoexplore.bounds.kernels.norms import norm

LEAST_REACH = 1e-3  # of what a step adds: shorter typical distances are taken to be that long
SETTLED = 1e-5  # of the planned cost: a round that changes less is the last
LEAST_WORTH = 1e-40  # of what a distance is worth in the end: less is rounded up to it, so that nothing underflows
PI_HALF = 1.5707963267948966


class Run(NamedTuple):
    """One run's numbers, lengths in units of the noise of a step: what a step makes of a distance and adds, what shifts cost."""

    K: float
    d: float
    c2: float  # the drift's constant for the mean
    c1: float  # for the sum of the drift's entries
    reach: float  # the most that the square of a drift can be of that of a distance
    ball: float  # 1 where of a record's part only the length is known, 0 where its every entry is
    B: float  # the record's part
    e: float  # the two-point remainder
    per_S: float
    per_s2: float
    most: float  # steps, or between two releases
    z0: float
    times: float  # releases
    delta: float


class Weights(NamedTuple):
    """How an order of the norm, or the mean (order 1), weighs a step."""

    order: float
    c2: float
    cross: float  # by which a drift meets the record's part: half of what 2 sqrt(h) of it adds to a squared distance
    kick: float  # the record's part and the remainder where only their length is known
    sure: float  # the same for certain
    first: float  # the kick of a step from distance 0,
    first_sure: float  # and for certain
    tilt: float  # by how much what is random counts for more than what is certain: the tail's factor f^2


@kernel(error_model="numpy")
def slopes(run, weights, table, rays, A, C):
    """How much of A and of C a step's norm counts: of the mean it is what a random span leaves and sees."""
    if weights.order == 1.0:
        part = run.K / run.d
        return 1.0 - part, weights.c2 * part
    if A + C == 0.0:
        return 0.0, 0.0
    _, in_A, in_C = norm(table, rays, A, C * weights.c2)
    return in_A, in_C * weights.c2


@kernel(error_model="numpy")
def _back(run, weights, table, rays, edges, h, alpha, pi, in_A, in_C, count):
    """From the end to the start: the fractions that suit the distances h, block by block; (the cost, the blocks that it counts).

    From afar any number of steps will do: the best is taken.
    """
    v, w, rate, least, best, blocks = 0.0, 0.0, 0.0, 0.0, inf, count
    kick, f, b2 = weights.kick, sqrt(weights.tilt), weights.kick * weights.kick
    own = min(f * kick, weights.sure)  # what is paid for it: with bad luck, or for certain
    for b in range(count):
        L, x, before = edges[b + 1] - edges[b], sqrt(h[b]), v
        between = v if L == 1.0 else v / max(0.3, 1.0 + 0.25 * rate * L)
        across = max(sqrt(in_C[b]) * x, LEAST_REACH * kick)  # a typical drift
        if run.ball > 0.0:
            gain, price = between * (f * (across + kick)) ** 2, (f * across + own) ** 2 * run.per_S
        else:
            drift = weights.tilt * (across * across + 2.0 * weights.cross * x)
            gain, price = between * (drift + weights.tilt * b2), (drift + b2) * run.per_S
        alpha[b] = 1.0 if b == 0 else between / (between + run.per_s2)
        pi[b] = 1.0 if b == 0 else gain / (gain + price)
        A0, A1, C0, C1 = alpha[b] ** 2 * run.per_s2, (1.0 - alpha[b]) ** 2, pi[b] ** 2 * run.per_S, (1.0 - pi[b]) ** 2
        if run.ball > 0.0:  # squares of sums split
            P0, P1 = C0 * (1.0 + own / (f * across)), C1 * (1.0 + kick / across)
            o, g = slopes(run, weights, table, rays, A0 + A1 * v, P0 + P1 * v)
            keep, spend, added, paid = (
                A1 * o + P1 * g,
                A0 * o + P0 * g,
                C1 * kick * (kick + across),
                C0 * own * (own + f * across),
            )
            free = 0.0
        else:
            o, g = slopes(run, weights, table, rays, A0 + A1 * v, C0 + C1 * v)
            per = g + weights.cross / x
            keep, spend, paid = A1 * o + C1 * per, A0 * o + C0 * per, C0 * b2
            added, free = C1 * (weights.cross * x + b2), C0 * weights.cross * x
        in_A[b], in_C[b] = o, g
        last = b == count - 1 and run.z0 == 0.0
        steps, total = L - 1.0 if last else L, 0.0
        if steps > 0.0:
            v, total = affine(keep, spend, v, steps)
        w += weights.tilt * (free * steps + added * total) + paid * steps
        if last:
            w += C0 * min(f * weights.first, weights.first_sure) ** 2 + weights.tilt * C1 * v * weights.first**2
        elif run.z0 > 0.0 and weights.tilt * v * run.z0 * run.z0 + w < best:
            best, blocks = weights.tilt * v * run.z0 * run.z0 + w, b + 1
        if b > 0:
            v = max(v, least)
            rate = max(0.0, log(before / v) / L)
        else:
            least = LEAST_WORTH * v
        if run.z0 > 0.0 and w >= best:
            break
    return (best if run.z0 > 0.0 else w), blocks


@kernel(error_model="numpy")
def _grow(keep, left, g, cross, b2, h, L):
    """(h after L steps of h <- keep h + left (g h + 2 cross sqrt(h) + b2), its mean over their starts), nearly."""
    if L == 1.0:
        return keep * h + left * (g * h + 2.0 * cross * sqrt(h) + b2), h
    end, mean = h, h
    for _ in range(3):
        x = sqrt(max(0.5 * (mean + max(end, h)), LEAST_REACH * LEAST_REACH * b2))
        end, total = affine(keep + left * (g + cross / x), left * (cross * x + b2), h, L)
        mean = total / L
    return end, mean


@kernel(error_model="numpy")
def _forth(run, weights, edges, h, alpha, pi, in_A, in_C, count):
    """From the start to the end: `h` become the squared distances that the fractions lead to, in the mean over each block."""
    b2, at = weights.kick * weights.kick, run.z0 * run.z0
    floor = LEAST_REACH * LEAST_REACH * b2
    for b in range(count - 1, -1, -1):
        L = edges[b + 1] - edges[b]
        keep, left, g = (1.0 - alpha[b]) ** 2 * in_A[b], (1.0 - pi[b]) ** 2, in_C[b]
        if b == count - 1 and run.z0 == 0.0:
            at, h[b] = left * weights.first * weights.first, floor
            L -= 1.0
            if L == 0.0:
                continue
        cross = weights.kick * sqrt(g) if run.ball > 0.0 else weights.cross
        at, mean = _grow(keep, left, g, cross, b2, at, L)
        h[b] = max(mean, floor)


@kernel(error_model="numpy")
def plan(run, weights, table, rays, edges, start, rounds, h, alpha, pi, in_A, in_C):
    """(The cost that is planned for, the blocks that are counted.) `h`, `alpha` and `pi` become squared distances, and the
    fractions that are shifted away of what lies across the span and in it, block by block from the end.

    Riccati: a distance whose square is worth v from the next step on is best shifted by v/(v + 1/s2) and v/(v + 1/S). What the
    record's part adds depends on the distance itself: fractions from the end and distances from the start take turns.
    """
    count = edges.size - 1
    h.fill(max(start * weights.kick * weights.kick, run.z0 * run.z0))
    in_C.fill(slopes(run, weights, table, rays, 1.0, 1.0)[1])
    cost, blocks = inf, count
    for _ in range(rounds):
        before = cost
        cost, blocks = _back(run, weights, table, rays, edges, h, alpha, pi, in_A, in_C, count)
        if not cost < inf:
            return inf, blocks
        if abs(cost - before) <= SETTLED * cost:
            break
        _forth(run, weights, edges, h, alpha, pi, in_A, in_C, blocks)
        for b in range(blocks, count):  # any step before those would be the first
            h[b] = max(h[blocks - 1], run.z0 * run.z0)
    return cost, blocks
