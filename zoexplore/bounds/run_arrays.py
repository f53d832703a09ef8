"""Many runs at once: a setting whose fields are arrays, so that points and curves share code."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from zoexplore.bounds.contraction import lipschitz
from zoexplore.bounds.kernels import norms
from zoexplore.bounds.numbers import Numbers
from zoexplore.bounds.sensitivity import Sensitivity, above_underflow
from zoexplore.run.refusals import shown
from zoexplore.run.setting import INTEGER_FIELDS, NUMERIC_FIELDS, Accounting, Setting

LEAST_UNIT = 1e-290
LEAST_PRODUCT = 2.0**-1022  # the smallest normal double


@dataclass(frozen=True)
class RunArrays(Sensitivity):
    """Holds a `Setting` whose numeric fields are float arrays, of shape () unless the field varies.
    Derived quantities have the names of docs/bounds.md, and derived lengths are in units of eta
    sigma. So only ratios of given numbers are squared, and no length or loss can underflow. `eta`
    is nan if it is not set.
    """

    setting: Setting  # the value of a varied field means nothing here
    n: np.ndarray
    d: np.ndarray
    K: np.ndarray
    T: np.ndarray
    sigma: np.ndarray
    beta: np.ndarray
    R: np.ndarray
    clip: np.ndarray
    M: np.ndarray
    m: np.ndarray
    ridge: np.ndarray
    eta: np.ndarray
    xi: np.ndarray
    delta: np.ndarray
    batch: np.ndarray
    lipschitz: np.ndarray  # the clip if the setting gives none
    releases: np.ndarray
    records_per_person: np.ndarray
    cooldown: np.ndarray
    cooldown_beta: np.ndarray
    # whether the norm of linear models is used, which takes even an idle clip as one that may act
    by_linear_norm: bool = False
    by_clip: bool = False  # whether the clip alone limits a record's effect
    composition_cache: dict[Any, Any] = field(default_factory=dict)  # results by accounting

    @classmethod
    def of(cls, setting: Setting) -> "RunArrays":
        return cls(setting, **_columns(setting))

    @classmethod
    def along(cls, setting: Setting, field: str, values: Numbers) -> "RunArrays":
        """Return runs with the setting's fields, except that one field takes each of `values`.

        Raises:
            ValueError: the field is not numeric, or a value is not allowed.
        """
        if field not in NUMERIC_FIELDS:
            raise ValueError(
                f"field = {field!r} is not allowed: give one of {', '.join(NUMERIC_FIELDS)}"
            )
        try:
            values = np.asarray(values, float)
        except (TypeError, ValueError, OverflowError):
            raise ValueError(f"{field} = {shown(values)} is not allowed: give numbers") from None
        if values.ndim != 1 or values.size == 0:
            raise ValueError(
                f"values of shape {values.shape} are not allowed: give a list of at least one {field}"
            )
        for extreme in _extremes(field, values):
            setting.replace(**{field: extreme})
        columns = _columns(setting) | {field: values}
        if setting.eta_follows and field in ("K", "M"):
            columns["eta"] = np.where(np.isinf(columns["M"]), np.nan, columns["K"] / columns["M"])
        if setting.batch is None and field == "n":
            columns["batch"] = values
        if setting.lipschitz is None and field == "clip":
            columns["lipschitz"] = values
        return cls(setting, **columns)

    def counted_by(self, accounting: Accounting) -> "RunArrays":
        """Return the same runs, with a record's effect counted as the accounting says."""
        return replace(self, by_clip=accounting.sensitivity == "clip" or accounting.printed)

    def counted_by_linear_norm(self, by_linear_norm: bool = True) -> "RunArrays":
        """Return the same runs, counted by the norm of linear models or not."""
        return replace(self, by_linear_norm=by_linear_norm)

    def changed(self, **columns: np.ndarray) -> "RunArrays":
        """Return other runs, in which these columns replace the runs' own. The columns broadcast."""
        return replace(self, composition_cache={}, **columns)  # type: ignore[arg-type]

    def at(self, index: np.ndarray) -> "RunArrays":
        """Return the runs at `index` along a curve."""
        return self.changed(
            **{name: x[index] for name in NUMERIC_FIELDS if np.ndim(x := getattr(self, name))}
        )

    @property
    def regime(self) -> str:
        return self.setting.regime

    @cached_property
    def shape(self) -> tuple[int, ...]:
        return np.broadcast_shapes(*(getattr(self, name).shape for name in NUMERIC_FIELDS))

    @cached_property
    def c(self) -> np.ndarray:
        """The Lipschitz constant of the first-order step w - (eta/K) grad L(w)."""
        return self.largest(
            lambda part: lipschitz(
                self.regime, part * self.eta / self.K, self.M, self.ridge + self._least_convexity
            )
        )

    @cached_property
    def slowest(self) -> float:
        """The least size of a step, as a fraction of eta: 1 except for a `VariedSetting`."""
        return getattr(self.setting, "slowest", 1.0)

    def largest(self, of: Callable[[float], np.ndarray]) -> np.ndarray:
        """Return the largest value of a convex function of the step size, in the function's own
        shape. The function takes the step size as a fraction of eta.
        """
        return of(1.0) if self.slowest == 1.0 else np.maximum(of(1.0), of(self.slowest))

    @cached_property
    def unit(self) -> Numbers:
        """The unit of length: eta sigma, the noise of a step."""
        return self.eta * self.sigma

    @cached_property
    def diameter(self) -> np.ndarray:
        """2R; infinite if the unit is too small or too large for a double's full precision."""
        return np.where(
            (self.unit > LEAST_UNIT) & (self.unit < np.inf),
            above_underflow(2 * self.R / self.unit),
            np.inf,
        )

    @cached_property
    def ridge_expansion(self) -> Numbers:
        """The largest factor by which the ridge's step stretches a distance in the span: max(1, |1
        - eta ridge/K|).
        """
        return np.maximum(
            1.0, self.largest(lambda part: np.abs(1 - part * self.eta * self.ridge / self.K))
        )

    @cached_property
    def step_separation(self) -> np.ndarray:
        """The most by which a step moves two runs apart, for any loss; inf if the ridge's step
        stretches distances.
        """
        return np.where(self.ridge_expansion > 1, np.inf, self.step_sensitivity)

    @cached_property
    def bias_term(self) -> np.ndarray:
        """The largest two-point error in the difference of two updates, in the span: eta M
        xi/sqrt(K).
        """
        added = np.maximum(self.M * self.xi, LEAST_PRODUCT) / self.sigma / np.sqrt(self.K)
        return np.where(self.xi > 0, above_underflow(added), 0.0)

    @cached_property
    def quotient_bias(self) -> np.ndarray:
        """The two-point error, from the width of the range [lo, M'] of the clipped loss's
        curvatures: eta (M' - lo) xi/(2 sqrt(K)).
        """
        width = np.maximum(
            (self.top_curvature - self.low_curvature) / 2 * np.sqrt(self.K) * self.xi / self.unit,
            0.0,
        )
        known = np.where(self.top_curvature > self.low_curvature, above_underflow(width), 0.0)
        return np.where(self.xi > 0, np.where(np.isinf(self.M), np.inf, known), 0.0)

    @cached_property
    def quotient_bias_at_zero(self) -> Numbers:
        """The record's own part of `quotient_bias`. Nothing else counts if both runs are at the
        same point.
        """
        return self.quotient_bias * self.own_part

    @cached_property
    def linear(self) -> Numbers:
        """Whether the norm of linear models may be used. It may not if the clipped loss is declared
        strongly convex, because for d > 1 no function of one linear form is strongly convex. For d
        = 1 the norm would change nothing.
        """
        return self.setting.linear & (self.low_curvature <= 0) & (self.d > 1)

    @cached_property
    def remainder(self) -> np.ndarray:
        """`quotient_bias`. For linear models it is sqrt(K) times smaller, or 0 if the loss is
        convex and the clip may act on each quotient.
        """
        nothing = (self.clip_kind == norms.EACH) & (self.low_curvature == 0)
        known = np.where(nothing, 0.0, self.quotient_bias / np.sqrt(self.K))
        return np.where(self.linear, known, self.quotient_bias)

    @cached_property
    def acting(self) -> np.ndarray:
        """Whether the clip may act. With the norm of linear models any clip counts as one that may."""
        return (self.longest > self.clip) | self.by_linear_norm

    @cached_property
    def clip_kind(self) -> np.ndarray:
        """The kind of clip, as the kernels number it: `norms.IDLE`, `EACH`, `JOINT` or
        `JOINT_LINEAR`.
        """
        together = np.where(self.linear & self.by_linear_norm, norms.JOINT_LINEAR, norms.JOINT)
        return np.where(
            self.joint & (self.longest > self.clip),
            together,
            np.where(self.acting, norms.EACH, norms.IDLE),
        )

    @cached_property
    def certain(self) -> Numbers:
        """Whether nothing in the drift is random: in one dimension, or for K = d unless a clip may
        act on each quotient.
        """
        return (self.d == 1) | ((self.K == self.d) & (self.clip_kind != norms.EACH))

    @cached_property
    def longest(self) -> np.ndarray:
        """The greatest length that the clip can meet: a quotient's or, if the clip is joint, that
        of a record's vector of quotients. For derivatives along orthonormal directions it is at
        most the Lipschitz constant L. A two-point quotient differs from the derivative by at most a
        quarter of xi times the range of curvatures (docs/bounds.md, "Sensitivity").
        """
        if not (self.setting.clipping == "joint" and np.any(self.xi > 0)):
            return self.lipschitz
        width = np.where(
            self.xi > 0,
            (self.M - self.ridge) * self.xi * (0.5 if self.regime == "non-convex" else 0.25),
            0.0,
        )
        root = np.sqrt(self.K)
        return np.where(
            self.joint,
            np.minimum(self.lipschitz + root * width, root * self.lipschitz),
            self.lipschitz,
        )

    @cached_property
    def slope(self) -> np.ndarray:
        """The gradient length that limits a record's effect; infinite if only the clip does. Only
        the clip does if the accounting says so, if no loss can be as stated, or if L/sqrt(d), the
        typical derivative along a direction, is at least the clip.
        """
        useless = (
            self.by_clip | ~self.consistent | (self.lipschitz >= self.clip_each * np.sqrt(self.d))
        )
        return np.where(useless, np.inf, self.lipschitz)

    @cached_property
    def B_lipschitz(self) -> Numbers:
        """The largest difference of neighbours' updates at the same point, before projection onto
        the span, if gradients have a length of at most L: 2 eta L/(nK) for one replaced record.
        """
        return self.B_clip / np.sqrt(self.K) * (self.slope / self.clip_each)

    @cached_property
    def B(self) -> Numbers:
        """The largest difference of neighbours' updates at the same point, in the span, whatever
        the directions. The clip limits it, and so does a gradient's length, which no projection
        exceeds.
        """
        return np.minimum(self.B_clip, self.B_lipschitz + self.quotient_bias_at_zero)

    @cached_property
    def own_bias(self) -> np.ndarray:
        """The two-point error of the record's own quotients if all iterates are public:
        `quotient_bias_at_zero`, or 0 if the loss is a function of one linear form. Each quotient of
        such a loss is at most L times what the direction sees of the form.
        """
        return np.where(self.linear, 0.0, self.quotient_bias_at_zero)

    @cached_property
    def B_public(self) -> Numbers:
        """B if all iterates are public."""
        return np.minimum(self.B_clip, self.B_lipschitz + self.own_bias)

    @cached_property
    def record_sensitivity(self) -> Numbers:
        """B for the mean vector of difference quotients, divided by sqrt(K), in units of sigma. By
        the clip it is 2 Delta/n for one replaced record, and Delta/n for one added or removed.
        """
        return self.B * np.sqrt(self.K)

    @cached_property
    def gradient_sensitivity(self) -> Numbers:
        """The most by which a person's records move the mean gradient if each gradient is clipped
        to length Delta, in units of sigma.
        """
        return above_underflow(
            self.person_share * 2 * np.minimum(self.clip, self.slope) / self.n / self.sigma
        )

    @cached_property
    def step_sensitivity(self) -> Numbers:
        """The largest difference of updates at two points, in the span: the smaller of 2 eta
        Delta/sqrt(K) and of 2 eta L/K plus the two-point error.
        """
        return np.minimum(
            self.clipped_step,
            above_underflow(2 * self.slope / self.sigma / self.K) + self.quotient_bias,
        )

    @cached_property
    def consistent(self) -> np.ndarray:
        """Whether a loss can be both as strongly convex and as Lipschitz as stated. Opposite ends
        of the ball are 2 (R + xi) apart, and gradients of length L differ by at most 2 L.
        """
        if self.regime != "strongly-convex":
            return np.ones(self.shape, bool)
        # strong convexity outside the clip needs no check, even on an infinite ball
        outside = self.m == self.ridge
        reach = np.where(
            outside, 0.0, (self.m - self.ridge) * np.where(outside, 1.0, self.R + self.xi)
        )
        return reach <= self.lipschitz

    @cached_property
    def certain_c(self) -> Numbers:
        """The Lipschitz constant of a step in which nothing is random."""
        change = norms.Change(self.ridge_factor, self.low_curvature, self.top_curvature)
        return norms.certain_constant(
            change, self.slowest, np.where(self.certain, self.clip_kind, norms.IDLE)
        )

    @cached_property
    def ridge_factor(self) -> Numbers:
        """The factor, of either sign, by which the ridge's step scales a distance in the span: 1 -
        eta ridge/K.
        """
        return 1 - self.eta / self.K * self.ridge

    @cached_property
    def top_curvature(self) -> Numbers:
        """eta/K times the smoothness of the clipped loss, M - ridge."""
        return self.eta / self.K * (self.M - self.ridge)

    @cached_property
    def low_curvature(self) -> Numbers:
        """eta/K times the least curvature of the clipped loss: m - ridge, 0 or -(M - ridge), by the
        regime.
        """
        if self.regime == "non-convex":
            return -self.top_curvature
        return self.eta / self.K * self._least_convexity

    @cached_property
    def _least_convexity(self) -> np.ndarray:
        """The strong convexity of the mean clipped loss on the larger of two neighbouring data
        sets.
        """
        return self.m - self.ridge if self.regime == "strongly-convex" else 0 * self.m


def _columns(setting: Setting) -> dict[str, Any]:
    whole = {
        "batch": setting.b,
        "lipschitz": setting.longest_gradient,
        "cooldown_beta": 0.5 if setting.cooldown_beta is None else setting.cooldown_beta,
    }
    return {
        name: np.asarray(whole.get(name, getattr(setting, name)), float) for name in NUMERIC_FIELDS
    }


def _extremes(field: str, values: np.ndarray) -> list[float]:
    """Return those few of the values, shape (P,), that decide whether all are allowed, because each
    field allows an interval.
    """
    with np.errstate(invalid="ignore"):
        broken = values[values % 1 != 0] if field in INTEGER_FIELDS else values[np.isnan(values)]
    return [float(v) for v in (*broken[:1], values.min(), values.max())]
