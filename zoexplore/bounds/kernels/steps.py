"""Bound what one step of a run costs, and what a squared distance is worth before it
(docs/sharp.md, "The recursion").

From the end of a run to its start, the worth of a squared distance goes v <- F(v), and the constant
cost goes w <- w + G(v). F and G are convex and increasing, so chords bound both over a block of
steps.
"""

from math import inf, sqrt
from typing import NamedTuple

from numpy import dtype, ndarray, record

from zoexplore.bounds.kernels.blocks import affine
from zoexplore.bounds.kernels.compiling import kernel
from zoexplore.bounds.kernels.norms import norm
from zoexplore.bounds.kernels.rounding import UP

LEAST_SEEN = 1e-12  # the least fraction of a squared distance that the span sees
MOST = 1e300  # stands for one over a variance of 0
STEEPER = 1e-13  # the relative rise of a chord's slope that pays for its rounding

STEP = dtype(
    (
        record,
        [
            (name, float)
            for name in (
                "per_S",  # one over the variance of the noise along the span
                "per_s2",  # one over the variance of the noise across the span
                # 1 if every entry of the record's part is known, 0 if its length alone is
                "cube",
                "b",  # the record's part, entry by entry
                "e",  # the remainder, of which only the length is known
                "order",  # the order of the norm
                # the tail's factor f, by which random lengths count for more than certain ones
                "tilt",
                "c2",  # the drift's constant
                # how a drift meets the record's part: adds 2 cross sqrt(h) to a squared distance h
                "cross",
                # the norm of the record's part and the remainder, if only lengths are known
                "kick",
                "random",  # the random length of these that is paid for
                "sure",  # the certain length of these that is paid for
                "first",  # `kick`, `random` and `sure` for a step from distance 0
                "first_random",
                "first_sure",
            )
        ],
    )
)


class Norms(NamedTuple):
    """Tables that rows look up at each of their orders: `place` is the index in the tables. `place`
    and `tilt` have the shape (rows, orders); c2, seen, c1 and ell have the shape (places,).
    """

    tables: ndarray  # J on the rays, shape (places, rays)
    c2: ndarray  # the drift's constants
    seen: ndarray  # the norm of what the span sees of a length
    # by how much the sum of a drift's entries can exceed that of a random unit vector's
    c1: ndarray
    ell: ndarray  # the norm of the sum of a random unit vector's entries
    place: ndarray
    tilt: ndarray
    orders: ndarray


@kernel(error_model="numpy")
def fill_step(s, row, norms, i, k):
    """Fill the step `s` of row i, one that meets the record, at the k-th order."""
    place, tilt = norms.place[i, k], norms.tilt[i, k]
    g, B, cube = norms.seen[place], row.B, row.cube > 0.0
    length, own = inf if cube else row.length, row.remainder_at_zero
    s.cube, s.b, s.e, s.order, s.tilt, s.c2 = (
        row.cube,
        B,
        row.remainder,
        norms.orders[i, k],
        tilt,
        norms.c2[place],
    )
    s.cross = B / sqrt(row.K) * norms.c1[place] * norms.ell[place] if cube else 0.0
    s.kick = min(g * length, B) + s.e
    s.random = g * length if tilt * g < 1.0 and tilt * g * length < B else 0.0
    s.sure = (0.0 if s.random > 0.0 else min(B, length)) + s.e
    s.first = min(g * length + own, B)
    s.first_random = g * length if tilt * g < 1.0 and tilt * g * length + own < B else 0.0
    s.first_sure = own if s.first_random > 0.0 else min(B, length + own)
    set_noise(s, row, row.beta)


@kernel(error_model="numpy")
def set_noise(s, row, beta):
    """Give a step the share `beta` of the noise along the directions."""
    s2 = (1.0 - beta) / row.d
    s.per_S, s.per_s2 = 1.0 / (beta / row.K + s2), 0.0 if row.K == row.d else min(1.0 / s2, MOST)


@kernel()
def forget(s):
    """Remove the record's part from a step."""
    s.b = s.cross = s.random = 0.0
    s.kick = s.sure = s.e


class Block(NamedTuple):
    """A block's numbers: A = A0 + A1 v across the span, C = C0 + C1 v in it, of which the drift
    counts C0 P + C1 Q v.
    """

    A0: float
    A1: float
    C0: float
    C1: float
    P: float
    Q: float
    x: float  # a typical distance
    left: float  # what a step adds to G, per C1 v
    spent: float  # what a step adds to G, per C0
    certain: float  # what a step adds to the certain cost, per C0


