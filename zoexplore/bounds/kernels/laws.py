"""Replace a law of privacy losses by a few hundred atoms, which dominate it (docs/batches.md,
"Atoms").

The range of a pair's likelihood ratio is cut into cells. In each cell the second law's mass moves
to both ends, divided so that the first law's mass is kept. This replaces the pair's profile by
chords, which lie above the profile.
"""

from functools import partial
from math import erfc, exp, expm1, inf, log, log1p, pi, sqrt
from typing import NamedTuple

from numpy import array, concatenate, empty, int64, ndarray, zeros

from zoexplore.bounds.kernels.compiling import kernel

WITHOUT_REPLACEMENT, REMOVE, ADD = 0, 1, 2  # kinds of pairs (docs/batches.md)
FINE = 28.0  # cells per standard deviation of the ratio's logarithm
FEWEST, MOST = 8.0, 1000  # cells: the fewest on either side, the most in all
# losses beyond the last cell count as infinite; over all steps they may take this fraction of delta
CUT = 1e-4
SQRT_2, SQRT_2PI = sqrt(2.0), sqrt(2.0 * pi)
# Gauss's rule for a cell: nodes and weights
NODES = array([0.06943184420297371, 0.33000947820757187, 0.6699905217924281, 0.9305681557970263])
WEIGHTS = array([0.17392742256872692, 0.3260725774312731, 0.3260725774312731, 0.17392742256872692])
GAUSS = 1.778e9  # 9 (8!)^3 / (4!)^4: the rule's error is the eighth derivative over this
# CHUNK: the most cells in a row whose densities are each the one before times a factor. GROWTH: the
# largest change of a density's logarithm over these cells. ROUNDED: the densities' relative error.
CHUNK = 32
GROWTH = 300.0
ROUNDED = 2e-13


class Cells(NamedTuple):
    """Cells of the ratio's logarithm, from 0 outward: the cells' far ends; both laws' masses, the
    law `own` first, and the masses' relative errors, shape (2, cells); and the masses beyond all
    cells, shape (2,).
    """

    end: ndarray
    masses: ndarray
    errors: ndarray
    far: ndarray


@kernel()
def upper(x):
    """Return the chance that a standard normal number is beyond x."""
    return 0.5 * erfc(x / SQRT_2)


@kernel(fastmath={"reassoc"})
def _totals(size, turn, slow, totals):
    """Fill `totals` with the sums of `size` over its components. After each sum every size is
    multiplied by its `turn`, and every turn by its `slow`.
    """
    for k in range(totals.size):
        total = 0.0
        for c in range(size.size):
            total += size[c]
            size[c] *= turn[c]
            turn[c] *= slow[c]
        totals[k] = total


@kernel(error_model="numpy")
def _density_error(mus, cell, at, far, lean):
    """Bound the relative error of a law's masses on cells from `at` to `far`, where the law of each
    mu has its mean at `lean` mu^2/2. On a cell `move` deviations long and within X of the mean,
    Gauss's rule errs by at most (move^2 (X^2 + 8))^4 exp(move X)/GAUSS (docs/batches.md, "Atoms").
    """
    square = steep = most = 0.0
    for c in range(mus.size):
        mean, move = lean * 0.5 * mus[c] * mus[c], cell / mus[c]
        X = max(abs(at - mean), abs(far - mean)) / mus[c] + move
        square, steep = max(square, move * move * (X * X + 8.0)), max(steep, move * X)
        most = max(most, X)
    by_rule = square**4 / GAUSS * exp(min(steep, 700.0))
    return by_rule + ROUNDED * (1.0 + most * most / 600.0)


