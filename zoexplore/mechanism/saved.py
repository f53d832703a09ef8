"""A run's saved state: made, and read whole before anything is changed."""

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from itertools import zip_longest
from math import sqrt
from typing import Any, NamedTuple

from torch import Tensor

from zoexplore.mechanism.batches import BatchDraws, SeenRecords
from zoexplore.mechanism.checks import LossChecks
from zoexplore.mechanism.parallel import digest
from zoexplore.mechanism.record import Counts, Ledger
from zoexplore.mechanism.rng import REKEYED
from zoexplore.mechanism.scale import Scale, probe_of
from zoexplore.mechanism.state import RunState
from zoexplore.mechanism.target import noise_for, spent
from zoexplore.run.setting import Setting

VERSION = 1  # of saved states
SHARED = ("n", "d", "neighbours")  # fields that two phases of one run must share
STATE = {
    *("version", "run", "rate", "param_group", "w", "bits", "frozen", "ledger", "counts", "draws"),
    *("quotient_error", "sources", "scale", "noise", "seen"),
}
WHOLE = "give one as state_dict() made it"


class Loaded(NamedTuple):
    """What a saved state describes beside weights and generators."""

    ledger: Ledger
    counts: Counts
    draws: BatchDraws
    checks: LossChecks
    scale: Scale
    plan: Setting


def state_of(run: RunState, group: dict[str, Any], weights: bool) -> dict[str, Any]:
    """The state, in tensors, numbers and text, with the parameters or their checksums.

    Raises:
        RuntimeError: the last step was interrupted while it moved the parameters.
    """
    run.watch.in_place()
    run.watch.model()
    tensors = run.parameters.tensors
    run.ledger.kept.append(digest(run.watch.fingerprint.last))
    return {
        "version": VERSION,
        "run": _arguments(run),
        "rate": run.rate,
        "scale": run.scale.state_dict(),
        "noise": probe_of(run.plan, None).sigma,
        "param_group": {name: x for name, x in group.items() if name != "params"},
        "w": [tensor.detach().clone() for tensor in tensors] if weights else None,
        "bits": run.watch.fingerprint.bits_of(tensors),
        "frozen": run.watch.fingerprint.frozen(),
        "ledger": run.ledger.state_dict(),
        "counts": asdict(run.counts),
        "draws": run.draws.state_dict(run.counts.steps),
        "quotient_error": run.watch.checks.quotient_error,
        "sources": run.sources.state_dict(),
        "seen": run.watch.seen.state_dict() if run.setting.sampling == "cyclic" else None,
    }


def load(run: RunState, state: dict[str, Any], group: dict[str, Any]) -> None:
    """Go on from a saved state, all of which is read before anything is changed.

    Raises:
        ValueError: it is no whole state of this version, or was made for other data or another model. Nothing is changed
            then.
    """
    loaded = _read(run, state)
    run.watch.fingerprint.claim(whole=True)  # they are where the state's steps led, whoever moved them before
    run.parameters.displaced = True  # an interruption from here on leaves neither the old run nor the saved one
    run.sources.load_state_dict(state["sources"])
    if state["w"] is not None:
        for tensor, saved in zip(run.parameters.tensors, state["w"], strict=True):
            tensor.data.copy_(saved)
    run.watch.fingerprint.renew()
    loaded.ledger.flaw = run.ledger.flaw or run.watch.fingerprint.changes() or loaded.ledger.flaw  # of this model and loss too
    run.ledger, run.counts, run.draws, run.watch.checks, run.scale, run.plan = loaded
    if state["seen"] is not None:
        run.watch.seen.load_state_dict(state["seen"])
    run.settle()
    goes_on = state["rate"] == run.rate  # else the new setting's rate holds
    group.update({name: x for name, x in state["param_group"].items() if goes_on or name != "lr"})
    run.parameters.displaced = False
    if run.sources.is_secure:
        warnings.warn(REKEYED, stacklevel=3)


