"""Saves a run's state, and loads a state after all of it has been read."""

import warnings
from collections.abc import Mapping
from dataclasses import asdict, replace
from typing import Any

from zoexplore.mechanism.batches import BatchDraws, SeenRecords
from zoexplore.mechanism.checksums import kinds
from zoexplore.mechanism.parallel import digest
from zoexplore.mechanism.record import Counts, RunRecord, Step
from zoexplore.mechanism.rng import REKEYED
from zoexplore.mechanism.run_state import RunState
from zoexplore.mechanism.scale import Scale, probe_of
from zoexplore.mechanism.target import noise_for, spent
from zoexplore.run.setting import Setting

VERSION = 1  # the version of the format of saved states
SHARED = ("n", "d", "neighbours")  # fields that two phases of one run must share
# the fields of a ledger that are saved
LEDGER = "stages", "xi_factor", "flaw", "checked", "halves", "returned", "root"
STATE = set(
    "version run rate param_group w bits ledger counts kept draws sources scale noise seen".split()
)
WHOLE = "give one as state_dict() made it"


def state_of(run: RunState, group: dict[str, Any], weights: bool) -> dict[str, Any]:
    """Return a run's state as tensors, numbers and text. It has the parameters' checksums and, if
    `weights`, the parameters.

    Raises:
        RuntimeError: the last step was interrupted while it moved the parameters.
    """
    run.watch.in_place()
    run.watch.model()
    tensors = run.parameters.tensors
    run.kept.append(digest(run.watch.fingerprint.last))
    return {
        "version": VERSION,
        "run": _shared(run),
        "rate": run.rate,
        "scale": run.scale.state_dict(),
        "noise": probe_of(run.plan, None).sigma,
        "param_group": {name: x for name, x in group.items() if name != "params"},
        "w": [tensor.detach().clone() for tensor in tensors] if weights else None,
        "bits": run.watch.fingerprint.bits_of(tensors),
        "ledger": {name: x for name, x in asdict(run.ledger).items() if name in LEDGER},
        "counts": asdict(run.counts),
        "kept": [*run.kept],
        "draws": run.draws.state_dict(),
        "sources": run.sources.state_dict(),
        "seen": run.watch.seen.state_dict() if run.setting.sampling == "cyclic" else None,
    }


def load(run: RunState, state: dict[str, Any], group: dict[str, Any]) -> None:
    """Go on from a saved state, after all of it has been read.

    Raises:
        ValueError: the state is damaged, of another version, of other data or of another model.
            Nothing is changed then.
    """
    loaded = _read(run, state)
    # now the parameters are where the state's steps led, whoever moved them before
    run.watch.fingerprint.claim(whole=True)
    # an interruption from here on leaves neither the old run nor the saved one
    run.parameters.displaced = True
    if state["w"] is not None:
        for tensor, saved in zip(run.parameters.tensors, state["w"], strict=True):
            tensor.data.copy_(saved)
    run.watch.fingerprint.renew()
    # flaws of this run and of its model count too
    flaw = run.ledger.flaw or run.watch.fingerprint.changes() or loaded["ledger"].flaw
    run.watch.seen = loaded.pop("seen")
    vars(run).update(loaded)
    run.note(flaw=flaw)
    run.watch.begin_again()
    run.settle()
    goes_on = state["rate"] == run.rate  # else the new setting's rate holds
    group.update({name: x for name, x in state["param_group"].items() if goes_on or name != "lr"})
    run.parameters.displaced = False
    if run.sources.is_secure:
        warnings.warn(REKEYED, stacklevel=3)


