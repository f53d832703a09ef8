"""Privacy losses as a few hundred atoms, which dominate them (docs/batches.md, "Atoms").

The likelihood ratio of a pair is cut into cells. In each, the second law's mass goes to both ends
so that the first law keeps its own: as a function of the ratio that connects the dots of the pair's
profile, which is nowhere smaller.
"""

from math import erfc, exp, expm1, inf, log, log1p, sqrt

from numpy import empty, int64, zeros

from zoexplore.bounds.kernels.compiling import kernel

WITHOUT_REPLACEMENT, REMOVE, ADD = 0, 1, 2  # whose pair: docs/batches.md
FINE = 28.0  # cells to a standard deviation of the logarithm of the ratio
MOST = 1000  # and in all
ROUNDED = 1e-13  # of a cell, by which its mass may be off
# of delta: losses beyond the last cell, as likely as that in all steps together, count as infinite
CUT = 1e-6
SQRT_2 = sqrt(2.0)


@kernel()
def upper(x):
    """The chance of a standard normal number beyond x."""
    return 0.5 * erfc(x / SQRT_2)


@kernel()
def _between(x, beyond, x_end, beyond_end):
    """The chance of a number between two, from the chances beyond their sizes."""
    if x < 0.0 < x_end:
        return 1.0 - beyond - beyond_end
    return abs(beyond - beyond_end)


@kernel(error_model="numpy")
def _ends(q, mus, shares, each, two_sided):
    """The least and the largest logarithm of the ratio, beyond which either law has a mass of at
    most exp(-each).
    """
    low = high = 0.0
    for c in range(mus.size):
        if shares[c] <= 0.0:
            continue
        mu, far = mus[c], sqrt(2.0 * max(each + log(shares[c]), 0.0))
        seen = sqrt(2.0 * max(each + log(shares[c]) + log(q), 0.0))
        high = max(high, 0.5 * mu * mu + mu * seen, mu * far - 0.5 * mu * mu)
        low = min(low, -0.5 * mu * mu - mu * far)
    return low if two_sided else 0.0, high


@kernel(error_model="numpy")
def _masses(mus, shares, places, own, other):
    """Fill both laws' masses of the cells between the places, shape (cells + 2,): first what lies
    below, last what is beyond. The logarithm of the ratio is N(-mu^2/2, mu^2) under the one,
    N(mu^2/2, mu^2) under the `other`, mixed over mu.
    """
    last = places.size - 1
    own[:] = 0.0
    other[:] = 0.0
    for c in range(mus.size):
        mu, share = mus[c], shares[c]
        x, y = places[0] / mu + 0.5 * mu, places[0] / mu - 0.5 * mu
        a, b = upper(abs(x)), upper(abs(y))
        own[0] += share * (a if x < 0.0 else 1.0 - a)
        other[0] += share * (b if y < 0.0 else 1.0 - b)
        for i in range(last):
            x_end, y_end = places[i + 1] / mu + 0.5 * mu, places[i + 1] / mu - 0.5 * mu
            a_end, b_end = upper(abs(x_end)), upper(abs(y_end))
            own[i + 1] += share * _between(x, a, x_end, a_end)
            other[i + 1] += share * _between(y, b, y_end, b_end)
            x, a, y, b = x_end, a_end, y_end, b_end
        own[last + 1] += share * (a if x > 0.0 else 1.0 - a)
        other[last + 1] += share * (b if y > 0.0 else 1.0 - b)


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
def _dots(places, own, other, rounded, at_own, at_other):
    """Fill both laws' masses at the places, the first at ratio 0 and shape (places + 1,)."""
    at_own[:] = 0.0
    at_other[:] = 0.0
    for i in range(places.size):  # the cell below each place
        low = -inf if i == 0 else places[i - 1]
        part, below, above = _part(own[i], other[i], low, places[i], rounded)
        at_own[i] += (1.0 - part) * own[i]
        at_own[i + 1] += part * own[i]
        at_other[i] += below
        at_other[i + 1] += above


