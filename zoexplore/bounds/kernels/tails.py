"""How large a plan's random cost is: its norms, and its exponential moments (docs/sharp.md, "Two recursions").

Both recursions go from the end of a run to its start, v <- F(v) and w <- w + G(v), with F increasing and F and G convex, so that
over a block of steps lines through two of their values bound both.
"""

from math import exp, inf, log, sqrt
from typing import NamedTuple

from zoexplore.bounds.kernels.blocks import affine
from zoexplore.bounds.kernels.compiling import kernel
from zoexplore.bounds.kernels.moments import absolute, kind_of, moments
from zoexplore.bounds.kernels.norms import norm
from zoexplore.bounds.kernels.plans import PI_HALF
from zoexplore.bounds.kernels.rounding import SUMS_UP, UP

STEEPER = 1e-13  # by how much of 1 a line's slope is raised: what it rounds to
MOST_EXPONENT = 300.0  # of a quadratic part, where Hoelder's exponent is chosen
HALF_SPREAD = 1.0 - 1.0 / PI_HALF  # of |g| about its mean, squared


class Block(NamedTuple):
    """A block's fractions, worked out: A = A0 + A1 v across the span, C = C0 + C1 v in it. The drift counts (C0 P + C1 Q v) there
    and (C0 + C1 v) meets the record's part; x is a typical distance.
    """

    A0: float
    A1: float
    C0: float
    C1: float
    P: float  # 1, or what splits of squares make of it: of a step's cost,
    Q: float  # and of what is left
    x: float
    spent: float  # what the record's part adds to C0's share of the cost,
    left: float  # and to C1's of the distance


@kernel(error_model="numpy")
def block_of(run, kick, sure, alpha, pi, x, g, tilt, certain):
    """The block's numbers; what is certain of a step's cost is `spent` where `certain`, and comes with the kick `sure`."""
    C0, C1 = pi * pi * run.per_S, (1.0 - pi) ** 2
    A0, A1 = alpha * alpha * run.per_s2, (1.0 - alpha) ** 2
    drift = sqrt(g) * x
    if run.ball > 0.0:
        theta = kick / drift if drift > 0.0 else 1e300
        own = sure if certain else kick
        phi = own / (tilt * drift) if drift > 0.0 else 1e300
        return Block(A0, A1, C0, C1, 1.0 + phi, 1.0 + theta, x, own * (own + tilt * drift), kick * (kick + drift))
    B, psi, b2 = run.B, 0.0, run.B * run.B
    if run.e > 0.0:
        psi = run.e / sqrt(drift * drift + B * B)
        b2 = (B + run.e) ** 2 + run.e * run.e / psi
    return Block(A0, A1, C0, C1, 1.0 + psi, 1.0 + psi, x, b2, b2)


class Exponent(NamedTuple):
    """At what an exponential moment is taken: theta, and Hoelder's exponent for the quadratic part, within the cap h."""

    theta: float
    p: float
    h: float
    form: int
    chi: float  # the mean length of d Gaussian numbers, from below
    few: int  # 1 where the sum of the drift's entries is bounded by its length alone


@kernel(error_model="numpy")
def _by_norm(run, weights, table, rays, block, v):
    """(F(v), G(v)) in a norm, but for what is certain."""
    C = block.C0 + block.C1 * v
    drift = block.C0 * block.P + block.C1 * block.Q * v
    kept = norm(table, rays, block.A0 + block.A1 * v, drift * weights.c2)[0]
    if run.ball > 0.0:
        return kept * UP, block.C1 * v * block.left
    met = C * weights.cross
    return (kept + met / block.x) * UP, met * block.x + block.C1 * v * block.left


@kernel(error_model="numpy")
def _along(run, exponent, C, B):
    """l: what the record's part meets of the drift, at most."""
    if exponent.few == 1:
        return 2.0 * C * B * run.c1
    other, root = exponent.p / (exponent.p - 1.0) * exponent.theta, sqrt(exponent.h)
    u = other * 2.0 * C * B / sqrt(run.K) * run.c1 * root / exponent.chi
    return run.K * absolute(u) / (other * root)


