"""Output perturbation: only the last step's noise counts."""

from itertools import product

import numpy as np

from zoexplore.bounds.assumptions import (
    CLIPPED,
    FINITE_BALL,
    GRADIENTS,
    LAST_RELEASED,
    START,
    STEP_SIZE,
    TWO_POINTS,
    Assumption,
    drawn,
)
from zoexplore.bounds.bound import Bound, Solved
from zoexplore.bounds.run_arrays import RunArrays
from zoexplore.run.documents import Reference
from zoexplore.run.formatting import format_short
from zoexplore.run.setting import NEIGHBOURS, Accounting

ISOTROPIC_NOISE = Assumption(
    "Some noise lies in every direction: β < 1 (or K = d, where the directions span everything).",
    lambda r, a: (r.last_beta < 1) | ((r.K == r.d) & (not a.printed)),
    lambda r: (
        f"β = {format_short(r.last_beta, 6)} leaves no noise outside the span of the directions to hide the distance"
    ),
)


ANY_BATCH = drawn(
    *product(("without-replacement", "cyclic", "shuffled"), NEIGHBOURS),
    words="Every step uses all n records, or a batch of as many records as its mean is taken over.",
)


def solve(runs: RunArrays, accounting: Accounting) -> Solved:
    """Count the last step's noise alone, against a distance of 2R before the step and a length U
    that the update adds in the span.

    U is 2 eta Delta/sqrt(K), or less if gradients are known to be short. Let x be the cosine of the
    angle between the distance and the span, and S and s2 the variances of the last step's noise
    along and across the span. Then the cost is ((2R r x + U)^2/S + 4 R^2 (1 - x^2)/s2)/2. The
    factor r exceeds 1 only if the ridge's own step overshoots. The worst x is r U s2/(2R (S - r^2
    s2)), but at most 1, and it is 1 if K = d. The batch plays no part: the last step is Gaussian
    given both runs' iterates and batches, and a mixture over these costs no more.
    """
    if accounting.printed:
        return Solved.of(
            runs,
            accounting,
            runs.diameter**2 / (2 * (1 - runs.last_beta) / runs.d),
            N=np.ones(()),
            z=runs.diameter,
        )
    s2, S, far = (1 - runs.last_beta) / runs.d, runs.last_noise, runs.diameter
    moved, r = runs.step_sensitivity, runs.ridge_expansion
    spare = np.where(r > 1, S - r**2 * s2, runs.last_beta / runs.K)
    with np.errstate(divide="ignore", invalid="ignore"):
        x = np.where(
            (runs.K == runs.d) | (spare <= 0), 1.0, np.minimum(1.0, r * moved * s2 / (far * spare))
        )
        beside = np.where(x < 1, far**2 * (1 - x**2) / s2, 0.0)
        rho = 0.5 * ((r * far * x + moved) ** 2 / S + beside)
    return Solved.of(runs, accounting, rho, N=np.ones(()), z=far)


OUTPUT_PERTURBATION = Bound(
    id="output-perturbation",
    title="Output perturbation",
    bare=True,
    summary="Only the last step's noise is counted: it must hide two runs as far apart as the ball is wide.",
    source="Paper, after the public-state baseline",
    proofs=(Reference("bounds", "Output perturbation"),),
    assumptions=(
        START,
        LAST_RELEASED,
        CLIPPED,
        GRADIENTS,
        TWO_POINTS,
        ANY_BATCH,
        STEP_SIZE,
        FINITE_BALL,
        ISOTROPIC_NOISE,
    ),
    solve=solve,
    printed="the last update is taken to move nothing: the distance before the noise is 2R alone",
)
