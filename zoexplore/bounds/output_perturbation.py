"""Output perturbation: only the last step's noise counts."""

from itertools import product
from typing import TYPE_CHECKING

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
from zoexplore.bounds.bound import Bound, Solved, Style
from zoexplore.bounds.run_arrays import RunArrays
from zoexplore.run.documents import Reference
from zoexplore.run.formatting import bound_in_tex, format_number, format_short, format_tex
from zoexplore.run.setting import NEIGHBOURS, Accounting

if TYPE_CHECKING:
    from zoexplore.bounds.guarantee import Guarantee

ISOTROPIC_NOISE = Assumption(
    "Some noise lies in every direction: β < 1 (or K = d, where the directions span everything).",
    lambda r, a: (r.last_beta < 1) | ((r.K == r.d) & (not a.printed)),
    lambda r: f"β = {format_short(r.last_beta, 6)} leaves no noise outside the span of the directions to hide the distance",
)


ANY_BATCH = drawn(
    *product(("without-replacement", "cyclic", "shuffled"), NEIGHBOURS),
    words="Every step uses all n records, or a batch of as many records as its mean is taken over.",
)


def solve(runs: RunArrays, accounting: Accounting) -> Solved:
    """Before the last step two runs are at most 2R apart; in the span updates separate them by U more.

    U is 2 eta Delta/sqrt(K), or less by the length of gradients. With x the cosine of the angle between the distance and the span
    the cost is half of (2R r x + U)^2/S + 4 R^2 (1 - x^2)/s2. Here r > 1 only if the ridge's own step overshoots. The worst x is
    r U s2/(2R (S - r^2 s2)), at most 1 (and 1 where K = d). The batch plays no part: given both runs' iterates and batches the
    last step is Gaussian, and mixing these costs no more.
    """
    if accounting.printed:
        return Solved.of(runs, accounting, runs.diameter**2 / (2 * (1 - runs.last_beta) / runs.d), N=np.ones(()), z=runs.diameter)
    s2, S, far = (1 - runs.last_beta) / runs.d, runs.last_noise, runs.diameter
    moved, r = runs.step_sensitivity, runs.ridge_expansion
    spare = np.where(r > 1, S - r**2 * s2, runs.last_beta / runs.K)
    with np.errstate(divide="ignore", invalid="ignore"):
        x = np.where((runs.K == runs.d) | (spare <= 0), 1.0, np.minimum(1.0, r * moved * s2 / (far * spare)))
        beside = np.where(x < 1, far**2 * (1 - x**2) / s2, 0.0)
        rho = 0.5 * ((r * far * x + moved) ** 2 / S + beside)
    return Solved.of(runs, accounting, rho, N=np.ones(()), z=far)


def explain(g: "Guarantee") -> str:
    """The distance that the last step's noise must hide."""
    return (
        "The last step's noise alone hides two runs that are as far apart as the ball is wide, "
        f"2R = {format_number(g.start)}; how long they trained does not matter."
    )


def substitute(g: "Guarantee") -> tuple[str, ...]:
    """The lengths in rho, with the run's numbers."""
    s = g.setting
    runs, over = RunArrays.of(s).counted_by(g.accounting), "K" if s.clipping == "joint" else r"\sqrt K"
    update = float(runs.step_sensitivity * runs.unit)
    of_clip = rf" = \frac{{2\eta\Delta}}{{{over}}}" if runs.step_sensitivity == runs.clipped_step else ""
    across = (s.eta * s.sigma) ** 2 * (1 - float(runs.last_beta)) / s.d
    return (
        rf"2R = {bound_in_tex(2 * s.R)},\quad U{of_clip} = {bound_in_tex(update)},\quad"
        rf" s_2 = \frac{{\eta^2(1-\beta)\sigma^2}}{{d}} = {format_tex(across)}",
        r"\rho",
    )


OUTPUT_PERTURBATION = Bound(
    id="output-perturbation",
    title="Output perturbation",
    bare=True,
    latex=r"\rho = \max_{0\le x\le 1}\ \frac{(2Rrx + U)^2}{2S} + \frac{4R^2(1-x^2)}{2s_2},\quad U=\frac{2\eta\Delta}{\sqrt K},"
    r"\quad r=\max\left(1,\left|1-\frac{\eta\,\mathrm{ridge}}{K}\right|\right)",
    summary="Only the last step's noise is counted: it must hide two runs as far apart as the ball is wide.",
    source="Paper, after the public-state baseline",
    proofs=(Reference("bounds", "Output perturbation"),),
    assumptions=(START, LAST_RELEASED, CLIPPED, GRADIENTS, TWO_POINTS, ANY_BATCH, STEP_SIZE, FINITE_BALL, ISOTROPIC_NOISE),
    solve=solve,
    printed="the last update is taken to move nothing: the distance before the noise is 2R alone",
    style=Style(("#7a7266", "#a59d90"), (2, 4), 2.4),
    explain=explain,
    substitute=substitute,
)
