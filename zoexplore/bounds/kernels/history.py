"""Bound how far apart two runs on secret batches may be before the counted steps (docs/batches.md,
"History").

The bound depends only on which steps meet the record. It follows a Markov chain in the squared
distance h: a step that meets the record, a kick, replaces h by the least of several lines a h + b,
and any other step shrinks h. All numbers are rounded up.
"""

from math import ceil, exp, inf, log, sqrt
from typing import NamedTuple

from numpy import empty, int64, ndarray, zeros

from zoexplore.bounds.kernels.compiling import kernel
from zoexplore.bounds.kernels.norms import norm
from zoexplore.bounds.kernels.rounding import UP

RATIO = 0.97  # about the factor by which a round of steps without the record multiplies h
CELL = 0.03  # the spacing of the last grid, as a fraction of what one kick adds to a typical h
# FINER: the factor of a refinement. COARSEST: the places of the first grid. PLACES: the most places.
FINER, COARSEST, PLACES = 4.0, 640, 3600
# LINES values of theta, from exp(-WIDEST) to exp(WIDEST), in
# (x + y)^2 <= (1 + theta) x^2 + (1 + 1/theta) y^2
LINES, WIDEST = 161, 9.0
LABELS = 48  # the number of values to which the law of h is rounded up
KICKS = 40  # rounds of 0 to KICKS - 1 kicks are followed; more kicks count as the largest h
# the largest chances that h is above the second label (RARE), and above the last (MANY)
RARE, MANY = 1e-13, 0.98
BELOW = 1e-3  # the chance that h lies below the lowest place of a finer grid
# rounds end when `EVERY` rounds together change the law by less than `SETTLED`
SETTLED, EVERY = 1e-4, 8
SCALED = 1.0 + 1e-9  # pays for the rounding of a place, and of a scaled law


class Chain(NamedTuple):
    """A round of steps. The steps without the record come first; each replaces h by
    `shrinks` h + `other`. The steps with the record, the kicks, come last, which is the worst
    order; each replaces h by the least of the lines `slope` h + `per`. A kick has length 1.
    """

    top: float  # the largest h
    steps: float
    shrinks: float
    other: float
    slope: ndarray
    per: ndarray
    chance: ndarray  # the chances of 0, 1, ... kicks; the rest counts as the largest h
    kicks: int


class Grid(NamedTuple):
    """Places of h: first the largest h, then `size` values from `top` down. Each of these is
    exp(step) times the one before, with a `step` below 0.
    """

    top: float
    step: float
    size: int


@kernel(error_model="numpy")
def _lines(table, c2, slope, per):
    """Fill each line's `slope` and `per`, the constant that a kick adds. Return the least fixed
    point of the lines; inf if no line contracts.
    """
    best = inf
    for k in range(LINES):
        theta = exp(WIDEST * (2.0 * k / (LINES - 1.0) - 1.0))
        slope[k], per[k] = norm(table, 1.0, (1.0 + theta) * c2).J, 1.0 + 1.0 / theta
        if slope[k] < 1.0:
            best = min(best, per[k] / (1.0 - slope[k]))
    return best


@kernel(error_model="numpy")
def _quiet_line(shrinks, other, q, top, slope, per):
    """Return (slope, constant) of a line for steps without the record. Any line is sound whose
    fixed point is at most `top`. `other` is the square of the two-point error that a step adds to
    the distance.
    """
    if other == 0.0 or not shrinks < 1.0:
        return shrinks, 0.0
    mean = q / (1.0 - sqrt(shrinks))
    typical, least, at = mean * mean + q / (1.0 - shrinks), inf, 0
    for k in range(LINES):
        value = slope[k] * typical + per[k] * other
        if value < least and per[k] * other <= (1.0 - slope[k]) * top:
            least, at = value, k
    return (slope[at], per[at] * other) if least < inf else (1.0, 0.0)


@kernel(error_model="numpy")
def _place(h, grid):
    """Return the place of the least value that is not below h."""
    if h > grid.top:
        return 0
    return 1 + min(int(log(h / grid.top) / grid.step + 1e-9), grid.size - 1)


@kernel(error_model="numpy")
def _at(place, chain, grid):
    """Return the value of h at a place."""
    return chain.top if place == 0 else grid.top * exp(grid.step * (place - 1.0))


@kernel(error_model="numpy")
def _quiet(h, chain, steps):
    """Return h after `steps` steps without the record."""
    left = max(exp(steps * log(chain.shrinks)), 1e-12)
    return left * h + chain.other * (1.0 - left) / (1.0 - chain.shrinks)


@kernel(error_model="numpy")
def _moves(chain, grid, to):
    """Fill `to`, shape (KICKS, PLACES), with the places to which rounds of 0, 1, ... kicks lead."""
    slope, per = chain.slope, chain.per
    for k in range(chain.kicks):
        best = 0
        for i in range(grid.size, -1, -1):
            h = _quiet(_at(i, chain, grid), chain, chain.steps - k)
            for _ in range(k):
                while (
                    best < LINES - 1
                    and slope[best + 1] * h + per[best + 1] <= slope[best] * h + per[best]
                ):
                    best += 1
                while (
                    best > 0 and slope[best - 1] * h + per[best - 1] <= slope[best] * h + per[best]
                ):
                    best -= 1
                h = slope[best] * h + per[best]
            to[k, i] = _place(min(h, chain.top), grid)


