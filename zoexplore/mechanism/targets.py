"""From a target to a run: the noise that a wanted epsilon asks for, whoever sees the iterates."""

from math import inf, sqrt
from typing import Any

from zoexplore.bounds import guarantee
from zoexplore.formatting import round_up
from zoexplore.planning import recommend, signal_to_noise
from zoexplore.setting import Setting

USUAL_XI = 1e-3  # times sqrt(d): what MeZO's two points are apart by, seen along a unit vector


def setting_for(
    *,
    epsilon: float,
    delta: float,
    n: int,
    d: int,
    lr: float,
    clip: float,
    T: int | None = None,
    K: int | None = None,
    passes: float | None = None,
    beta: float = 1.0,
    batch: int | None = None,
    xi: float | None = None,
    R: float = inf,
    ridge: float = 0.0,
) -> Setting:
    """The run with the least noise that composition allows at (epsilon, delta), its clip joint.

    Args:
        epsilon, delta: the target, which holds even if every iterate is seen.
        n, d, beta, batch, R, ridge: as in `Setting`.
        T, K: steps, and directions a step (1 where T alone is given); those that are left out are planned.
        passes: forward passes a record that are planned with, as in `zoexplore.planning.recommend`.
        lr: the learning rate eta/K.
        clip: C, the longest vector of K quotients a record may have.
        xi: perturbation scale; 1e-3 sqrt(d) where None.

    Raises:
        ValueError: no noise meets the target, or a number is not allowed.

    >>> round(setting_for(epsilon=2.0, delta=1e-5, n=1000, d=10**6, T=1000, K=4, lr=0.1, clip=1.0).sigma, 5)
    0.06305
    """
    if not lr > 0:
        raise ValueError(f"lr = {lr!r} is not allowed: give a number above 0")
    xi = USUAL_XI * sqrt(d) if xi is None else xi
    if T is not None and passes is None:
        K = K or 1
    given = {name: value for name, value in (("K", K), ("T", T)) if value is not None}
    known: dict[str, Any] = {"n": n, "d": d, "beta": beta, "batch": batch, "clip": clip, "delta": delta, **given}
    run = recommend(epsilon=epsilon, passes=passes, bound="composition", **known).setting
    M = inf if ridge == 0 else ridge
    return run.replace(eta=lr * run.K, xi=xi, R=R, M=M, m=ridge, ridge=ridge)


def described(setting: Setting) -> str:
    """What was chosen, in a sentence; one more before it where the noise drowns a step."""
    signal = signal_to_noise(setting)
    drowned = f"The noise drowns the step: it is {1 / signal:.3g} times as long as the longest one. " if signal < 1 else ""
    on = "all records" if setting.full_batch else f"batches of {setting.batch}"
    counted = guarantee(setting, "composition")
    budget = f"σ = {setting.sigma:.4g} gives ε = {round_up(counted.epsilon):.4g} at δ = {round_up(setting.delta, 6):g}"
    run = f"after {setting.T} steps on {on} of n = {setting.n}, by composition"
    sizes = f"d = {setting.d}, K = {setting.K}, lr = η/K = {setting.eta / setting.K:.4g}, ξ = {setting.xi:.4g}"
    return f"{drowned}{budget} {run}. {sizes}; each record's {setting.K} quotients are clipped together at {setting.clip:.4g}."
