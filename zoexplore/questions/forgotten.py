"""What a model still shows of a record after steps without it (docs/batches.md, "Forgetting")."""

from dataclasses import replace
from math import inf

import numpy as np

from zoexplore.bounds import hidden_cost
from zoexplore.bounds.epsilons import DEFAULT
from zoexplore.bounds.guarantee import Guarantee, guarantee
from zoexplore.bounds.run_arrays import RunArrays
from zoexplore.run.refusals import whole
from zoexplore.run.setting import Accounting, Setting

TITLE = "Forgetting"
SHOWN = 1e-9  # an epsilon below this counts as 0


def forgetting(setting: Setting, steps: int, accounting: Accounting = DEFAULT) -> Guarantee:
    """Bound epsilon between a run that trained on a record, then made `steps` without it, and a run
    that never had it.

    The first run makes T steps, then `steps` more with the record's place left empty (the mean
    still divides by n). The second makes T + `steps` steps with that place empty. Only the last
    model is released. The second run is not retraining on n - 1 records with another normaliser.
    When to stop, and whether to forget the record, must depend neither on the data nor on the
    model. Under replace-one neighbours the record counts as replaced, which costs twice as much as
    removing it. The literature calls this certified unlearning by noisy training (Chien, Wang,
    Chen, Li 2024, arXiv:2401.10371).

    Args:
        setting: the T steps with the record, each on all records.
        steps: the number of steps without the record, 0 or more.
        accounting: as for any bound.

    Returns:
        A guarantee of (epsilon, delta) for the last model. Its epsilon is inf, with the reason, if
        the run is not covered.

    Raises:
        Refused: `steps` is not a whole number of 0 or more.

    >>> from zoexplore.run.presets import DEMONSTRATION
    >>> before, after = (forgetting(DEMONSTRATION, steps).epsilon for steps in (0, 10))
    >>> after < 0.2 * before
    True
    """
    steps = whole("steps", steps, least=0)
    known = guarantee(setting, "sharp", accounting)
    public = guarantee(setting, "composition", accounting)
    reason = _why_not(setting, accounting)
    if reason:
        return replace(known, title=TITLE, epsilon=inf, reason=reason)
    if steps == 0 or not known.valid:
        return replace(known, title=TITLE)
    with np.errstate(all="ignore"):
        runs = RunArrays.of(setting).counted_by(accounting)
        found = hidden_cost.forgotten(runs, float(steps), accounting)
    # further steps are post-processing
    least = min(float(found.epsilon), known.epsilon, public.epsilon)
    note = f"{steps} steps without the record: its epsilon was {known.epsilon:.4g} after the {setting.T} with it"
    return replace(known, title=TITLE, epsilon=least if least > SHOWN else 0.0, note=note)


def _why_not(setting: Setting, accounting: Accounting) -> str:
    """Say why forgetting is not covered; return "" if it is."""
    if setting.releases > 1:
        return f"{setting.releases} models are released before the end, and what they show is not forgotten"
    if not setting.full_batch:
        return "every step must use all records: batches are not covered"
    if setting.cooldown:
        return "a cool-down is not covered: its steps would follow those without the record"
    if accounting.schedule == "optimal" or accounting.printed:
        return "only the run's own share of the noise is covered, with our constants"
    if setting.beta == 1 and setting.K < setting.d:
        return (
            "with all noise along the directions (beta = 1) nothing hides the distance that is left"
        )
    return ""
