"""Reports the privacy of a trained model, also as data to save beside the model's weights."""

import json
from dataclasses import asdict, replace
from math import inf
from pathlib import Path
from typing import Any

from zoexplore.bounds.assumptions import Check
from zoexplore.hf.losses import base_of
from zoexplore.mechanism import Report, RunRecord, privacy_report
from zoexplore.mechanism.checksums import claimed
from zoexplore.questions.statement import plain, versions
from zoexplore.run.formatting import round_up

FILE = "model.privacy.json"
CHOICE = "Choice: the best of the run's checkpoints was chosen by an evaluation, so all T = {} planned steps count. {}"
PUBLIC = "Its data are public, as declared: it is free."
PRIVATE = (
    "Its data are not declared public: ε does not cover the records evaluated, and those trained on must not be among them; "
    "ZOTrainingArguments(public_evaluation=True) says that they are public."
)
STEERED = "the learning rate followed an evaluation of the records trained on"
OTHER = "the trainer has another model by now, which this run has not trained"
SAME = "the best checkpoint was chosen by an evaluation of the records trained on"


def report_of(trainer: Any, **options: Any) -> Report:
    """Return the report on a trainer's run, with the options of
    `zoexplore.mechanism.privacy_report`. If an evaluation chose the model or the moment to stop,
    all planned steps count, since it might have chosen any iterate.
    """
    record, checks = of_model(trainer), [Check(trainer.origin, None)] if trainer.origin else []
    args, state, evaluated = trainer.args, trainer.state, trainer.eval_dataset
    given = evaluated.values() if isinstance(evaluated, dict) else [evaluated]
    is_same = any(each is trainer.train_dataset for each in given)
    is_over = (
        args.load_best_model_at_end and state.best_model_checkpoint and not trainer.is_in_train
    )
    if record.steps and (record.returned or is_over):
        T = record.setting.T
        unmade = ((record.last, T - record.counts.steps),) if record.counts.steps < T else ()
        record = replace(
            record, stages=record.stages + unmade, flaw=record.flaw or SAME * is_same, returned=True
        )
        choice = CHOICE.format(T, PUBLIC if args.public_evaluation else PRIVATE)
        checks.append(Check(choice, False if is_same else None, f"{SAME}." * is_same))
    elif (
        is_same and args.eval_strategy != "no" and args.lr_scheduler_type == "reduce_lr_on_plateau"
    ):
        record = replace(record, flaw=record.flaw or STEERED)
    report = privacy_report(record, **options)
    return replace(report, checks=(*report.checks, *checks))


def of_model(trainer: Any) -> RunRecord:
    """Return the record of a trainer's run, with a flaw if the trainer now holds another model."""
    record: RunRecord = trainer.mechanism.record
    is_own = trainer.model is trainer.mechanism.objective.module
    return record if is_own else replace(record, flaw=record.flaw or OTHER)


def origin_of(model: Any) -> str:
    """Say what earlier training of a model's weights cost, by the account saved beside them; return
    "" if there is no account.
    """
    folder = getattr(base_of(model), "name_or_path", "")
    path = Path(folder) / FILE
    if not folder or not path.is_file():
        return ""
    before = json.loads(path.read_text(encoding="utf-8"))
    cost = f"{before['steps']} steps cost ε = {before['epsilon']} at δ = {before['delta']:g}"
    return f"Weights: those of {folder} were trained on other data. If on these, its {cost}, which this report leaves out."


def as_data(trainer: Any) -> Any:
    """Return a model's privacy after the steps so far, as data for JSON. `epsilon` holds even if
    every checkpoint is published; the bounds in `last_iterate` hold if only this model is.
    """
    record = of_model(trainer)
    setting = record.setting
    data = {
        "mechanism": "Noisy-ZOGD, arXiv:2506.00158",
        "delta": setting.delta,
        "neighbours": setting.neighbours,
        "n": setting.n,
        "steps": record.counts.steps,
        "T": setting.T,
        "trained_parameters": setting.d,
        "noise": record.noise,
        "stages": [asdict(step) | {"steps": count} for step, count in record.stages],
        "found": record.found and record.found._asdict(),
        "versions": versions("torch", "transformers"),
    }
    if not record.steps:
        # the cost of weights that were loaded without their record is unknown
        unknown = claimed(trainer.mechanism.objective.trained)
        return plain(data | {"epsilon": inf if unknown else 0.0, "last_iterate": {}, "checks": []})
    everything, last = report_of(trainer, released="all"), report_of(trainer)
    bounds = {
        bound: {"epsilon": g.epsilon, "reason": g.reason, "note": g.note}
        for bound, g in last.guarantees.items()
    }
    data |= {"epsilon": round_up(everything.epsilon), "last_iterate": bounds}
    return plain(data | {"checks": [asdict(check) for check in everything.checks]})
