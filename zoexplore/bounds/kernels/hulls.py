"""Take the least of several bounds on the norm J: their lower hull on the tabled rays
(docs/sharp.md, "Linear models").
"""

from numpy import empty, int64

from zoexplore.bounds.kernels.compiling import kernel
from zoexplore.bounds.kernels.norms import MOMENT_UP, RAYS, moment, norm
from zoexplore.bounds.kernels.rounding import UP


@kernel()
def linear_growth(d, order):
    """Return f_lambda = ||1 + beta|| / kappa_1^2, from above; d >= 2. beta is a coordinate of a
    uniform direction, and kappa_1 the mean of sqrt(1 - beta^2). (1 + beta)/2 is a Beta variable;
    Watson's bounds give kappa_1.
    """
    return 2.0 * moment(d - 1.0, 2.0 * (d - 1.0), order) ** 2 * (d - 0.36) / (d - 1.5) * MOMENT_UP


@kernel(error_model="numpy")
def linear_norm(table, growth, ratio):
    """Return J, shape (rays,), for linear models whose clip acts: the lower hull of the least of
    J(A, C) and growth J(A, ratio C).
    """
    size = RAYS.shape[1]
    least = empty(size)
    for k in range(size):
        least[k] = min(table[k], growth * norm(table, RAYS[1, k], ratio * RAYS[0, k]).J)
    return lower_hull(least)


@kernel(error_model="numpy")
def norm_apart(table, ratio):
    """Return J, shape (rays,), for an idle clip: the lower hull of the smaller of two bounds, J and
    the sum of the norms of its two parts. The sum counts the drift by a larger constant, at most
    c^2 = ratio c_lambda^2.
    """
    size = RAYS.shape[1]
    least = empty(size)
    for k in range(size):
        least[k] = min(
            table[k], (RAYS[1, k] * table[0] + ratio * RAYS[0, k] * table[size - 1]) * UP
        )
    return lower_hull(least)


@kernel(error_model="numpy")
def lower_hull(least):
    """Replace the values `least`, shape (rays,), by their lower hull. A convex function of (A, C)
    that is below the values is also below the hull.
    """
    size = RAYS.shape[1]
    corners, count = empty(size, int64), 0
    for k in range(size):
        while count > 1:
            i, j = corners[count - 2], corners[count - 1]
            if least[j] < _chord(least, i, j, k):
                break
            count -= 1
        corners[count] = k
        count += 1
    for c in range(count - 1):
        i, k = corners[c], corners[c + 1]
        for j in range(i + 1, k):
            least[j] = _chord(least, i, j, k)
    return least * UP


@kernel(error_model="numpy")
def _chord(values, i, j, k):
    """Return the value at ray j of the line through the values on rays i and k. The value is
    computed from t or 1 - t, whichever is smaller, so that it keeps its digits.
    """
    side = 1 if RAYS[0, j] > 0.5 else 0
    return values[i] + (values[k] - values[i]) * (
        (RAYS[side, j] - RAYS[side, i]) / (RAYS[side, k] - RAYS[side, i])
    )
