"""A run's privacy beside its weights: as data for programs, and in words for the model card."""

from dataclasses import asdict
from typing import Any

from zoexplore.mechanism import NoisyZOGD, Report
from zoexplore.questions.statement import plain, versions
from zoexplore.run.formatting import round_up

FILE = "model.privacy.json"
HEADING = "## Privacy"


def as_data(optimiser: NoisyZOGD) -> dict[str, Any]:
    """What is known of a model after the steps made so far, as JSON has it. `epsilon` holds though every checkpoint is published;
    `last_iterate` has the bounds for this model alone.
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
        return plain(data | {"epsilon": 0.0, "last_iterate": {}, "checks": []})
    everything, last = optimiser.privacy_report(released="all"), optimiser.privacy_report()
    data |= {"epsilon": round_up(everything.epsilon), "last_iterate": _bounds(last)}
    return plain(data | {"checks": [asdict(check) for check in everything.checks]})


def section(optimiser: NoisyZOGD) -> str:
    """A model card's chapter."""
    data = as_data(optimiser)
    head = (
        f"This model, and every checkpoint of its training, is (ε, δ) = ({data['epsilon']}, {data['delta']})-differentially "
        f"private with respect to its {data['n']} training records (neighbours: {data['neighbours']}). It was trained by "
        f"[Noisy-ZOGD](https://arxiv.org/abs/2506.00158), without gradients; `{FILE}` has every step."
    )
    report = f"\n\n```\n{optimiser.privacy_report(released='all')}\n```" if optimiser.record.steps else ""
    return f"{HEADING}\n\n{head}{report}\n"


def _bounds(report: Report) -> dict[str, Any]:
    return {bound: {"epsilon": g.epsilon, "reason": g.reason, "note": g.note} for bound, g in report.guarantees.items()}