@kernel(error_model="numpy")
def sampled(kind, q, mus, shares, each, v, mass):
    """Fill a sampled step's losses, ascending, and their masses; returns their number and the mass
    that counts as infinite.

    Args:
        kind: whose pair.
        q: the probability that the step has the record.
        mus, shares: how far it then moves the step, in standard deviations, and how likely.
        each: losses less likely than exp(-each) may count as infinite.
    """
    two_sided = kind != WITHOUT_REPLACEMENT
    low, high = _ends(q, mus, shares, each, two_sided)
    square = 0.0
    for c in range(mus.size):
        square += shares[c] * mus[c] * mus[c]
    count = int(min(max((high - low) / sqrt(square) * FINE, 8.0), MOST)) + 1
    below = int(count * -low / (high - low)) if two_sided else 0
    places = empty(count)
    for i in range(count):  # 0 is one of the places
        places[i] = (
            low * (1.0 - i / below) if i < below else high * (i - below) / (count - 1.0 - below)
        )
    own, other, at_own, at_other = (
        empty(count + 1),
        empty(count + 1),
        empty(count + 1),
        empty(count + 1),
    )
    _masses(mus, shares, places, own, other)
    if not two_sided:
        own[0] = other[0] = 0.0
    _dots(places, own, other, -ROUNDED if kind == ADD else ROUNDED, at_own, at_other)
    far, off = own[count], (1.0 - q) * own[count] + q * other[count]
    if kind == WITHOUT_REPLACEMENT:
        return _both_signs(q, places, at_own, at_other, far, off, v, mass), off
    for i in range(count + 1):
        loss = (
            log1p(-q)
            if i == 0
            else log1p(q * expm1(places[i - 1]))
            if places[i - 1] < 600.0
            else places[i - 1] + log(q)
        )
        j = i if kind == REMOVE else count - i
        v[j] = loss if kind == REMOVE else -loss
        mass[j] = (
            (1.0 - q) * at_own[i] + q * at_other[i]
            if kind == REMOVE
            else at_own[i] + (far if i == count else 0.0)
        )
    return count + 1, off if kind == REMOVE else 0.0


@kernel(error_model="numpy")
def _both_signs(q, places, at_own, at_other, far, off, v, mass):
    """The losses of a replaced record: those above 0, their negatives, and 0, which has the rest of
    the mass.
    """
    count, total = places.size, off
    for i in range(1, count):
        loss = log1p(q * expm1(places[i])) if places[i] < 600.0 else places[i] + log(q)
        up, down = count - 1 + i, count - 1 - i
        v[up], mass[up] = loss, (1.0 - q) * at_own[i + 1] + q * at_other[i + 1]
        v[down], mass[down] = -loss, at_own[i + 1] + (far if i == count - 1 else 0.0)
        total += mass[up] + mass[down]
    v[count - 1], mass[count - 1] = 0.0, max(1.0 - total, 0.0)
    return 2 * count - 1


@kernel(error_model="numpy")
def _log_mixture(x, roots, shares):
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
        if shares[h] > 0.0:
            most = max(most, roots[h] + sqrt(2.0 * max(each + log(shares[h]), 0.0)))
    most = max(most, reach)
    count = int(min((most + reach) * FINE, MOST)) + 1
    places, own, other = empty(count), zeros(count + 1), zeros(count + 1)
    at_own, at_other = empty(count + 1), empty(count + 1)
    x = empty(count)
    for i in range(count):
        x[i] = -reach + (most + reach) * i / (count - 1.0)
        places[i] = _log_mixture(x[i], roots, shares)
    for h in range(roots.size + 1):  # no shift, and then each
        shift, share = (0.0, 1.0) if h == roots.size else (roots[h], shares[h])
        if share <= 0.0:
            continue
        to = own if h == roots.size else other
        at, beyond = x[0] - shift, upper(abs(x[0] - shift))
        to[0] += share * (beyond if at < 0.0 else 1.0 - beyond)
        for i in range(1, count):
            end, beyond_end = x[i] - shift, upper(abs(x[i] - shift))
            to[i] += share * _between(at, beyond, end, beyond_end)
            at, beyond = end, beyond_end
        to[count] += share * (beyond if at > 0.0 else 1.0 - beyond)
    if kind == ADD:  # losses above those of the first place count as infinite
        off, own[0], other[0] = own[0], 0.0, 0.0
        far = own[count]
    else:
        off, far = other[count], 0.0
    _dots(places, own, other, -ROUNDED if kind == ADD else ROUNDED, at_own, at_other)
    for i in range(count):
        j = i if kind == REMOVE else count - 1 - i
        v[j] = places[i] if kind == REMOVE else -places[i]
        mass[j] = at_other[i + 1] if kind == REMOVE else at_own[i + 1]
    if kind == ADD:
        mass[0] += far
    else:  # what lies below the first place counts as its loss
        mass[0] += at_other[0]
    return count, off


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