@kernel(error_model="numpy")
def block_of(s, alpha, pi, x, g):
    """Return the block with the fractions alpha and pi. `g`, how much of a squared distance the
    span sees, only chooses how squares of sums are split.
    """
    C0, C1 = pi * pi * s.per_S, (1.0 - pi) ** 2
    A0, A1 = alpha * alpha * s.per_s2, (1.0 - alpha) ** 2
    drift = sqrt(max(g, LEAST_SEEN)) * x
    if s.cube > 0.0:
        psi = s.e / sqrt(drift * drift + s.b * s.b)
        b2 = s.b * s.b if s.e == 0.0 else (s.b + s.e) ** 2 + s.e * s.e / psi
        return Block(A0, A1, C0, C1, 1.0 + psi, 1.0 + psi, x, b2, 0.0, b2)
    f, price = s.tilt, s.tilt * s.random + s.sure
    return Block(
        A0,
        A1,
        C0,
        C1,
        1.0 + price / (f * drift),
        1.0 + s.kick / drift,
        x,
        s.kick * (s.kick + drift),
        s.random * (price + f * drift) / f,
        s.sure * (price + f * drift),
    )


class Value(NamedTuple):
    """v, F(v), G(v), and the norm's slopes in A and in C at v."""

    v: float
    F: float
    G: float
    in_A: float
    in_C: float


@kernel(error_model="numpy")
def _value(s, table, block, v):
    A, C = block.A0 + block.A1 * v, block.C0 + block.C1 * v
    in_drift, own = (
        block.C0 * block.P + block.C1 * block.Q * v,
        block.C1 * v * block.left + block.C0 * block.spent,
    )
    kept, in_A, in_C = norm(table, A, in_drift * s.c2)
    met = C * s.cross
    return Value(v, (kept + met / block.x) * UP, met * block.x + own, in_A, in_C)


@kernel(error_model="numpy")
def other_end(v, F, L):
    """Guess a value that v does not pass in L steps."""
    if F <= v:
        return max(0.0, min(v - L * (v - F), 0.99 * v))
    return min(max(v + 2.0 * L * (F - v), 1.01 * v), 4.0 * (v + F))


class Jump(NamedTuple):
    """v and what is paid after `steps` steps."""

    v: float
    paid: float
    steps: float


@kernel(error_model="numpy")
def chords(here, there, L):
    """Make at most L steps by the lines through two values of F and of G; none if the lines leave
    the interval between the two.

    If v falls, it goes on falling. The line of F is above F as long as v stays in the interval;
    below the interval F is at most its value at the lower end. The same holds if v rises.
    """
    v, other = here.v, there.v
    falls = here.F <= v
    low = there if falls else here
    slope = (here.F - there.F) / (v - other) + STEEPER
    rise = (here.G - there.G) / (v - other) * (1.0 + STEEPER)
    while True:
        after, total = affine(slope, low.F - low.v, v - low.v, L)
        within = low.v + after >= other or other == 0.0 if falls else low.v + after <= other
        if within:
            return Jump((low.v + after) * UP, (L * low.G + rise * total) * (1.0 + 1e-14), L)
        if falls or L <= 2.0:
            return Jump(here.F, here.G, 1.0 if L <= 2.0 and not falls else 0.0)
        L = float(0.5 * L // 1.0)


@kernel(error_model="numpy", forceinline=True)
def advance(s, table, block, v, n):
    """Return the `Value` after n steps with the same fractions. G is the total paid; the slopes are
    those of the last step.
    """
    w, in_A, in_C = 0.0, 1.0, 0.0
    while n > 0.0:
        here = _value(s, table, block, v)
        in_A, in_C = here.in_A, here.in_C
        if n == 1.0 or not here.F + here.G < inf:
            return Value(v, here.F, w + here.G, in_A, in_C)
        other, jump = other_end(v, here.F, n), Jump(v, 0.0, 0.0)
        while jump.steps == 0.0:
            jump = chords(here, _value(s, table, block, other), n)
            other = 0.5 * other if other > 1e-3 * v else 0.0
        v, w, n = jump.v, w + jump.paid, n - jump.steps
    return Value(v, v, w, in_A, in_C)
