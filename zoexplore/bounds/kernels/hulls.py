"""The least of several bounds on the norm J: their lower hull on the tabled rays (docs/sharp.md,
"Linear models").
"""

from numpy import empty, int64

from zoexplore.bounds.kernels.compiling import kernel
from zoexplore.bounds.kernels.norms import MOMENT_UP, RAYS, moment, norm
from zoexplore.bounds.kernels.rounding import UP


@kernel()
def linear_growth(d, order):
    """f_lambda, from above: ||1 + beta|| / kappa_1^2, with beta a coordinate of a uniform direction
    and kappa_1 the mean of sqrt(1 - beta^2). (1 + beta)/2 is a Beta variable, and Watson's bounds
    give kappa_1; d >= 2.
    """
    return 2.0 * moment(d - 1.0, 2.0 * (d - 1.0), order) ** 2 * (d - 0.36) / (d - 1.5) * MOMENT_UP


@kernel(error_model="numpy")
def linear_norm(table, growth, ratio):
    """J, shape (rays,), of linear models whose clip acts: the lower hull of the least of J(A, C)
    and growth J(A, ratio C).
    """
    size = RAYS.shape[1]
    least = empty(size)
    for k in range(size):
        least[k] = min(table[k], growth * norm(table, RAYS[1, k], ratio * RAYS[0, k]).J)
    return lower_hull(least)


@kernel(error_model="numpy")
def norm_apart(table, ratio):
    """J on rays for an idle clip: the lower hull of the least of J and of the sum of its parts'
    norms. In the sum the drift is longer, at most by the root of c^2 = ratio c_lambda^2.
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
    """Replace values, shape (rays,), by their lower hull. A convex function of (A, C) below the
    values is also below the hull.
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
    """The line through the values on rays i and k, at ray j, in the digits of the smaller of t and
    1 - t.
    """
    side = 1 if RAYS[0, j] > 0.5 else 0
    return values[i] + (values[k] - values[i]) * (
        (RAYS[side, j] - RAYS[side, i]) / (RAYS[side, k] - RAYS[side, i])
    )