@kernel(error_model="numpy")
def _reach(q, mus, shares, each, up, down):
    """Fill `up` and `down` with how far to follow the ratio's logarithm above and below 0 for each
    mu, so that either law has at most a mass of exp(-each) beyond. The values ascend. Return the
    number of cells per deviation of the least mu that reaches a place, so that MOST cells hold both
    sides.
    """
    high, low, wide = 0.0, 0.0, 0.0
    for c in range(mus.size):
        mu, chance = mus[c], each + log(shares[c]) if shares[c] > 0.0 else -inf
        up[c], down[c] = high, low
        if chance > 0.0:
            far, seen = sqrt(2.0 * chance), sqrt(2.0 * max(chance + log(q), 0.0))
            up[c] = max(high, 0.5 * mu * mu + mu * seen, mu * far - 0.5 * mu * mu)
            down[c] = max(low, 0.5 * mu * mu + mu * far)
        wide += (up[c] - high + down[c] - low) / mu
        high, low = up[c], down[c]
    return min(FINE, (MOST - 2.0 * (FEWEST + mus.size)) / wide)


@kernel(error_model="numpy")
def _add_densities(mus, logs, slow, sign, at, cell, masses):
    """Add both laws' masses in a few equal cells to `masses`, shape (2, cells). The cells go outward
    from the logarithm `sign` * `at`. `logs` has the logarithm of chance/mu for each mu. A density is
    the last cell's times a ratio, and `slow` is the factor by which this ratio changes per cell.
    """
    size, turn, totals = empty(mus.size), empty(mus.size), empty(masses.shape[1])
    for node in range(NODES.size):
        start, top = at + NODES[node] * cell, -inf
        for c in range(mus.size):
            x, move = start / mus[c] + sign * 0.5 * mus[c], cell / mus[c]
            size[c], turn[c] = logs[c] - 0.5 * x * x, exp(-move * x - 0.5 * move * move)
            top = max(top, size[c])
        for c in range(mus.size):
            size[c] = exp(size[c] - top)
        _totals(size, turn, slow, totals)
        weight = WEIGHTS[node] * cell / SQRT_2PI
        # the other density is the own one times the ratio
        by_own, by_other, ratio = (
            weight * exp(top),
            weight * exp(top + sign * start),
            exp(sign * cell),
        )
        for k in range(totals.size):
            masses[0, k] += by_own * totals[k]
            masses[1, k] += by_other * totals[k]
            by_other *= ratio


@kernel(error_model="numpy")
def _cells(mus, shares, reach, fine, sign):
    """Return the `Cells` above 0 (`sign` 1) or below it (-1), as far as any mu reaches. A cell is
    as long as a deviation of the least mu that reaches it, over `fine`.
    """
    end, errors, masses = empty(MOST), empty((2, MOST)), zeros((2, MOST))
    logs, slow = empty(mus.size), empty(mus.size)
    for c in range(mus.size):
        logs[c] = log(shares[c] / mus[c]) if shares[c] > 0.0 else -inf
    at, count, beyond = 0.0, 0, zeros(2)
    for c in range(mus.size):
        mu, begin = mus[c], at
        if reach[c] > begin:
            cells = int(max((reach[c] - begin) / mu * fine, 1.0 if count else FEWEST))
            cell = (reach[c] - begin) / cells
            move = cell / mu
            for m in range(c, mus.size):
                slow[m] = exp(-((cell / mus[m]) ** 2))
            done = 0
            while done < cells:
                at = begin + done * cell
                steep = move * (at / mu + mu + CHUNK * move)
                few = min(CHUNK, cells - done, max(1, int(GROWTH / steep)))
                far, now = at + few * cell, slice(count, count + few)
                errors[0, now] = _density_error(mus[c:], cell, at, far, -sign)
                errors[1, now] = _density_error(mus[c:], cell, at, far, sign)
                _add_densities(mus[c:], logs[c:], slow[c:], sign, at, cell, masses[:, now])
                for k in range(few):
                    end[count + k] = begin + (done + k + 1.0) * cell
                count, done = count + few, done + few
            at = reach[c]
        beyond[0] += shares[c] * upper(at / mu + sign * 0.5 * mu)
        beyond[1] += shares[c] * upper(at / mu - sign * 0.5 * mu)
    return Cells(end[:count], masses[:, :count], errors[:, :count], beyond)


