"""An optimiser's saved state, and how another optimiser continues from it."""

from collections.abc import Sequence
from dataclasses import asdict
from itertools import zip_longest
from math import sqrt
from typing import TYPE_CHECKING, Any

from torch import Tensor

from zoexplore.mechanism.checks import LossChecks
from zoexplore.mechanism.checksums import checksums
from zoexplore.mechanism.record import Counts, Ledger

if TYPE_CHECKING:
    from zoexplore.mechanism.optimiser import NoisyZOGD

SHARED = ("n", "d", "neighbours")  # fields that two phases of one run must share


def of(optimiser: "NoisyZOGD", weights: bool = True) -> dict[str, Any]:
    """The state, in tensors, numbers and words; with the parameters, or with their checksums in place of them."""
    return {
        "run": optimiser.setting.as_dict() | {f"declared {k}": v for k, v in asdict(optimiser.declared).items()},
        "rate": optimiser.setting.eta / optimiser.setting.K,
        "param_groups": [{name: x for name, x in group.items() if name != "params"} for group in optimiser.param_groups],
        "w": [tensor.detach().clone() for tensor in optimiser._parameters.tensors] if weights else None,
        "bits": optimiser._fingerprint.bits_of(optimiser._parameters.tensors),
        "frozen": optimiser._fingerprint.frozen(),
        "ledger": optimiser._ledger.state_dict(),
        "counts": asdict(optimiser.counts),
        "draws": optimiser._draws.state_dict(),
        "kept": [[x.clone() for x in slots] for slots in optimiser._kept],
        "bits of kept": checksums(x for slots in optimiser._kept for x in slots),
        "quotient_error": optimiser._checks.quotient_error,
        "sources": optimiser.sources.state_dict(),
    }


def load(optimiser: "NoisyZOGD", state: dict[str, Any]) -> None:
    """Put a state into an optimiser that was made for the same data and model.

    Raises:
        ValueError: it was made for others. Nothing is changed then.
    """
    if not optimiser._ledger.has_moved:
        optimiser._fingerprint.start()
    _check(optimiser, state)
    optimiser.sources.load_state_dict(state["sources"])
    if state["w"] is not None:
        for tensor, saved in zip(optimiser._parameters.tensors, state["w"], strict=True):
            tensor.data.copy_(saved)
    for slots, kept in zip(optimiser._kept, state["kept"], strict=True):
        for x, saved in zip(slots, kept, strict=True):
            x.copy_(saved)
    optimiser._fingerprint.renew()
    optimiser._parameters.displaced = False
    found, optimiser._ledger = optimiser._ledger.flaw or optimiser._fingerprint.changes(), Ledger.of(state["ledger"])
    optimiser._ledger.flaw = found or optimiser._ledger.flaw  # what was found of this model and this loss stays found
    optimiser._counts = Counts(**state["counts"])
    optimiser._draws.load_state_dict(state["draws"], optimiser.steps)
    optimiser._ledger.part(optimiser._draws.ahead(optimiser.steps))
    optimiser._checks = LossChecks(state["quotient_error"])
    optimiser._fingerprint.claim()  # they are where the state's steps led, whoever moved them before
    goes_on = state["rate"] == optimiser.setting.eta / optimiser.setting.K
    for group, saved in zip(optimiser.param_groups, state["param_groups"], strict=True):
        group.update({name: x for name, x in saved.items() if goes_on or name != "lr"})  # else the new setting's rate holds


def _check(optimiser: "NoisyZOGD", state: dict[str, Any]) -> None:
    own, T, made = of(optimiser, weights=False), optimiser.setting.T, state["counts"]["steps"]
    tensors = optimiser._parameters.tensors
    saved_at: Sequence[Tensor] = tensors if state["w"] is None else state["w"]
    if state["w"] is None and state["bits"] != own["bits"]:
        raise ValueError("the state is of parameters saved beside it, and these are others: load that model, then the state")
    compared = {name: (x, own["run"][name]) for name, x in state["run"].items() if name in SHARED or name.startswith("declared")}
    kinds = {f"parameter {i}": (_kind(saved), _kind(mine)) for i, (saved, mine) in enumerate(zip_longest(saved_at, tensors))}
    for name, (saved, mine) in (compared | kinds).items():
        if mine != saved:
            raise ValueError(f"the saved run had {name} = {saved!r}, this one has {mine!r}: make it the same way")
    for name, bits in state["frozen"].items():
        if own["frozen"].get(name) != bits:
            raise ValueError(f"the saved run had other numbers in {name!r}, which it does not train: give it the same model")
    bits, of_kept = optimiser._fingerprint.bits_of(saved_at), checksums(x for slots in state["kept"] for x in slots)
    if state["bits"] != bits or state["bits of kept"] != of_kept:
        raise ValueError("the saved numbers are not those that the saved steps led to: the state was changed since")
    if made != sum(count for _, count in state["ledger"]["stages"]):
        raise ValueError(f"the saved run has {made} steps and a record of others: it was changed")
    if made > T:
        raise ValueError(f"the saved run had made {made} steps, more than T = {T}: give the setting a larger T")
    R, before = optimiser.setting.R, state["run"]["R"]
    length = sqrt(sum(float(w.double().norm()) ** 2 for w in saved_at)) if R < before else 0.0
    if length > R:
        raise ValueError(f"the saved run had come to length {length:.4g}, beyond R = {R:.4g}: take a larger R")
    if [g["numbers"] for g in state["param_groups"]] != [g["numbers"] for g in own["param_groups"]]:
        raise ValueError("the saved run had other parameter groups than this one: make it the same way")
    if [len(slots) for slots in state["kept"]] != [len(slots) for slots in optimiser._kept]:
        raise ValueError("the saved run had other post-processing than this one: make it the same way")


def _kind(tensor: Tensor | None) -> str:
    return "none" if tensor is None else f"{tensor.dtype}, shape {tuple(tensor.shape)}"
