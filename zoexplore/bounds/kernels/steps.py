"""What a step of a run is in every order of the norm, for many runs at once: rows of `plans.Weights` and of `plans.Run`."""

from math import exp, log, pi, sqrt

from numpy import empty

from zoexplore.bounds.kernels.compiling import kernel
from zoexplore.bounds.kernels.moments import mean_length, sum_constant, sum_norm
from zoexplore.bounds.kernels.norms import IDLE, JOINT, joint_constant, largest_drift_constant, moment, slower

# Of a run, beside beta: what `steps` takes, a row each.
COLUMNS = ("K", "d", "r", "low", "top", "slowest", "kind", "ball", "B", "e", "own", "data", "beta", "most", "times", "delta")


@kernel(error_model="numpy")
def _moments_constant(r, low, top, slowest, K, d, order, kind):
    """c_lambda^2 of a drift's moments up to the order, of steps of any size from the part `slowest` on."""
    if kind < JOINT or d == 1.0:
        return largest_drift_constant(r, low, top, slowest, d, order, kind, kind == IDLE and K == d)
    shrink = (d - 1.5) / (d + 2.0 * order - 1.36)
    c2 = joint_constant(r, low, top, shrink)
    if slowest < 1.0:
        q, least, most = slower(r, low, top, slowest)
        c2 = max(c2, joint_constant(q, least, most, shrink))
    return c2


@kernel(error_model="numpy")
def _same(columns, i, count):
    """Whether a row's first columns are those of the row before."""
    if i == 0:
        return False
    for k in range(count):
        if columns[i, k] != columns[i - 1, k]:
            return False
    return True


@kernel(error_model="numpy")
def _length(K, d, order):
    """g: of a fixed vector the part that is seen, in the norm at twice the order."""
    return 1.0 if K == d else moment(K, d, order)


@kernel(error_model="numpy")
def _kicks(row, g, lipschitz):
    """What the record adds where its length is known: in the norm, for certain, and both at distance 0."""
    B, e, own, data = row[8], row[9], row[10], row[11]
    if not lipschitz:
        return B + e, B + e, B, B
    return min(g * data, B) + e, min(data, B) + e, min(g * data + own, B), min(data + own, B)


@kernel(error_model="numpy")
def steps(columns, orders, tops, typical, lipschitz):
    """(rows of `Run` with k0 and k1, means, orders, moments' constants, mean lengths): see `budgets.solve`."""
    rows, count = columns.shape[0], orders.size
    runs, means, weights = empty((rows, 15)), empty((rows, 8)), empty((rows, count, 8))
    constants, chi = empty((rows, tops.size)), empty(rows)
    sums = empty(count)
    for i in range(rows):
        row = columns[i]
        K, d, r, low, top, slowest, kind, ball = row[0], row[1], row[2], row[3], row[4], row[5], row[6], row[7]
        B, beta, delta = row[8], row[12], row[15]
        if _same(columns, i, 7):
            runs[i], chi[i] = runs[i - 1], chi[i - 1]
            for k in range(tops.size):
                constants[i, k] = constants[i - 1, k]
        else:
            acting = kind > IDLE
            runs[i, 0], runs[i, 1], chi[i] = K, d, mean_length(d)
            runs[i, 2] = _moments_constant(r, low, top, slowest, K, d, 1.0, kind)
            runs[i, 3] = sum_constant(r, low, top, slowest, d, acting)
            runs[i, 4] = 0.0
            for part in (1.0, slowest):
                q, least, most = slower(r, low, top, part)
                edge = max(abs(q - least), abs(q - most)) + 1e-15
                runs[i, 4] = max(runs[i, 4], q * q + edge * edge if acting else edge * edge)
            runs[i, 13], runs[i, 14] = 0.0, 0.0
            if not acting and slowest == 1.0:
                runs[i, 13], runs[i, 14] = abs(r - 0.5 * (top + low)), 0.5 * (top - low)
            for k in range(tops.size):
                constants[i, k] = _moments_constant(r, low, top, slowest, K, d, tops[k], kind)
        runs[i, 5], runs[i, 6], runs[i, 7] = ball, B, row[9]
        s2 = (1.0 - beta) / d
        runs[i, 8], runs[i, 9] = K / (beta + s2 * K), 0.0 if K == d else 1.0 / s2
        runs[i, 10], runs[i, 11], runs[i, 12] = row[13], row[14], delta
        part = sqrt(K / d)
        means[i, 3], means[i, 4], means[i, 5], means[i, 6] = _kicks(row, part, lipschitz)
        means[i, 7] = 1.0
        means[i, 0], means[i, 1], means[i, 2] = 1.0, runs[i, 2], B * runs[i, 3] * part * sqrt(2.0 / pi)
        same, spans = _same(columns, i, 7), _same(columns, i, 2)
        for k in range(count):
            order = orders[k]
            g = _length(K, d, order)
            if not spans:
                even = order + order % 2.0  # norms grow with their order
                sums[k] = sum_norm(K, d, even, _length(K, d, 0.5 * even))
            weights[i, k, 0] = order
            weights[i, k, 1] = (
                weights[i - 1, k, 1]
                if same
                else largest_drift_constant(r, low, top, slowest, d, order, kind, kind == IDLE and K == d)
            )
            weights[i, k, 2] = B / sqrt(K) * runs[i, 3] * sums[k]
            weights[i, k, 3], weights[i, k, 4], weights[i, k, 5], weights[i, k, 6] = _kicks(row, g, lipschitz)
            weights[i, k, 7] = exp(-log(typical * delta) / order)
    return runs, means, weights, constants, chi
