"""Composition: every iterate is public."""

from functools import reduce
from typing import TYPE_CHECKING

import numpy as np

from zoexplore.bounds.assumptions import CLIPPED, COMPOSABLE_BATCHES, GRADIENTS, PEOPLE, START, TWO_POINTS, Assumption
from zoexplore.bounds.bound import Bound, Solved, Style
from zoexplore.bounds.conversion import split
from zoexplore.bounds.epochs import visits
from zoexplore.bounds.kernels.gaussian import FIRST_SHARE
from zoexplore.bounds.kernels.norms import span_moment
from zoexplore.bounds.kernels.rounding import UP
from zoexplore.bounds.run_arrays import RunArrays
from zoexplore.bounds.shared_sentences import record_in_tex
from zoexplore.bounds.subsampling import Sampled, by_batch_kind, compose
from zoexplore.run.documents import Reference
from zoexplore.run.formatting import format_count, format_tex
from zoexplore.run.setting import Accounting

if TYPE_CHECKING:
    from zoexplore.bounds.guarantee import Guarantee

# Where gradients have a known length, a record's share is that of its gradient on a span that nobody could aim at.
HIDDEN_DIRECTIONS = Assumption("Nobody who chooses the data knows the directions.", unless=lambda r: r.slope == np.inf)
ORDERS = np.unique(np.round(1.1 ** np.arange(104)))  # of the moment of the span; any is sound


def solve(runs: RunArrays, accounting: Accounting) -> Solved:
    """rho = T (2 Delta/n)^2 / (2 sigma^2 (beta + (1-beta) K/d)): the joint cost of the K orthonormal directions, T times.
    On batches of b < n records the steps' cost is r_alpha at the sensitivity 2 Delta/b instead.
    """
    if accounting not in runs.composition_cache:  # other bounds never exceed it, and ask for the same runs
        runs.composition_cache[accounting] = by_batch_kind(_of_all, _of_batches, runs, accounting)
    return runs.composition_cache[accounting]


def _of_batches(runs: RunArrays, accounting: Accounting) -> Solved:
    """T r_alpha(b/n, 2 Delta/(b sigma sqrt(beta + (1-beta) K/d))); as printed, the paper's, by directional noise.

    In epochs a record costs its visits alone.
    """
    if runs.setting.sampling in ("cyclic", "shuffled"):
        return _of_steps(runs, accounting, visits(runs), runs.n / runs.batch)
    noise = runs.s1 if accounting.printed else runs.s1 + runs.s2
    return compose(Sampled.of(runs, noise, accounting), runs.T, runs.delta, accounting)


def _of_all(runs: RunArrays, accounting: Accounting) -> Solved:
    return _of_steps(runs, accounting, runs.T, 0.5 if accounting.printed else 1.0)


def _of_steps(runs: RunArrays, accounting: Accounting, count, ratio) -> Solved:
    """So many steps that a record moves `ratio` times as far as one on all records."""
    certain = Solved.of(runs, accounting, _budget(runs, count, ratio * runs.B), N=runs.T)
    return certain.minimum(_random_span(runs, accounting, count, ratio)) if np.isfinite(runs.slope).any() else certain


def _budget(runs: RunArrays, count, shift):
    return count * shift**2 / (2 * (runs.s1 + runs.s2))


def _random_span(runs: RunArrays, accounting: Accounting, count, ratio) -> Solved:
    """A step's shift is the projection of a fixed vector onto a random span: shorter by g in the moment of the order, and beyond
    f g of it with probability at most delta_f in all steps together (docs/bounds.md, "Sensitivity").
    """
    fixed, added = ratio * runs.B_lipschitz, ratio * runs.quotient_bias_at_zero
    moments = [np.log(span_moment(runs.K, runs.d, order)) for order in ORDERS]
    tried, share = [], np.full((), FIRST_SHARE)
    for _ in range(5):
        log_delta = np.log(share * runs.delta)
        lengths = np.broadcast_arrays(*(m - log_delta / (2 * order) for m, order in zip(moments, ORDERS, strict=True)))
        order, g = ORDERS[np.argmin(lengths, axis=0)], np.exp(np.min(lengths, axis=0)) * UP  # and the tail's factor f in g
        shift = g * fixed + added
        found = Solved.of(runs, accounting, _budget(runs, count, shift), share * runs.delta, N=runs.T)
        tried.append(found)
        slope = count * shift * g * fixed / (runs.s1 + runs.s2)
        delta_p = runs.delta * (1 - share)
        share = split(found.rho, slope, found.epsilon, order, delta_p, accounting.conversion)
    return reduce(Solved.minimum, tried)


def explain(g: "Guarantee") -> str:
    """Why composition pays for every step."""
    steps = f"Each of the {format_count(g.setting.T)} steps" if g.setting.T > 1 else "The one step"
    return f"{steps} is paid for as if its iterate had been published: no bound that hides the iterates gives less here."


def substitute(g: "Guarantee") -> tuple[str, ...]:
    """rho with the run's numbers."""
    s = g.setting
    if np.isfinite(RunArrays.of(s).counted_by(g.accounting).slope):
        return (r"\rho",)
    span = rf"{format_tex(s.beta)} + {format_tex(1 - s.beta)}\cdot\tfrac{{{format_tex(s.K)}}}{{{format_tex(s.d)}}}"
    return (rf"\rho = {format_tex(s.T)}\cdot\frac{{{record_in_tex(g)}}}{{2\cdot({format_tex(s.sigma)})^2\,({span})}}",)


COMPOSITION = Bound(
    id="composition",
    title="Composition",
    bare=True,
    latex=r"\rho = T\,\frac{(2\Delta/n)^2}{2\sigma^2\left(\beta + (1-\beta)K/d\right)}",
    summary="Every iterate is taken to be public, so every step is paid for and the privacy loss grows with T.",
    source="Paper, public-state baseline",
    proofs=(
        Reference("bounds", "Composition"),
        Reference("batches", "Batches in epochs"),
        Reference("batches", "Composition on fresh batches"),
    ),
    assumptions=(START, CLIPPED, GRADIENTS, TWO_POINTS, HIDDEN_DIRECTIONS, COMPOSABLE_BATCHES, PEOPLE),
    solve=solve,
    printed="the sensitivity is Δ/n where replacing a record needs 2Δ/n, so ρ is four times too small; for mini-batches it is "
    "the printed theorem with every step counted, whose S_α is the smaller of two divergences",
    style=Style(("#c4500a", "#f2955a"), (), 2.2),
    explain=explain,
    substitute=substitute,
)
