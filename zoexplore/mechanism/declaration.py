"""What the user vouches for about the loss. Nothing of it is ever guessed or estimated from data."""

from dataclasses import dataclass
from math import inf, isfinite, sqrt
from typing import TYPE_CHECKING

from zoexplore.run.setting import REGIMES, Setting

if TYPE_CHECKING:
    from zoexplore.mechanism.record import Step

ROUNDING = 1e-9  # declared constants that meet exactly may not meet in the last digits


@dataclass(frozen=True)
class Declared:
    """Constants of every record's loss, at every point that the data may lead to. What is left out is not known.

    Args:
        regime: "strongly-convex", "convex" or "non-convex", of what is clipped, the loss without the ridge.
        M: smoothness, the ridge's included (that of the data's part plus the ridge).
        m: strong convexity, the ridge's included; needed in the regime "strongly-convex".
        lipschitz: of the data's part, the one that is clipped, on the ball of radius R + xi. inf, as good as None, claims
            nothing: the clip may act.
        linear: the data's part is a function of one linear form of the parameters, as in `Setting`; used where M is declared.

    Raises:
        ValueError: a constant is not a positive number, m exceeds M, or m is missing.
    """

    regime: str = "non-convex"
    M: float | None = None
    m: float | None = None
    lipschitz: float | None = None
    linear: bool = False

    def __post_init__(self) -> None:
        if self.regime not in REGIMES:
            raise ValueError(f"regime = {self.regime!r} is not allowed: give one of {', '.join(map(repr, REGIMES))}")
        if not isinstance(self.linear, bool):
            raise ValueError(f"linear = {self.linear!r} is not allowed: give True or False")
        for name in ("M", "m", "lipschitz"):
            value = getattr(self, name)
            if value is not None and not (value > 0 and (isfinite(value) or (name == "lipschitz" and value == inf))):
                raise ValueError(f"{name} = {value!r} is not allowed: give a finite number above 0, or None if unknown")
        if self.m is not None and (self.M is None or self.m > self.M):
            raise ValueError(f"m = {self.m!r} with M = {self.M!r} is not allowed: give an M of at least m")
        if self.regime == "strongly-convex" and self.m is None:
            raise ValueError("regime = 'strongly-convex' needs m, the strong convexity of every record's loss with the ridge")

    def describe(self, setting: Setting) -> Setting:
        """The setting with what is declared in place of what was only supposed; its step size stays.

        Raises:
            ValueError: the setting's ridge exceeds the declared m or M, or no loss can have the constants on its ball.
        """
        self._check_ball(setting)
        if self.M is None:
            return setting.replace(eta=setting.eta)
        m = self.m if self.m is not None else setting.ridge  # outside "strongly-convex" no bound looks at m
        return setting.replace(eta=setting.eta, M=self.M, m=m, regime=self.regime, linear=self.linear)

    def _check_ball(self, setting: Setting) -> None:
        """Between opposite ends of the ball, 2 (R + xi) apart, the gradient of an m-strongly convex loss changes by at least
        2 m (R + xi); two of length L differ by 2 L at most. The ridge is no part of the loss that is L-Lipschitz.
        """
        if self.m is None or self.lipschitz is None or self.m <= setting.ridge:
            return
        inside, radius = self.m - setting.ridge, setting.R + setting.xi
        if inside * radius > self.lipschitz * (1 + ROUNDING):
            raise ValueError(
                f"m = {self.m:g} with lipschitz = {self.lipschitz:g} is not allowed: beside the ridge of {setting.ridge:g} it "
                f"means gradients of length (m - ridge)(R + xi) = {inside * radius:.4g} on the ball of radius {radius:g}; "
                "declare what can be proved of both, or train in a smaller ball"
            )


def why_not_idle(declared: Declared, step: "Step", resolved: bool = False) -> str:
    """Empty where the clip of a step provably never acts; else what is missing.

    A quotient is at most the Lipschitz constant L (mean value theorem). So is the length of a record's K-vector of
    derivatives, by Bessel's inequality; for xi > 0 each entry is off by up to (M - ridge) xi/2. Quotients that were taken along
    other unit vectors and `resolved` are bounded as the vector is; the step's xi then allows for it.
    """
    L = declared.lipschitz
    if L is None or L == inf:
        return "the Lipschitz constant of the clipped loss is not declared"
    longest, root = L, sqrt(step.K)
    if step.xi > 0 and (step.clipping == "joint" or resolved):
        rough = inf if resolved else root * L
        longest = rough if declared.M is None else min(rough, L + root * (declared.M - step.ridge) * step.xi / 2)
    if longest <= step.clip:
        return ""
    what = "difference quotient" if step.clipping == "each" else "vector of difference quotients"
    return f"a record's {what} may be as large as {longest:.4g}, above the clip {step.clip:.4g}"
