"""The paper's utility bound, term by term (docs/concepts.md, "What the noise costs").

It bounds the average over the steps of E |grad L(w_t)|^2 for losses that are L-Lipschitz, M-smooth and at most B_loss in
absolute value, whose Hessians lie between -H and H with tr H <= r M (effective rank r), and for runs that never meet the
ball, with all n records in every step. It does not depend on beta, nor on K other than through eta and the chance that a clip
is ever active: the reason why noise is counted by sigma, whatever its share along the directions.
"""

from dataclasses import dataclass
from math import exp, inf, log, pi, sqrt

from zoexplore.run.formatting import format_count
from zoexplore.run.setting import Setting


@dataclass(frozen=True)
class Utility:
    """The bound and its terms, each in squared units of the gradient; all inf, with a reason, where it does not apply.

    Args:
        descent: 4 d gap/(T eta), what is left of the way down.
        perturbation: M^2 xi^2 d^3, the two-point estimator's error.
        clipping: (4 L^2 d + 8 B_loss d/eta) times `clip_probability`.
        noise: 2 eta r M sigma^2.
        clip_probability: bound on the chance that any record's clip is active in any direction of any step.
        reason: why the bound does not apply; empty where it does.
    """

    descent: float
    perturbation: float
    clipping: float
    noise: float
    clip_probability: float
    reason: str = ""

    @property
    def total(self) -> float:
        """The bound on the average squared gradient norm."""
        return self.descent + self.perturbation + self.clipping + self.noise


def largest_step(d: int, M: float, r: float) -> float:
    """The largest eta for which the bound holds, d/(4 (2 + r) M).

    >>> largest_step(520, 0.75, 3)
    34.666666666666664
    """
    return d / (4 * (2 + r) * M)


def utility(setting: Setting, *, r: float, gap: float, B_loss: float, L: float | None = None) -> Utility:
    """The bound on the average squared gradient norm of a run.

    Args:
        setting: the run; uses n, d, K, T, sigma, clip, M, eta and xi.
        r: effective rank of the Hessian, from 1 to d.
        gap: the loss at the start above its minimum, at least 0.
        B_loss: the largest absolute value of the loss; at least 0.
        L: Lipschitz constant of the loss; the clip norm where None.

    Raises:
        ValueError: an argument is not finite or out of range.

    >>> from zoexplore.run.presets import DEMONSTRATION
    >>> bound = utility(DEMONSTRATION.replace(K=26, T=10_000), r=3, gap=0.7, B_loss=1.0)
    >>> round(bound.descent, 4), bound.clipping, round(bound.total, 4)
    (0.0042, 0.0, 0.0042)
    """
    L = setting.clip if L is None else L
    _range("r", r, 1, setting.d)
    for name, value in (("gap", gap), ("B_loss", B_loss)):
        _range(name, value, 0, inf)
    if not 0 < L < inf:
        raise ValueError(f"L = {L!r} is not allowed: give a finite number above 0")
    if reason := _inapplicable(setting):
        return Utility(inf, inf, inf, inf, 1.0, reason)
    d, eta, M, T = setting.d, setting.eta, setting.M, setting.T
    most = largest_step(d, M, r)
    if eta > most:
        reason = f"η = {eta:.4g} exceeds d/(4(2 + r)M) = {most:.4g}"
        if setting.eta_follows:
            reason += f"; with η = K/M the bound needs K ≤ d/(4(2 + r)) = {d / (4 * (2 + r)):.4g}"
        return Utility(inf, inf, inf, inf, 1.0, reason)
    chance = clip_probability(setting, L)
    return Utility(
        descent=4 * d / (T * eta) * gap,
        perturbation=M**2 * setting.xi**2 * float(d) ** 3,
        clipping=(4 * L**2 * d + 8 * B_loss * d / eta) * chance,
        noise=2 * eta * r * M * setting.sigma**2,
        clip_probability=chance,
    )


def _inapplicable(setting: Setting) -> str:
    """Why the bound does not apply, whatever the step size; empty where it may."""
    if setting.batch is not None and not setting.full_batch:
        return (
            f"b = {format_count(setting.batch)} is below n = {format_count(setting.n)}, and the bound has no term for the "
            "variance of a sampled gradient"
        )
    return "M = ∞: the smoothness of the loss is not given" if setting.M == inf else ""


def clip_probability(setting: Setting, L: float) -> float:
    """Bound on the chance that a clip is ever active: 2 sqrt(2 pi) n K T exp(-d C0^2/(8 L^2)), Delta = C0 + M xi/2.

    A union over records, directions and steps, at most 1; 0 where Delta >= L, which no difference quotient exceeds. It is 1
    where Delta <= M xi/2, which the union says nothing of. A joint clip does not act while every quotient is at most
    Delta/sqrt(K), nor where K quotients together cannot exceed it.

    >>> from zoexplore.run.presets import DEMONSTRATION
    >>> clip_probability(DEMONSTRATION.replace(clip=1.0), L=1.0), clip_probability(DEMONSTRATION.replace(clip=0.9), L=1.0) < 1e-12
    (0.0, True)
    """
    error, root = setting.M * setting.xi / 2, sqrt(setting.K)
    if setting.clip >= (L if setting.clipping == "each" else min(root * L, L + root * error if error > 0 else L)):
        return 0.0
    room = setting.clip_each - error
    if room <= 0:
        return 1.0
    terms = log(2 * sqrt(2 * pi)) + log(setting.n) + log(setting.K) + log(setting.T)
    return exp(min(0.0, terms - setting.d * (room / L) ** 2 / 8))


def closed_form_tradeoff(setting: Setting, *, epsilon: float, r: float, printed: bool = False) -> float:
    """The noise term 2 eta r M sigma^2 when the corollary gives a target epsilon, in closed form. To be shown, not used.

    64 sqrt(2) r M R sqrt(d) Delta ln(2/delta)/(n epsilon^2 sqrt(beta (1 - beta))), the paper's 64 r M R sqrt(d) Delta
    ln(2/delta)/(n epsilon^2) with `printed`. It does not depend on T, K or eta.

    Never calibrate by it. It puts epsilon = 2 sqrt(rho ln(2/delta)), dropping the rho beside it, so that its sigma is too
    small for the target; it takes the number of counted steps for a real number; and it does not ask whether the corollary
    holds. Use `zoexplore.calibrate`.

    Args:
        setting: the run; uses n, d, beta, R, clip, M and delta.
        epsilon: the target, above 0.
        r: effective rank, from 1 to d.
        printed: the paper's constant, for beta = 1/2.

    Raises:
        ValueError: an argument is not finite or out of range.

    >>> from zoexplore.run.presets import DEMONSTRATION
    >>> round(closed_form_tradeoff(DEMONSTRATION, epsilon=1.0, r=3), 2)
    1.76
    """
    _range("r", r, 1, setting.d)
    if not 0 < epsilon < inf:
        raise ValueError(f"epsilon = {epsilon!r} is not allowed: give a finite number above 0")
    if not printed and not 0 < setting.beta < 1:
        return inf
    constant = 64 if printed else 64 * sqrt(2) / sqrt(setting.beta * (1 - setting.beta))
    scale = r * setting.M * setting.R * sqrt(setting.d) * setting.clip_each / setting.n
    return constant * scale * log(2 / setting.delta) / epsilon**2


def _range(name: str, value: float, low: float, high: float) -> None:
    if not low <= value <= high or value == inf:
        upper = f" to {high:g}" if high < inf else " on"
        raise ValueError(f"{name} = {value!r} is not allowed: give a finite number from {low:g}{upper}")