def _read(run: RunState, state: Any) -> Loaded:
    """Make what a state describes.

    Raises:
        ValueError: as in `load`.
    """
    version = state.get("version") if isinstance(state, Mapping) else None
    if version != VERSION:
        raise ValueError(f"a state of the version {version!r} is not allowed: this version's state_dict() makes {VERSION}")
    if wrong := sorted(state.keys() ^ STATE):
        raise ValueError(f"a state that lacks, or has beside its own, {', '.join(map(repr, wrong))} is not allowed: {WHOLE}")
    if not run.ledger.has_looked:
        run.watch.fingerprint.start()
    try:
        _check_state(run, state)
        run.sources.check_state(state["sources"])
        draws = BatchDraws(run.setting, run.sources)
        draws.load_state_dict(state["draws"], state["counts"]["steps"])
        dict(state["param_group"])
        ledger, counts, scale = Ledger.of(state["ledger"]), Counts(**state["counts"]), Scale(run.scale.choices)
        scale.load_state_dict(state["scale"] if scale.choices.auto else scale.state_dict())
        noise = float(state["noise"])
        checks = LossChecks(state["quotient_error"])
        if state["seen"] is not None:
            SeenRecords(run.setting.n).load_state_dict(state["seen"])
        return Loaded(ledger, counts, draws, checks, scale, _with_noise_left(run, ledger, counts.steps, noise))
    except (KeyError, TypeError, AttributeError, IndexError, RuntimeError) as error:
        raise ValueError(f"the state is damaged ({type(error).__name__}: {error}): {WHOLE}") from error


def _with_noise_left(run: RunState, ledger: Ledger, made: int, before: float) -> Setting:
    """The plan with noise that keeps the target for all steps that are left: its own, that of the saved run, whose probes had
    the noise `before`, or what is solved for.

    Raises:
        ValueError: none does.
    """
    left, record, probe = run.plan.T - made, run.entries(ledger), probe_of(run.plan, run.plan.batch)
    if run.target is None or left == 0:
        return run.plan
    for noise in (probe.sigma, before):
        if spent(record, replace(probe, sigma=noise), left) <= run.target:
            break
    else:
        noise = noise_for(record, probe, left, run.target)
    return run.plan if noise == probe.sigma else run.plan.replace(sigma=run.plan.sigma * noise / probe.sigma)


def _arguments(run: RunState) -> dict[str, Any]:
    return run.setting.as_dict() | {f"declared {k}": v for k, v in asdict(run.declared).items()}


def _check_state(run: RunState, state: dict[str, Any]) -> None:
    own, tensors, made = _arguments(run), run.parameters.tensors, state["counts"]["steps"]
    saved_at: Sequence[Tensor] = tensors if state["w"] is None else state["w"]
    if state["w"] is None and state["bits"] != run.watch.fingerprint.bits_of(tensors):
        raise ValueError("the state is of parameters saved beside it, and these are others: load that model, then the state")
    compared = {name: (x, own[name]) for name, x in state["run"].items() if name in SHARED or name.startswith("declared")}
    kinds = {f"parameter {i}": (_kind(saved), _kind(now)) for i, (saved, now) in enumerate(zip_longest(saved_at, tensors))}
    for name, (saved, now) in (compared | kinds).items():
        if now != saved:
            raise ValueError(f"the saved run had {name} = {saved!r}, this one has {now!r}: make it the same way")
    frozen = run.watch.fingerprint.frozen()
    for name, bits in state["frozen"].items():
        if frozen.get(name) != bits:
            raise ValueError(f"the saved run had other numbers in {name!r}, which it does not train: give it the same model")
    if state["bits"] != run.watch.fingerprint.bits_of(saved_at):
        raise ValueError("the saved numbers are not those that the saved steps led to: the state was changed since")
    if made != sum(count for _, count in state["ledger"]["stages"]):
        raise ValueError(f"the saved run has {made} steps and a record of others: it was changed")
    if made > run.setting.T:
        raise ValueError(f"the saved run had made {made} steps, more than T = {run.setting.T}: give the setting a larger T")
    R, before = run.setting.R, state["run"]["R"]
    length = sqrt(sum(float(w.double().norm()) ** 2 for w in saved_at)) if R < before else 0.0
    if length > R:
        raise ValueError(f"the saved run had come to length {length:.4g}, beyond R = {R:.4g}: take a larger R")


def _kind(tensor: Tensor | None) -> str:
    return "none" if tensor is None else f"{tensor.dtype}, shape {tuple(tensor.shape)}"