@kernel(error_model="numpy")
def _dots(places, masses, errors, sign):
    """Return both laws' masses at the places, from the masses of the cells between the places. Of
    each cell the upper end gets too much if `sign` is 1, and the lower end if `sign` is -1. The
    margins for errors raise the masses of losses above 0, and lower those of losses below 0.
    """
    at_own, at_other = zeros(places.size), zeros(places.size)
    for i in range(places.size - 1):
        low, high, own, other = places[i], places[i + 1], masses[0, i], masses[1, i]
        below, above = 0.5 - 0.5 * sign, 0.5 + 0.5 * sign
        part = above
        if own > 0.0 and other > 0.0:
            ratio = log(other / own)
            raised = sign * exp(ratio - low) * (errors[0, i] + errors[1, i])
            part = min(max((expm1(ratio - low) + raised) / expm1(high - low), 0.0), 1.0)
            below, above = (1.0 - part) * exp(low - ratio), part * exp(high - ratio)
        # an own loss is above 0 at places below 0 where the upper end gets too little
        own *= max(1.0 - (sign if high <= 0.0 else 1.0) * errors[0, i], 0.0)
        other *= 1.0 + errors[1, i]
        at_own[i] += (1.0 - part) * own
        at_own[i + 1] += part * own
        at_other[i] += below * other
        at_other[i + 1] += above * other
    return at_own, at_other


@kernel(error_model="numpy")
def _held(places, at_own, at_other, q):
    """Return the masses of the mixture that draws from the other law with chance q. Compute each
    mass from the more precise of the two laws' masses.
    """
    held = empty(places.size)
    for i in range(places.size):
        place = places[i]
        if place < 0.0:
            held[i] = at_own[i] * (1.0 - q + q * exp(place))
        else:
            held[i] = at_other[i] * ((1.0 - q) * exp(-place) + q)
    return held


@kernel(error_model="numpy")
def sampled(kind, q, mus, shares, each, v, mass):
    """Fill `v` with the losses of a sampled step, ascending, and `mass` with their masses. Return
    their number and the mass that counts as infinite.

    Args:
        kind: the kind of the pair.
        q: the probability that the step meets the record.
        mus, shares: how far the record may then move the step, in standard deviations of the
            noise, ascending, and the chances of these effects.
        each: losses less likely than exp(-each) may count as infinite.
    """
    up, down = empty(mus.size), empty(mus.size)
    fine = _reach(q, mus, shares, each, up, down)
    above, below = _cells(mus, shares, up, fine, 1.0), 0
    places, masses, errors = zeros(above.end.size + 1), above.masses, above.errors
    places[1:] = above.end
    if kind != WITHOUT_REPLACEMENT:
        beneath = _cells(mus, shares, down, fine, -1.0)
        below, far = beneath.end.size, beneath.far
        places = concatenate((-beneath.end[::-1], places))
        masses = concatenate((beneath.masses[:, ::-1], masses), axis=1)
        errors = concatenate((beneath.errors[:, ::-1], errors), axis=1)
    at_own, at_other = _dots(places, masses, errors, -1.0 if kind == ADD else 1.0)
    held, losses = _held(places, at_own, at_other, q), empty(places.size)
    count, off = places.size, (1.0 - q) * above.far[0] + q * above.far[1]
    for i in range(count):
        place = places[i]
        losses[i] = log1p(q * expm1(place)) if place < 600.0 else place + log(q)
    # mass beyond the cells counts as a loss of 0 on the other side, and as infinite on this side
    if kind == REMOVE:
        held[below] += (1.0 - q) * far[0] + q * far[1]
        v[:count], mass[:count], size = losses, held, count
    elif kind == ADD:
        at_own[below] += above.far[0]
        v[:count], mass[:count], size, off = -losses[::-1], at_own[::-1], count, far[0]
    else:  # a replaced record has losses above 0, their negatives, and 0 with the rest of the mass
        n, size = count - 1, 2 * count - 1
        v[:n], v[n], v[count:size] = -losses[:0:-1], 0.0, losses[1:]
        mass[:n], mass[count:size] = at_own[:0:-1], held[1:]
        mass[n] = max(1.0 - off - mass[:n].sum() - mass[count:size].sum(), 0.0)
    return size, off


