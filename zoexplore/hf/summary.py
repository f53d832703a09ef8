"""A run's privacy as data, saved beside its weights."""

from dataclasses import asdict
from math import inf
from typing import Any

from zoexplore.mechanism import NoisyZOGD, Report
from zoexplore.mechanism.checksums import claimed
from zoexplore.questions.statement import plain, versions
from zoexplore.run.formatting import round_up

FILE = "model.privacy.json"


def as_data(optimiser: NoisyZOGD) -> dict[str, Any]:
    """A model's privacy after the steps so far, as JSON. `epsilon` holds though every checkpoint is published; `last_iterate` has
    the bounds for this model alone.
    """
    setting, record = optimiser.setting, optimiser.record
    data = {
        "mechanism": "Noisy-ZOGD, arXiv:2506.00158",
        "delta": setting.delta,
        "neighbours": setting.neighbours,
        "n": setting.n,
        "steps": optimiser.steps,
        "T": setting.T,
        "trained_parameters": setting.d,
        "noise": record.noise,
        "stages": [asdict(step) | {"steps": count} for step, count in record.stages],
        "versions": versions("torch", "transformers"),
    }
    if not record.steps:
        unknown = claimed(optimiser.objective.trained)  # as weights are that were loaded without their record
        return plain(data | {"epsilon": inf if unknown else 0.0, "last_iterate": {}, "checks": []})
    everything, last = optimiser.privacy_report(released="all"), optimiser.privacy_report()
    data |= {"epsilon": round_up(everything.epsilon), "last_iterate": _bounds(last)}
    return plain(data | {"checks": [asdict(check) for check in everything.checks]})


def _bounds(report: Report) -> dict[str, Any]:
    return {bound: {"epsilon": g.epsilon, "reason": g.reason, "note": g.note} for bound, g in report.guarantees.items()}