@kernel(error_model="numpy")
def _chances(q, steps, chance):
    """Fill `chance` with the chances of 0, 1, ... kicks in `steps` steps, and return how many
    matter.
    """
    chance[0], count = exp(steps * log(1.0 - q)), 1
    while count < min(KICKS, steps + 1.0) and (
        count < q * steps or chance[count - 1] > 1e-3 * RARE
    ):
        chance[count] = chance[count - 1] * (steps - count + 1.0) / count * q / (1.0 - q)
        count += 1
    return count


@kernel(error_model="numpy")
def _settle(chain, grid, now, after, before, to):
    """Let the law `now` settle, round by round. It begins above the law of any run at any time, and
    stays above that law after any number of rounds.
    """
    _moves(chain, grid, to)
    before[:] = 0.0
    for n in range(4 * COARSEST):
        after[: grid.size + 1] = 0.0
        for k in range(chain.kicks):
            for i in range(grid.size + 1):
                after[to[k, i]] += chain.chance[k] * now[i]
        total = change = 0.0
        for i in range(grid.size + 1):
            total += after[i]
        after[0] += max(1.0 - total, 0.0)
        for i in range(grid.size + 1):
            now[i] = after[i]
        if n % EVERY == EVERY - 1:
            for i in range(grid.size + 1):
                change += abs(now[i] - before[i])
                before[i] = now[i]
            if change < SETTLED:
                break


@kernel(error_model="numpy")
def _refined(chain, grid, finest, now, after):
    """Return a finer grid, and move the law `now` onto it. The grid leaves out the highest and the
    lowest places, where h hardly ever is.
    """
    first, total = 1, now[0]
    while first < grid.size and total + now[first] < RARE:
        total += now[first]
        first += 1
    last, rest = grid.size, now[grid.size]
    while last > first + 1 and rest < BELOW:
        last -= 1
        rest += now[last]
    top, low = _at(first, chain, grid), _at(last, chain, grid)
    quiet = chain.steps * log(chain.shrinks)
    step = quiet / ceil(quiet / min(grid.step / FINER, -finest) - 1e-9)
    fine = Grid(top, step, int(min(log(low / top) / step + 2.0, PLACES - 1.0)))
    after[:] = 0.0
    for i in range(grid.size + 1):
        after[_place(_at(i, chain, grid), fine)] += now[i]
    now[:] = after
    return fine


@kernel(error_model="numpy")
def _gather(chain, grid, now, h, share):
    """Round the law up to few values, the labels. Fill `h` with the labels, descending, and `share`
    with their chances.
    """
    share[:] = 0.0
    first, total = 1, now[0]
    while first < grid.size and total + now[first] < RARE:
        total += now[first]
        first += 1
    last, passed = first, total
    while last < grid.size and passed + now[last] < MANY:
        passed += now[last]
        last += 1
    h[0], share[0] = chain.top * SCALED, total
    high, low = sqrt(_at(first, chain, grid)), sqrt(_at(last, chain, grid))
    for j in range(1, LABELS):
        h[j] = (high + (low - high) * (j - 1.0) / (LABELS - 2.0)) ** 2 * SCALED
    j = LABELS - 1
    for i in range(grid.size, first - 1, -1):
        while j > 1 and h[j] < _at(i, chain, grid):
            j -= 1
        share[j] += now[i]


@kernel(error_model="numpy")
def history(table, c2, e, q, h, share):
    """Bound the law of the squared distance before the counted steps. Fill `h` with LABELS values,
    descending, in units of a kick's square, and `share` with their chances.

    Args:
        table: J on the rays.
        c2: the drift's constant.
        e: the two-point error that every step adds to the distance, in kicks.
        q: the chance that a step meets the record.
    """
    slope, per, chance = empty(LINES), empty(LINES), empty(KICKS)
    top = _lines(table, c2, slope, per) * UP
    shrinks, other = _quiet_line(norm(table, 1.0, c2).J, e * e, q, top, slope, per)
    h[:] = inf
    share[:] = 0.0
    share[0] = 1.0
    if not (top < inf and shrinks < 1.0 - 1e-12):
        return
    steps = max(float(log(RATIO) / log(shrinks) // 1.0), 1.0)
    kicks, quiet = _chances(q, steps, chance), steps * log(shrinks)
    chain = Chain(top, steps, shrinks, other, slope, per, chance, kicks)
    grid = Grid(chain.top, quiet / ceil(quiet / log(RATIO) - 1e-9), COARSEST)
    now, after, before, to = (
        zeros(PLACES),
        empty(PLACES),
        empty(PLACES),
        empty((KICKS, PLACES), int64),
    )
    now[0] = 1.0
    _settle(chain, grid, now, after, before, to)
    finest = min(CELL * (1.0 - shrinks) / q, -grid.step)
    while -grid.step > 1.5 * finest:
        grid = _refined(chain, grid, finest, now, after)
        _settle(chain, grid, now, after, before, to)
    _gather(chain, grid, now, h, share)
