"""Privacy losses as a few hundred atoms, which dominate them (docs/batches.md, "Atoms").

The likelihood ratio of a pair is cut into cells. In each, the second law's mass goes to both ends
so that the first law keeps its own. This replaces the pair's profile by chords, which lie above it.
"""

from math import erfc, exp, expm1, inf, log, log1p, sqrt

from numpy import empty, int64, zeros

from zoexplore.bounds.kernels.compiling import kernel

WITHOUT_REPLACEMENT, REMOVE, ADD = 0, 1, 2  # whose pair: docs/batches.md
FINE = 28.0  # cells to a standard deviation of the logarithm of the ratio
FEWEST, MOST = 8.0, 1000  # to either side, and in all
ROUNDED = 1e-13  # of a cell, by which its mass may be off
# of delta: losses beyond the last cell, as likely as that in all steps together, count as infinite
CUT = 1e-5
SQRT_2 = sqrt(2.0)


@kernel()
def upper(x):
    """The chance of a standard normal number beyond x."""
    return 0.5 * erfc(x / SQRT_2)


@kernel()
def _add_masses(x, share, masses):
    """Add those of a standard normal number, of that chance, to the masses of the cells between the
    places x, shape (cells + 2,): first what lies below, last what is beyond.
    """
    at, beyond = x[0], upper(abs(x[0]))
    masses[0] += share * (beyond if at < 0.0 else 1.0 - beyond)
    for i in range(1, x.size):
        end, beyond_end = x[i], upper(abs(x[i]))
        both = 1.0 - beyond - beyond_end if at < 0.0 < end else abs(beyond - beyond_end)
        masses[i] += share * both
        at, beyond = end, beyond_end
    masses[x.size] += share * (beyond if at > 0.0 else 1.0 - beyond)


@kernel(error_model="numpy")
def _reach(q, mus, shares, each, up, down):
    """Fill how far the logarithm of the ratio is above and below 0 for each mu, beyond which either
    law has a mass of at most exp(-each). Returns how many deviations both sides have in all, each
    stretch counted by the least mu that reaches it.
    """
    high, low, wide = 0.0, 0.0, 0.0
    for c in range(mus.size):
        mu, chance = mus[c], each + log(shares[c]) if shares[c] > 0.0 else -inf
        up[c] = down[c] = 0.0
        if chance > 0.0:
            far, seen = sqrt(2.0 * chance), sqrt(2.0 * max(chance + log(q), 0.0))
            up[c] = max(0.5 * mu * mu + mu * seen, mu * far - 0.5 * mu * mu)
            down[c] = 0.5 * mu * mu + mu * far
        wide += (max(up[c] - high, 0.0) + max(down[c] - low, 0.0)) / mu
        high, low = max(high, up[c]), max(low, down[c])
    return wide


@kernel(error_model="numpy")
def _places(mus, reach, fine, places):
    """Fill places from 0 to the farthest reach, without 0, so that a cell is a deviation of the
    least mu that reaches it, over `fine`; returns their number.
    """
    at, count = 0.0, 0
    for c in range(mus.size):
        if reach[c] > at:
            cells = int(max((reach[c] - at) / mus[c] * fine, 1.0 if count else FEWEST))
            for k in range(cells):
                places[count + k] = at + (reach[c] - at) * (k + 1.0) / cells
            at, count = reach[c], count + cells
    return count


@kernel(error_model="numpy")
def _part(own, other, low, high, rounded):
    """The part of a cell's mass that goes to its upper end, and what both ends' masses are of the
    `other` law.
    """
    if not (own > 0.0 and other > 0.0):
        part = 1.0 if rounded > 0.0 else 0.0
        return part, 0.0, other
    ratio = log(other / own)
    part = min(
        max(
            (expm1(ratio - low) / expm1(high - low) if low > -inf else exp(ratio - high)) + rounded,
            0.0,
        ),
        1.0,
    )
    return (
        part,
        (1.0 - part) * other * exp(low - ratio) if low > -inf else 0.0,
        part * other * exp(high - ratio),
    )


@kernel(error_model="numpy")
def _dots(places, own, other, rounded):
    """Both laws' masses at the places, the first at ratio 0, each of shape (places + 1,)."""
    at_own, at_other = zeros(own.size), zeros(own.size)
    for i in range(places.size):  # the cell below each place
        low = -inf if i == 0 else places[i - 1]
        part, below, above = _part(own[i], other[i], low, places[i], rounded)
        at_own[i] += (1.0 - part) * own[i]
        at_own[i + 1] += part * own[i]
        at_other[i] += below
        at_other[i + 1] += above
    return at_own, at_other