@kernel(error_model="numpy")
def log_mixture(x, roots, shares):
    """Return the logarithm of sum_h shares exp(roots x - roots^2/2)."""
    top = -inf
    for h in range(roots.size):
        if shares[h] > 0.0:
            top = max(top, roots[h] * x - 0.5 * roots[h] * roots[h])
    total = 0.0
    for h in range(roots.size):
        if shares[h] > 0.0:
            total += shares[h] * exp(roots[h] * x - 0.5 * roots[h] * roots[h] - top)
    return top + log(total)


@kernel()
def _add_masses(x, share, masses):
    """Add to `masses` the chances, times `share`, that a standard normal number lies between the
    places x.
    """
    below, beyond = x[0] < 0.0, upper(abs(x[0]))
    for i in range(masses.size):
        beyond_end = upper(abs(x[i + 1]))
        apart = 1.0 - beyond - beyond_end if below and x[i + 1] > 0.0 else abs(beyond - beyond_end)
        masses[i] += share * apart
        below, beyond = x[i + 1] < 0.0, beyond_end


@kernel(error_model="numpy")
def hidden(kind, roots, shares, each, v, mass):
    """Fill and return what `sampled` does, for a mixture of Gaussian shifts by `roots` standard
    deviations against no shift. The label of the shift is hidden.
    """
    reach, most = sqrt(2.0 * each), 0.0
    for h in range(roots.size):
        if shares[h] > exp(-each):
            most = max(most, roots[h] + sqrt(2.0 * (each + log(shares[h]))))
    most = max(most, reach)
    count = int(min((most + reach) * FINE, MOST)) + 1
    x, places = empty(count), empty(count)
    masses, errors, off = zeros((2, count - 1)), empty((2, count - 1)), 0.0
    errors[:] = ROUNDED
    for i in range(count):
        x[i] = -reach + (most + reach) * i / (count - 1.0)
        places[i] = log_mixture(x[i], roots, shares)
    _add_masses(x, 1.0, masses[0])
    for h in range(roots.size):
        _add_masses(x - roots[h], shares[h], masses[1])
        off += shares[h] * upper(most - roots[h])
    at_own, at_other = _dots(places, masses, errors, -1.0 if kind == ADD else 1.0)
    if kind == ADD:  # losses above that of the first place count as infinite
        v[:count], mass[:count] = -places[::-1], at_own[::-1]
        mass[0] += upper(most)
        return count, upper(reach)
    v[:count], mass[:count] = places, _held(places, at_own, at_other, 1.0)
    for h in range(roots.size):  # losses below the first place's count as equal to it
        mass[0] += shares[h] * upper(reach + roots[h])
    return count, off


def _each(law, kind, *columns):
    """Apply `law` to every row of the columns. Return (losses, masses, counts, lost): losses and
    masses have the shape (rows, atoms); per row, `counts` are the numbers of atoms, and `lost` the
    masses of infinite losses.
    """
    rows = columns[0].shape[0]
    v, mass = zeros((2, rows, 2 * MOST + 2))
    size, off = empty(rows, int64), empty(rows)
    for i in range(rows):
        size[i], off[i] = law(kind, *(x[i] for x in columns), v[i], mass[i])
    return v, mass, size, off


all_sampled, all_hidden = partial(_each, sampled), partial(_each, hidden)
