"""Losses of linear models: their proved constants and number of scores. This module does not import
torch.

Score j of a row x is w_j . x. The loss of a record is ell(x, y; w) + ridge/2 |w|^2; only the first
part is clipped, and the second is the same for every dataset.
"""

from dataclasses import dataclass
from math import sqrt


@dataclass(frozen=True)
class Constants:
    """Constants of every record's loss, for rows of length at most 1.

    Args:
        regime: as in `Setting`.
        M: smoothness, the ridge included.
        m: strong convexity, the ridge included.
        lipschitz: the Lipschitz constant of the clipped part, without the ridge.
        linear: whether the clipped part is a function of one linear form of the parameters.
    """

    regime: str
    M: float
    m: float
    lipschitz: float
    linear: bool = False


class LogisticLoss:
    """Two classes, one score z = w . x, ell = ln(1 + e^z) - y z with y in {0, 1}.

    With s = 1/(1 + e^-z), the gradient is (s - y) x, and its length is at most |x| <= 1. The
    Hessian is s(1 - s) x x', whose eigenvalues lie between 0 and |x|^2/4 <= 1/4. With the ridge: m
    = ridge, M = 1/4 + ridge, Lipschitz constant 1. The loss is a function of z alone, one linear
    form of w.
    """

    @staticmethod
    def scores(classes: int) -> int:
        return 1

    @staticmethod
    def constants(ridge: float) -> Constants:
        return Constants(
            "strongly-convex" if ridge > 0 else "convex", 0.25 + ridge, ridge, 1.0, linear=True
        )


class SoftmaxLoss:
    """c classes, scores z_j = w_j . x, ell = ln(sum_j e^(z_j)) - z_y.

    With p = softmax(z) and e_y the label's unit vector, the gradient is (p - e_y) (x) x, a
    Kronecker product. Its length is
    |p - e_y| |x| <= sqrt(2), since |p - e_y|^2 = |p|^2 - 2 p_y + 1 <= 2 (both are probability vectors: |p|^2 <= 1, p_y >= 0).
    The Hessian is (diag(p) - p p') (x) x x'. For a unit vector v, v'(diag(p) - pp')v is the variance of v_J, where J is drawn from p.
    It is at least 0 and at most (max v - min v)^2/4 <= 1/2 (Popoviciu; a unit vector's coordinates are at most sqrt(2) apart). So
    its eigenvalues lie between 0 and |x|^2/2 <= 1/2. With the ridge: m = ridge, M = 1/2 + ridge, Lipschitz constant sqrt(2).
    The loss is a function of c linear forms of w, not of one.
    """

    @staticmethod
    def scores(classes: int) -> int:
        return classes

    @staticmethod
    def constants(ridge: float) -> Constants:
        return Constants(
            "strongly-convex" if ridge > 0 else "convex", 0.5 + ridge, ridge, sqrt(2.0)
        )


LOSSES: dict[str, type[LogisticLoss] | type[SoftmaxLoss]] = {
    "logistic": LogisticLoss,
    "softmax": SoftmaxLoss,
}