@kernel(error_model="numpy")
def sampled(kind, q, mus, shares, each, v, mass):
    """Fill a sampled step's losses, ascending, and their masses; returns their number and the mass
    that counts as infinite.

    Args:
        kind: whose pair.
        q: the probability that the step has the record.
        mus, shares: how far it then moves the step, in standard deviations, ascending, and how
            likely.
        each: losses less likely than exp(-each) may count as infinite.
    """
    two_sided, up, down = kind != WITHOUT_REPLACEMENT, empty(mus.size), empty(mus.size)
    wide = _reach(q, mus, shares, each, up, down)
    fine = min(FINE, (MOST - 2.0 * (FEWEST + mus.size)) / wide)
    above, beneath = empty(MOST), empty(MOST)
    below = _places(mus, down, fine, beneath) if two_sided else 0
    count = below + 1 + _places(mus, up, fine, above)
    places = zeros(count)  # 0 is one of the places
    places[:below], places[below + 1 :] = -beneath[:below][::-1], above[: count - below - 1]
    own, other = zeros(count + 1), zeros(count + 1)
    for c in range(mus.size):
        # N(-mu^2/2, mu^2) under the one law, N(mu^2/2, mu^2) under the other
        _add_masses(places / mus[c] + 0.5 * mus[c], shares[c], own)
        _add_masses(places / mus[c] - 0.5 * mus[c], shares[c], other)
    off = own[0] if kind == ADD else (1.0 - q) * own[count] + q * other[count]
    if kind != REMOVE:
        own[0] = other[0] = 0.0
    at_own, at_other = _dots(places, own, other, -ROUNDED if kind == ADD else ROUNDED)
    losses, held = empty(count + 1), (1.0 - q) * at_own + q * at_other
    at_own[count] += own[count]
    losses[0] = log1p(-q) if q < 1.0 else -inf
    for i in range(count):
        place = places[i]
        losses[i + 1] = log1p(q * expm1(place)) if place < 600.0 else place + log(q)
    if kind == REMOVE:
        v[: count + 1], mass[: count + 1] = losses, held
        return count + 1, off
    if kind == ADD:
        v[:count], mass[:count] = -losses[:0:-1], at_own[:0:-1]
        return count, off
    # of a replaced record: losses above 0, their negatives, and 0, which has the rest of the mass
    n, size = count - 1, 2 * count - 1
    v[:n], v[n], v[count:size] = -losses[:1:-1], 0.0, losses[2:]
    mass[:n], mass[count:size] = at_own[:1:-1], held[2:]
    mass[n] = max(1.0 - off - mass[:n].sum() - mass[count:size].sum(), 0.0)
    return size, off


@kernel(error_model="numpy")
def log_mixture(x, roots, shares):
    """The logarithm of sum_h shares exp(roots x - roots^2/2)."""
    top = -inf
    for h in range(roots.size):
        if shares[h] > 0.0:
            top = max(top, roots[h] * x - 0.5 * roots[h] * roots[h])
    total = 0.0
    for h in range(roots.size):
        if shares[h] > 0.0:
            total += shares[h] * exp(roots[h] * x - 0.5 * roots[h] * roots[h] - top)
    return top + log(total)


@kernel(error_model="numpy")
def hidden(kind, roots, shares, each, v, mass):
    """The same of a mixture of Gaussian shifts by `roots` standard deviations, whose label is
    hidden, against no shift.
    """
    reach, most = sqrt(2.0 * each), 0.0
    for h in range(roots.size):
        if shares[h] > exp(-each):
            most = max(most, roots[h] + sqrt(2.0 * (each + log(shares[h]))))
    most = max(most, reach)
    count = int(min((most + reach) * FINE, MOST)) + 1
    x, places, own, other = empty(count), empty(count), zeros(count + 1), zeros(count + 1)
    for i in range(count):
        x[i] = -reach + (most + reach) * i / (count - 1.0)
        places[i] = log_mixture(x[i], roots, shares)
    _add_masses(x, 1.0, own)
    for h in range(roots.size):
        if shares[h] > 0.0:
            _add_masses(x - roots[h], shares[h], other)
    if kind == ADD:  # losses above those of the first place count as infinite
        off, own[0], other[0] = own[0], 0.0, 0.0
        at_own, _ = _dots(places, own, other, -ROUNDED)
        v[:count], mass[:count] = -places[::-1], at_own[:0:-1]
        mass[0] += own[count]
        return count, off
    _, at_other = _dots(places, own, other, ROUNDED)
    v[:count], mass[:count] = places, at_other[1:]
    mass[0] += at_other[0]  # what lies below the first place counts as its loss
    return count, other[count]


@kernel(error_model="numpy")
def all_sampled(kind, q, mus, shares, each):
    """`sampled` for every row: (losses and masses, shape (rows, atoms), their numbers, what counts
    as infinite).
    """
    rows, atoms = q.size, 2 * MOST + 2
    v, mass, size, off = zeros((rows, atoms)), zeros((rows, atoms)), empty(rows, int64), empty(rows)
    for i in range(rows):
        size[i], off[i] = sampled(kind, q[i], mus[i], shares[i], each[i], v[i], mass[i])
    return v, mass, size, off


@kernel(error_model="numpy")
def all_hidden(kind, roots, shares, each):
    """`hidden` for every row, in the same form."""
    rows, atoms = each.size, MOST + 1
    v, mass, size, off = zeros((rows, atoms)), zeros((rows, atoms)), empty(rows, int64), empty(rows)
    for i in range(rows):
        size[i], off[i] = hidden(kind, roots[i], shares[i], each[i], v[i], mass[i])
    return v, mass, size, off
