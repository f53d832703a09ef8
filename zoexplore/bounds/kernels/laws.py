"""Replace privacy losses by a few hundred atoms, which dominate them (docs/batches.md, "Atoms").

The likelihood ratio of a pair is cut into cells. In each cell the second law's mass moves to both
ends, in such parts that the first law's mass is kept. This replaces the pair's profile by chords,
which lie above the profile.
"""

from math import erfc, exp, expm1, inf, log, log1p, sqrt

from numpy import empty, int64, zeros

from zoexplore.bounds.kernels.compiling import kernel

WITHOUT_REPLACEMENT, REMOVE, ADD = 0, 1, 2  # kinds of pairs (docs/batches.md)
FINE = 28.0  # cells per standard deviation of the ratio's logarithm
FEWEST, MOST = 8.0, 1000  # cells: the fewest on either side, the most in all
ROUNDED = 1e-13  # the part of a cell's mass by which it may be off
# the part of delta that losses beyond the last cell may have in all steps; they count as infinite
CUT = 1e-5
SQRT_2 = sqrt(2.0)


@kernel()
def upper(x):
    """Return the chance that a standard normal number is beyond x."""
    return 0.5 * erfc(x / SQRT_2)


@kernel()
def _add_masses(x, share, masses):
    """Add `share` times the masses of a standard normal number to `masses`, shape (cells + 2,):
    first the mass below the places x, then those of the cells between them, last the mass beyond.
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
    """Fill `up` and `down`: how far the logarithm of the ratio is above and below 0 for each mu,
    until either law has at most a mass of exp(-each) beyond. Return the length of both sides in
    deviations; each stretch counts by the least mu that reaches it.
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
    """Fill `places` from 0, which is left out, to the farthest reach, and return their number. A
    cell is as long as a deviation of the least mu that reaches it, over `fine`.
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
    """Return the part of a cell's `own` mass that goes to the upper end, and the masses of the
    `other` law at the lower and at the upper end.
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
    """Return both laws' masses at the places, shape (places + 1,); the first is at ratio 0."""
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
    """Fill `v` with the losses of a sampled step, ascending, and `mass` with their masses. Return
    their number and the mass that counts as infinite.

    Args:
        kind: the kind of the pair.
        q: the probability that the step meets the record.
        mus, shares: how far the record then moves the step, in standard deviations, ascending, and
            with what chances.
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
        # the ratio's logarithm is N(-mu^2/2, mu^2) under `own`, N(mu^2/2, mu^2) under `other`
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
    # a replaced record has losses above 0, their negatives, and 0 with the rest of the mass
    n, size = count - 1, 2 * count - 1
    v[:n], v[n], v[count:size] = -losses[:1:-1], 0.0, losses[2:]
    mass[:n], mass[count:size] = at_own[:1:-1], held[2:]
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
    x, places, own, other = empty(count), empty(count), zeros(count + 1), zeros(count + 1)
    for i in range(count):
        x[i] = -reach + (most + reach) * i / (count - 1.0)
        places[i] = log_mixture(x[i], roots, shares)
    _add_masses(x, 1.0, own)
    for h in range(roots.size):
        if shares[h] > 0.0:
            _add_masses(x - roots[h], shares[h], other)
    if kind == ADD:  # losses above that of the first place count as infinite
        off, own[0], other[0] = own[0], 0.0, 0.0
        at_own, _ = _dots(places, own, other, -ROUNDED)
        v[:count], mass[:count] = -places[::-1], at_own[:0:-1]
        mass[0] += own[count]
        return count, off
    _, at_other = _dots(places, own, other, ROUNDED)
    v[:count], mass[:count] = places, at_other[1:]
    mass[0] += at_other[0]  # losses below that of the first place count as that one
    return count, other[count]


@kernel(error_model="numpy")
def all_sampled(kind, q, mus, shares, each):
    """Apply `sampled` to every row. Return (losses and masses, each of shape (rows, atoms), their
    numbers, the masses that count as infinite).
    """
    rows, atoms = q.size, 2 * MOST + 2
    v, mass, size, off = zeros((rows, atoms)), zeros((rows, atoms)), empty(rows, int64), empty(rows)
    for i in range(rows):
        size[i], off[i] = sampled(kind, q[i], mus[i], shares[i], each[i], v[i], mass[i])
    return v, mass, size, off


@kernel(error_model="numpy")
def all_hidden(kind, roots, shares, each):
    """Apply `hidden` to every row, and return what `all_sampled` does."""
    rows, atoms = each.size, MOST + 1
    v, mass, size, off = zeros((rows, atoms)), zeros((rows, atoms)), empty(rows, int64), empty(rows)
    for i in range(rows):
        size[i], off[i] = hidden(kind, roots[i], shares[i], each[i], v[i], mass[i])
    return v, mass, size, off
