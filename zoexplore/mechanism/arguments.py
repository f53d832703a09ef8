"""Checks of an optimiser's arguments."""

from math import inf, sqrt
from typing import Any

from torch import Tensor, distributed, nn

from zoexplore.mechanism.record import Declared
from zoexplore.mechanism.rng import Sources
from zoexplore.mechanism.scale import AUTO, DECAYS, Choices, Scale
from zoexplore.questions import recommend, signal_to_noise
from zoexplore.questions.recommendation import in_words, meanings
from zoexplore.questions.statement import remark_on_delta
from zoexplore.run.setting import Setting
from zoexplore.run.text import written

KINDS = {"setting": Setting, "sources": Sources, "declared": Declared}
SAMPLED = ("without-replacement", "poisson", "cyclic")


def check_kinds(**given: Any) -> None:
    """Raise TypeError if an argument is not of the plain class: a subclass could act otherwise."""
    for name, value in given.items():
        if type(value) is not (kind := KINDS[name]):
            raise TypeError(
                f"{name} of the type {type(value).__name__} is not allowed: give a plain {kind.__name__}, no class made of it"
            )


def check(setting: Setting, microbatch: int | None) -> None:
    """Raise ValueError if the optimiser cannot make or count the run; it names the argument."""
    # several releases have no account here; `privacy_report` is told which iterates are released
    if setting.releases != 1:
        raise ValueError(
            f"releases = {setting.releases!r} is not allowed: the optimiser knows releases = 1 alone; `zoexplore.guarantee` "
            "accounts for a run of your own that does otherwise"
        )
    if setting.sampling not in SAMPLED:
        raise ValueError(
            f"sampling = {setting.sampling!r} is not allowed: give one of {', '.join(map(repr, SAMPLED))}"
        )
    if microbatch is not None and not microbatch >= 1:
        raise ValueError(
            f"microbatch = {microbatch!r} is not allowed: give a whole number from 1 on, or None"
        )
    if setting.eta is None or not setting.eta < inf:
        raise ValueError(
            "eta is not set: give the setting an eta (K times the learning rate), or M, from which eta = K/M"
        )


def check_trained(parameters: Any) -> None:
    """Raise TypeError if `parameters` is neither a module nor a tensor."""
    if not isinstance(parameters, nn.Module | Tensor):
        raise TypeError(
            f"parameters of the type {type(parameters).__name__} are not allowed: give the module itself (what is "
            "not to be trained gets requires_grad_(False)), or one flat vector"
        )


def dimension(parameters: Any) -> int:
    """Return how many numbers of `parameters` are trained. Raise TypeError if `parameters` is
    neither a module nor a vector.
    """
    check_trained(parameters)
    if isinstance(parameters, Tensor):
        return parameters.numel()
    return sum(p.numel() for p in parameters.parameters() if p.requires_grad)


def check_processes(group: Any) -> None:
    """Raise RuntimeError if there are several processes and each trains by itself."""
    count = (
        distributed.get_world_size()
        if distributed.is_available() and distributed.is_initialized()
        else 1
    )
    if group is None and count > 1:
        raise RuntimeError(
            f"training in {count} processes, each by itself, is not allowed: each would draw batches and noise of its own, and "
            "report of them alone. Give group=torch.distributed.group.WORLD in all of them, and they make one run"
        )


RARELY = 0.1  # the largest fraction of a run that should go into finding its scale


def choices(*, lr: Any, clip: Any, xi: Any, decay: str | None, public: bool) -> Choices:
    """Collect what a run finds by itself, which is each argument that is "auto" or None.

    Raises:
        ValueError: a number or a word is not allowed.
    """
    given = {"lr": lr, "clip": clip, "xi": xi}
    for name, value in given.items():
        is_number = isinstance(value, int | float) and 0 <= value < inf
        if value not in (None, AUTO) and not (is_number and (value > 0 or name == "xi")):
            raise ValueError(
                f"{name} = {value!r} is not allowed: give a number above 0, or {AUTO!r} and the run finds it"
            )
    auto = frozenset(name for name, value in given.items() if value in (None, AUTO))
    decay = decay or ("linear" if "lr" in auto else "constant")
    if decay not in DECAYS:
        raise ValueError(
            f"decay = {decay!r} is not allowed: give one of {', '.join(map(repr, DECAYS))}"
        )
    if public and not auto:
        raise ValueError(
            "scale_from is not allowed where lr, clip and xi are given: nothing is left to find"
        )
    return Choices(auto, decay, public)


# the options that `for_epsilon` passes on to `setting_for`
PLANNED = (
    "batch",
    "sampling",
    "neighbours",
    "beta",
    "clipping",
    "R",
    "ridge",
    "records_per_person",
)


def setting_for(
    *,
    d: int,
    lr: Any = None,
    clip: Any = None,
    xi: Any = None,
    T: int | None = None,
    K: int | None = None,
    R: float = inf,
    ridge: float = 0.0,
    **known: Any,
) -> Setting:
    """Plan the run with the least noise that meets a target by composition, as
    `NoisyZOGD.for_epsilon` describes. Whichever of lr, clip and xi the run is to find is 1 here.
    `known` goes to `zoexplore.recommend`.

    >>> round(setting_for(epsilon=2.0, delta=1e-5, n=1000, d=10**6, T=1000, K=4, lr=0.1, clip=1.0).sigma, 5)
    0.06305
    """
    if T is not None and known.get("passes") is None:
        K = K or 1
    known |= {
        name: value
        for name, value in (("K", K), ("T", T), ("clip", clip))
        if value not in (None, AUTO)
    }
    run = recommend(bound="composition", d=d, **{"beta": 1.0} | known).setting
    lr, xi = (1.0 if value in (None, AUTO) else value for value in (lr, xi))
    M = inf if ridge == 0 else ridge
    return run.replace(eta=lr * run.K, xi=xi, R=R, M=M, m=ridge, ridge=ridge)


STILL = 1e-4  # a model that moves less than this fraction of its length stays where it is


def still(setting: Setting, choices: Choices, length: float) -> str:
    """Return a warning if all steps together hardly move a model that starts with this length;
    otherwise return "".
    """
    walk = setting.eta * (
        setting.T * setting.clip_each / sqrt(setting.K) + sqrt(setting.T) * setting.sigma
    )
    if choices.auto & {"lr", "clip"} or walk >= STILL * length:
        return ""
    return (
        f"The model stays where it is: {setting.T} steps move it by {walk / length:.1g} of its length at most. lr is along "
        f"directions of length 1: multiply a rate of MeZO's by the number of trained parameters, d = {setting.d}."
    )


def described(setting: Setting, epsilon: float, scale: Scale) -> str:
    """Write the plan in sentences, after a warning if the noise drowns a step.

    Raises:
        ValueError: finding the scale leaves no step to train.
    """
    auto = scale.choices.auto
    if setting.T <= scale.planned:
        more = "give more, of smaller batches, or lr, clip and xi"
        raise ValueError(
            f"T = {setting.T} is not allowed: {scale.planned} steps find the scale; {more}"
        )
    noise = setting.sigma / setting.clip_each
    said = written(
        "mechanism/texts/plan.txt",
        run=setting,
        epsilon=epsilon,
        probes=scale.planned,
        signal=signal_to_noise(setting),
        meanings=meanings(setting),
        noise=noise,
        scale=in_words(auto, noise * sqrt(setting.b), scale.choices.decay),
        auto=auto,
        rarely=RARELY,
        remark=remark_on_delta(setting),
    )
    return " ".join(filter(None, said.splitlines()))