def _read(run: RunState, state: Any) -> dict[str, Any]:
    """Return, by name, the parts of a run that a state describes, except the weights.

    Raises:
        ValueError: as in `load`.
    """
    version = state.get("version") if isinstance(state, Mapping) else None
    if version != VERSION:
        raise ValueError(
            f"a state of the version {version!r} is not allowed: this version's state_dict() makes {VERSION}"
        )
    if not run.ledger.has_looked:
        run.watch.fingerprint.start()
    try:
        if wrong := sorted(state.keys() ^ STATE):
            raise KeyError(*wrong)
        _check_state(run, state)
        sources = run.sources.gone_on(state["sources"])
        draws = BatchDraws(run.setting, sources)
        draws.load_state_dict(state["draws"], state["counts"]["steps"])
        dict(state["param_group"])
        facts = {name: state["ledger"][name] for name in LEDGER}
        facts["stages"] = tuple((Step(**step), count) for step, count in facts["stages"])
        ledger = replace(run.ledger, **facts, counts=Counts(**state["counts"]))
        scale = Scale(run.scale.choices)
        scale.load_state_dict(state["scale"] if scale.choices.auto else scale.state_dict())
        seen = SeenRecords(run.setting.n, run.watch.seen.public)
        if state["seen"] is not None:
            seen.load_state_dict(state["seen"])
        return {
            "ledger": ledger,
            "kept": [*state["kept"]],
            "sources": sources,
            "draws": draws,
            "scale": scale,
            "plan": _with_noise_left(run, ledger, float(state["noise"])),
            "seen": seen,
        }
    except (KeyError, TypeError, AttributeError, IndexError, RuntimeError) as error:
        raise ValueError(
            f"the state is damaged ({type(error).__name__}: {error}): {WHOLE}"
        ) from error


def _with_noise_left(run: RunState, ledger: RunRecord, before: float) -> Setting:
    """Return the plan with noise that keeps to the target for all steps that are left. Try the
    plan's own noise, then the saved run's, whose probes had the noise `before`. If neither keeps to
    the target, solve for the least noise.

    Raises:
        ValueError: no noise keeps to the target.
    """
    left, record = run.plan.T - ledger.counts.steps, run.entries(ledger)
    probe = probe_of(run.plan, run.plan.batch)
    if run.target is None or left == 0:
        return run.plan
    for noise in (probe.sigma, before):
        if spent(record, replace(probe, sigma=noise), left) <= run.target:
            break
    else:
        noise = noise_for(record, probe, left, run.target)
    return run.plan.replace(sigma=run.plan.sigma * (noise / probe.sigma))


def _shared(run: RunState) -> dict[str, Any]:
    """Collect what two phases of one run must share."""
    fingerprint = run.watch.fingerprint
    bits = fingerprint.bits_of(run.parameters.tensors)
    return (
        {name: getattr(run.setting, name) for name in SHARED}
        | {f"declared {name}": x for name, x in asdict(run.declared).items()}
        | {f"parameter {name!r}": kind for name, kind in kinds(bits).items()}
        | {f"frozen {name!r}": x for name, x in fingerprint.frozen().items()}
    )


def _check_state(run: RunState, state: dict[str, Any]) -> None:
    """Raise ValueError if a state comes from other data, another model or a longer run, or if it
    was changed.
    """
    saved, own, bits_of = state["run"], _shared(run), run.watch.fingerprint.bits_of
    if name := next((name for name in saved | own if saved.get(name) != own.get(name)), ""):
        raise ValueError(
            f"the saved run had {name} = {saved.get(name)!r}, this one has {own.get(name)!r}: make it the same way, with the same model"
        )
    w = run.parameters.tensors if state["w"] is None else state["w"]
    if state["bits"] != bits_of(w):
        raise ValueError(
            "the state's steps led to other numbers than these: load the model that was saved beside it, and a state that nobody changed"
        )
    made = state["counts"]["steps"]
    if made != sum(count for _, count in state["ledger"]["stages"]):
        raise ValueError(f"the saved run has {made} steps and a record of others: it was changed")
    if made > run.setting.T:
        raise ValueError(
            f"the saved run had made {made} steps, more than T = {run.setting.T}: give the setting a larger T"
        )
