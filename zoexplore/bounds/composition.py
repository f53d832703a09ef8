"""Composition: every iterate is public."""

from dataclasses import replace

import numpy as np

from zoexplore.bounds.assumptions import (
    CLIPPED,
    COMPOSABLE_BATCHES,
    GRADIENTS,
    LINEAR,
    PEOPLE,
    START,
    TWO_POINTS,
    Assumption,
)
from zoexplore.bounds.bound import Bound, Solved
from zoexplore.bounds.conversion import NUMBERS
from zoexplore.bounds.kernels.profiles import convert
from zoexplore.bounds.kernels.spans import NORMS, span_tails
from zoexplore.bounds.numbers import Numbers
from zoexplore.bounds.run_arrays import RunArrays
from zoexplore.bounds.subsampling import Sampled, by_batch_kind, compose, where_batches_are_large
from zoexplore.bounds.visits import most_visits
from zoexplore.run.documents import Reference
from zoexplore.run.setting import Accounting

# If gradients have a known length, a record is counted by the part of its gradient in the span.
# Whoever chooses the data must not know the span in advance.
HIDDEN_DIRECTIONS = Assumption(
    "Nobody who chooses the data knows the directions.", unless=lambda r: r.slope == np.inf
)
CURVED = replace(TWO_POINTS, unless=lambda r: r.linear or r.slope == np.inf or r.xi == 0)
ONE_FORM = replace(LINEAR, unless=lambda r: not r.linear or r.slope == np.inf or r.xi == 0)


def solve(runs: RunArrays, accounting: Accounting) -> Solved:
    """Compute rho = T (2 Delta/n)^2 / (2 sigma^2 (beta + (1-beta) K/d)), which is T times the joint
    cost of the K orthonormal directions. On batches of b < n records the cost of a step is instead
    its Renyi divergence r_alpha, at the sensitivity 2 Delta/b.
    """
    # the result is kept, because other bounds compose the same runs
    known: dict[Accounting, Solved] = runs.composition_cache
    if accounting not in known:
        known[accounting] = by_batch_kind(_of_all, _of_batches, runs, accounting)
    return known[accounting]


def _of_batches(runs: RunArrays, accounting: Accounting) -> Solved:
    """Compute T r_alpha(b/n, 2 Delta/(b sigma sqrt(beta + (1-beta) K/d))). With printed constants,
    use the paper's divergence against the directional noise alone.

    In epochs only a record's visits are paid for. On fresh batches, if gradients have a known
    length, take the smaller of two costs: T r_alpha, and the cost of a record in every step,
    averaged over the spans.
    """
    if runs.setting.sampling in ("cyclic", "shuffled"):
        return _of_steps(runs, accounting, most_visits(runs), runs.n / runs.batch)
    noise = runs.s1 if accounting.printed else runs.s1 + runs.s2
    kinds = [(Sampled.of(runs, noise, accounting), runs.T - runs.cooled)]
    if runs.cooled.any():
        kinds.append((Sampled.of(runs, runs.last_noise, accounting), runs.cooled))
    composed = compose(kinds, runs.delta, accounting, N=runs.T)
    if accounting.printed or np.isinf(runs.slope).all():
        return composed
    return composed.minimum(where_batches_are_large(_of_every_batch, runs, accounting))


def _of_every_batch(runs: RunArrays, accounting: Accounting) -> Solved:
    return _of_steps(runs, accounting, runs.T, runs.n / runs.batch)


def _of_all(runs: RunArrays, accounting: Accounting) -> Solved:
    return _of_steps(runs, accounting, runs.T, 0.5 if accounting.printed else 1.0)


def _of_steps(runs: RunArrays, accounting: Accounting, count: Numbers, ratio: Numbers) -> Solved:
    """Compose `count` steps. A record moves each of them `ratio` times as far as it moves a step on
    all records.
    """
    certain = Solved.of(
        runs, accounting, _budget(runs, count, ratio * runs.B_public, runs.cooled), N=runs.T
    )
    return (
        certain.minimum(_random_span(runs, accounting, count, ratio))
        if np.isfinite(runs.slope).any()
        else certain
    )


def _budget(runs: RunArrays, count: Numbers, shift: Numbers, cooled: Numbers) -> Numbers:
    """Return the budget of `count` steps, of which the last `cooled` have the noise of a cool-down."""
    late = np.minimum(cooled, count)
    return shift**2 / 2 * ((count - late) / (runs.s1 + runs.s2) + late / runs.last_noise)


def _random_span(runs: RunArrays, accounting: Accounting, count: Numbers, ratio: Numbers) -> Solved:
    """Average the privacy loss over the random cost of all steps (docs/bounds.md, "Composition"). A
    step's shift is the projection of a vector onto a random span, which does not depend on the
    vector. The steps of a cool-down are counted at the largest shift.
    """
    late = np.where(runs.cooled >= count, 0.0, runs.cooled)
    S, part = np.where(runs.cooled >= count, runs.last_noise, runs.s1 + runs.s2), runs.K / runs.d
    fixed, added = ratio * runs.B_lipschitz, ratio * runs.own_bias
    random = np.sqrt(part) * fixed  # (x + a)^2 <= (1 + a/r) x^2 + (1 + r/a) a^2, for any r > 0
    with np.errstate(all="ignore"):
        unit = fixed * (fixed + added / np.sqrt(part)) / S
        certain = np.where(added > 0, (count - late) * added * (added + random) / S, 0.0)
    certain = certain + late * (ratio * runs.B_public) ** 2 / runs.last_noise
    columns = np.broadcast_arrays(runs.K, runs.d, count - late, unit, certain, runs.delta)
    tails = span_tails(*(x.ravel().astype(float) for x in columns))
    conversion = NUMBERS[accounting.conversion]
    converted = convert(*tails, NORMS, columns[-1].flatten(), conversion)
    epsilon, twice, delta_f = converted.T.reshape(3, *columns[0].shape)
    return Solved(
        epsilon,
        0.5 * twice,
        delta_f,
        np.broadcast_to(runs.T, epsilon.shape),
        np.zeros(epsilon.shape),
    )


COMPOSITION = Bound(
    id="composition",
    title="Composition",
    bare=True,
    summary="Every iterate is taken to be public, so every step is paid for and the privacy loss grows with T.",
    source="Paper, public-state baseline",
    proofs=(
        Reference("bounds", "Composition"),
        Reference("batches", "Batches in epochs"),
        Reference("batches", "Composition on fresh batches"),
    ),
    assumptions=(
        START,
        CLIPPED,
        GRADIENTS,
        CURVED,
        ONE_FORM,
        HIDDEN_DIRECTIONS,
        COMPOSABLE_BATCHES,
        PEOPLE,
    ),
    solve=solve,
    printed="the sensitivity is Δ/n where replacing a record needs 2Δ/n, so ρ is four times too small; for mini-batches it is "
    "the printed theorem with every step counted, whose S_α is the smaller of two divergences",
)