@kernel(error_model="numpy")
def _by_exponent(run, weights, block, exponent, tops, constants, k0, k1, v):
    """(F(v), G(v)) of an exponential moment."""
    C = block.C0 + block.C1 * v
    drift = block.C0 * block.P + block.C1 * block.Q * v
    theta = exponent.p * exponent.theta
    kept = moments(run, theta, exponent.h, block.A0 + block.A1 * v, drift, exponent.form, tops, constants, k0, k1) / (
        theta * exponent.h
    )
    added = block.C0 * block.spent + block.C1 * v * block.left
    if run.ball > 0.0:
        return kept * UP, added
    met = 0.5 * _along(run, exponent, C, run.B)
    return (kept + met / block.x) * UP, added + met * block.x


@kernel(error_model="numpy")
def _value(run, weights, table, rays, block, exponent, tops, constants, k0, k1, v):
    """(F(v), G(v)) of the norm, or, with a theta, of the exponential moment."""
    if exponent.theta > 0.0:
        return _by_exponent(run, weights, block, exponent, tops, constants, k0, k1, v)
    return _by_norm(run, weights, table, rays, block, v)


@kernel(error_model="numpy")
def _over(run, weights, table, rays, block, exponent, tops, constants, k0, k1, v, w, L):
    """(v, w) after L steps of a block, from above: by lines through two values of F and of G.

    Where v falls, it goes on falling (F is convex and does not fall), and the line through F at v and at a lesser value is above
    F between them; below the lesser value F is at most what it is there. So what the line comes to is above, if it stays between
    the two. Where v rises, likewise.
    """
    while L > 0.0:
        F, G = _value(run, weights, table, rays, block, exponent, tops, constants, k0, k1, v)
        if not F + G < inf:
            return inf, inf
        if L == 1.0:
            return F, w + G
        n, falls, widest = L, F <= v, 0.0
        other = (
            max(0.0, min(v - L * (v - F), 0.99 * v)) if falls else min(max(v + 2.0 * L * (F - v), 1.01 * v), 4.0 * v + 4.0 * F)
        )
        while True:
            F_2, G_2 = _value(run, weights, table, rays, block, exponent, tops, constants, k0, k1, other)
            low, F_low, G_low = (other, F_2, G_2) if falls else (v, F, G)
            slope = (F - F_2) / (v - other) + STEEPER
            rise = (G - G_2) / (v - other) * (1.0 + STEEPER)
            if not falls:
                while n > 1.0 and not low + affine(slope, F_low - low, v - low, n)[0] <= other:
                    n = float(0.5 * n // 1.0)
            after, total = affine(slope, F_low - low, v - low, n)
            if not falls or low + after >= other or other == 0.0:
                break
            other = max(0.0, other - widest - 0.5 * (v - other))
            widest = v
        if n == 1.0:
            v, w = F, w + G
        else:
            v, w = (low + after) * (1.0 + 1e-14), w + (n * G_low + rise * total) * (1.0 + 1e-14)
        L -= n
    return v, w


@kernel(error_model="numpy")
def tail(
    run, weights, table, rays, edges, count, alpha, pi, reach, in_C, caps, theta, chi, tops, constants, k0, k1, tilt, certain
):
    """(X, Y): the norm at the order of a plan's random cost, or, at a theta > 0, what its exponential moment comes to; and what
    is certain of the cost.

    Args:
        alpha, pi: the plan's fractions, and `reach` typical distances, block by block; `in_C` how much of a distance a step sees.
        caps: squared distances, one a block, that hold but for a probability; for exponential moments.
        tilt: by how much longer than typical a drift is taken to be where squares are split.
        certain: whether what the record's part costs is taken for certain, where only its length is known.
    """
    v = w = Y = 0.0
    sure = certain or theta > 0.0
    for b in range(count):
        L, h = edges[b + 1] - edges[b], caps[b]
        kick = weights.kick if theta == 0.0 else weights.sure
        block = block_of(run, kick, weights.sure, alpha[b], pi[b], reach[b], in_C[b], tilt, sure)
        exponent = Exponent(0.0, 1.0, h, -1, chi, 0)
        last = b == count - 1 and run.z0 == 0.0
        steps = L - 1.0 if last else L
        if theta > 0.0 and steps > 0.0:
            p, few, A, C = 1.0, 0, block.A0 + block.A1 * v, block.C0 + block.C1 * v
            if run.ball == 0.0:
                part = run.K / run.d
                spread = abs(C * weights.c2 - A) * h * sqrt(2.0 * part * (1.0 - part) / (run.d + 2.0))
                beside = 2.0 * C * run.B * run.c1 * sqrt(h * HALF_SPREAD / run.d)
                p = 1.0 + min(
                    max(beside / spread if spread > 0.0 else inf, 1e-3),
                    max(0.05, MOST_EXPONENT / (theta * h * (A + C * run.reach)) - 1.0),
                )
                few = 1 if not _along(run, Exponent(theta, p, h, -1, chi, 0), C, run.B) < 2.0 * C * run.B * run.c1 else 0
                if few == 1:
                    p = 1.0
            form = kind_of(run, p * theta, h, A, block.C0 * block.P + block.C1 * block.Q * v, tops, constants, k0, k1)
            exponent = Exponent(theta, p, h, form, chi, few)
        if steps > 0.0:
            if theta == 0.0:
                if run.ball > 0.0 and not certain:
                    w += steps * block.C0 * block.spent
                else:
                    Y += steps * block.C0 * block.spent
            v, w = _over(run, weights, table, rays, block, exponent, tops, constants, k0, k1, v, w, steps)
        if not v + w < inf:
            return inf, inf
        if last:
            w += block.C1 * v * (weights.first_sure if theta > 0.0 else weights.first) ** 2
            if theta == 0.0 and (run.ball == 0.0 or certain):
                Y += block.C0 * weights.first_sure * weights.first_sure
            else:
                w += block.C0 * (weights.first_sure if theta > 0.0 else weights.first) ** 2
    return run.times * (v * run.z0 * run.z0 + w) * SUMS_UP, run.times * Y * SUMS_UP


@kernel(error_model="numpy")
def caps(run, weights, table, rays, edges, count, alpha, pi, lost, caps):
    """Fill `caps`: squared distances, one a block, beyond any of which a run that never stops is with a probability of at most
    `lost`: norms at the order, and Markov's inequality. Returns how large they are beside the norms.
    """
    factor = exp(log(run.times * edges[count] / lost) / weights.order) * SUMS_UP
    H = run.z0 * run.z0
    for b in range(count - 1, -1, -1):
        L, before = edges[b + 1] - edges[b], H
        if b == count - 1 and run.z0 == 0.0:
            H, L, before = (1.0 - pi[b]) ** 2 * weights.first * weights.first, L - 1.0, 0.0
        if L > 0.0:
            keep, left = (1.0 - alpha[b]) ** 2, (1.0 - pi[b]) ** 2
            x, end = sqrt(H), H
            for _ in range(2 if L > 1.0 else 1):
                if run.ball > 0.0:
                    theta = weights.kick / (x * sqrt(run.K / run.d * weights.c2)) if x > 0.0 else 1.0
                    grown = norm(table, rays, keep, left * (1.0 + theta) * weights.c2)[0] if keep + left > 0.0 else 0.0
                    added = left * (1.0 + 1.0 / theta) * weights.kick * weights.kick
                else:
                    psi = run.e / max(sqrt(run.K / run.d * weights.c2) * x, run.B) if run.e > 0.0 else 0.0
                    grown = norm(table, rays, keep, left * (1.0 + psi) * weights.c2)[0] if keep + left > 0.0 else 0.0
                    grown += left * weights.cross / x if x > 0.0 else 0.0
                    added = left * (weights.cross * x + run.B * run.B)
                    if run.e > 0.0:
                        added = left * (weights.cross * x + (run.B + run.e) ** 2 + run.e * run.e / psi)
                end = affine(grown * UP, added, H, L)[0] * SUMS_UP
                x = sqrt(max(H, end))
            before, H = max(H, before), end
        caps[b] = max(before, H) * factor
    return factor
