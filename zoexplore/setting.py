"""What is accounted: `Setting`, one run of Noisy-ZOGD, and `Accounting`, how its privacy loss is counted.

Both are frozen, hashable values that refuse whatever cannot be a run. A refusal is a `ValueError` that names the field,
the value given and the values allowed, so that a slider, a URL or a YAML file can show it as it is.
"""

from dataclasses import dataclass, field, fields, replace
from math import inf, isfinite, isnan
from numbers import Real
from typing import Any

REGIMES = ("strongly-convex", "convex", "non-convex")
CONVERSIONS = ("mironov", "cks", "gaussian")
SENSITIVITIES = ("clip", "lipschitz")
SCHEDULES = ("constant", "optimal")

LONGEST_SHOWN = 500  # characters of a refused value in a message
LARGEST_INTEGER = 2**53  # beyond it a whole number and its float differ, and formulas would use another one


@dataclass(frozen=True)
class Setting:
    """One run of Noisy-ZOGD. Only the last iterate `w_T` is released; neighbours replace one record.

    The defaults are a run that learns: two classes, logistic loss, 520 parameters (BOUNDS section 7, reference values).

    Args:
        n: dataset size, records.
        d: dimension, trainable parameters.
        K: orthonormal directions a step, 1 <= K <= d.
        T: steps.
        sigma: noise scale. One step's noise energy is (eta sigma)^2, whatever beta and K.
        beta: directional share of the noise power, in [0, 1].
        regime: "strongly-convex", "convex" or "non-convex".
        R: radius of the ball that iterates are projected onto; may be `inf`.
        clip: the clip norm Delta of one record's difference quotient; also the loss's Lipschitz constant.
        M: smoothness of the loss.
        m: strong convexity of the loss, `ridge` included; used in the regime "strongly-convex" only.
        ridge: the part of m that is added outside the clip, the same for every dataset.
        eta: step size; `None` means K/M, and keeps meaning it through `replace`.
        xi: perturbation scale of the two-point estimator; 0 is the directional derivative.
        delta: target delta, in (0, 1).
        batch: records a step, sampled without replacement; `None` means all n.

    Raises:
        ValueError: a value is impossible, not finite or of the wrong type.
    """

    n: int = 20_000
    d: int = 520
    K: int = 260
    T: int = 200
    sigma: float = 1e-3
    beta: float = 0.5
    regime: str = "strongly-convex"
    R: float = 0.31
    clip: float = 1.0
    M: float = 0.75
    m: float = 0.5
    ridge: float = 0.5
    eta: float = None  # type: ignore[assignment]  # a number as soon as the setting is made
    xi: float = 0.0
    delta: float = 1e-5
    batch: int | None = None
    eta_follows: bool = field(init=False, repr=False, default=False)  # eta was left to be K/M

    def __post_init__(self) -> None:
        def put(name: str, value: Any) -> None:
            object.__setattr__(self, name, value)

        put("regime", _option("regime", self.regime, REGIMES))
        for name in ("n", "d", "T"):
            put(name, _whole(name, getattr(self, name), 1, LARGEST_INTEGER, f"1 to {LARGEST_INTEGER}"))
        put("K", _whole("K", self.K, 1, self.d, f"1 to d = {self.d}"))
        if self.batch is not None:
            put("batch", _whole("batch", self.batch, 1, self.n, f"1 to n = {self.n}, or None for all"))
        for name in ("sigma", "clip", "M"):
            put(name, _number(name, getattr(self, name), above=0.0))
        put("R", _number("R", self.R, above=0.0, infinite=True))
        put("beta", _number("beta", self.beta, least=0.0, most=1.0))
        put("delta", _number("delta", self.delta, above=0.0, below=1.0))
        put("xi", _number("xi", self.xi, least=0.0))
        put("m", _number("m", self.m, least=0.0, most=self.M, most_name="M"))
        put("ridge", _number("ridge", self.ridge, least=0.0, most=self.m, most_name="m"))
        put("eta_follows", self.eta is None)
        put("eta", _number("eta", self.K / self.M if self.eta is None else self.eta, above=0.0))

    def replace(self, **changes: Any) -> "Setting":
        """The same run with some fields changed; a step size that was left to be K/M follows K and M.

        Raises:
            ValueError: a field is unknown, or its value is not allowed.

        >>> Setting(K=52).eta, Setting(K=52).replace(K=75).eta
        (69.33333333333333, 100.0)
        """
        return replace(self, **self._given(changes))

    def _given(self, changes: dict[str, Any]) -> dict[str, Any]:
        unknown = sorted(set(changes) - set(FIELDS))
        if unknown:
            raise ValueError(f"{unknown[0]} is not a field of Setting; the fields are {', '.join(FIELDS)}")
        return {"eta": None, **changes} if self.eta_follows else changes

    def as_dict(self) -> dict[str, Any]:
        """The arguments that make this setting again (eta is None where it follows K/M)."""
        return {name: getattr(self, name) for name in FIELDS} | ({"eta": None} if self.eta_follows else {})

    @property
    def full_batch(self) -> bool:
        return self.batch is None or self.batch == self.n


FIELDS = tuple(f.name for f in fields(Setting) if f.init)
INTEGER_FIELDS = ("n", "d", "K", "T", "batch")
NUMERIC_FIELDS = tuple(name for name in FIELDS if name != "regime")


@dataclass(frozen=True)
class Accounting:
    """How a run's privacy loss is counted.

    Args:
        conversion: from the Gaussian shift budget to epsilon: "gaussian" (exact), "cks" or "mironov" (BOUNDS section 2).
        sensitivity: "clip", or "lipschitz" where the data part of the loss is Delta-Lipschitz (BOUNDS section 7 e).
        schedule: "constant", the run's beta; "optimal", the share of every step chosen by the accountant.
        printed: the paper's printed constants, which are no guarantee (BOUNDS section 12).

    Raises:
        ValueError: an option is unknown.
    """

    conversion: str = "gaussian"
    sensitivity: str = "clip"
    schedule: str = "constant"
    printed: bool = False

    def __post_init__(self) -> None:
        _option("conversion", self.conversion, CONVERSIONS)
        _option("sensitivity", self.sensitivity, SENSITIVITIES)
        _option("schedule", self.schedule, SCHEDULES)
        if not isinstance(self.printed, bool):
            raise _refuse("printed", self.printed, "True or False")

    def replace(self, **changes: Any) -> "Accounting":
        """The same accounting with some options changed. Raises ValueError as the constructor does."""
        unknown = sorted(set(changes) - {f.name for f in fields(self)})
        if unknown:
            names = ", ".join(f.name for f in fields(self))
            raise ValueError(f"{unknown[0]} is not an option of Accounting; the options are {names}")
        return replace(self, **changes)


def _refuse(name: str, value: Any, allowed: str) -> ValueError:
    return ValueError(f"{name} = {shown(value)} is not allowed: give {allowed}")


def shown(value: Any) -> str:
    """A refused value as a message shows it."""
    try:
        text = repr(value)
    except ValueError:  # an integer too long for Python to write out
        text = "an integer of thousands of digits"
    return text if len(text) <= LONGEST_SHOWN else text[: LONGEST_SHOWN - 3] + "..."


def _option(name: str, value: Any, options: tuple[str, ...]) -> str:
    if not isinstance(value, str) or value not in options:
        raise _refuse(name, value, "one of " + ", ".join(repr(o) for o in options))
    return value


def _is_real(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)


def _whole(name: str, value: Any, least: int, most: int, allowed: str) -> int:
    allowed = f"a whole number from {allowed}"
    if not _is_real(value):
        raise _refuse(name, value, allowed)
    if not least <= value <= most or value != int(value):  # in this order: only what is in range can become an int
        raise _refuse(name, value, allowed)
    return int(value)


def _number(
    name: str, value: Any, *, above: float = -inf, least: float = -inf, below: float = inf, most: float = inf,
    most_name: str = "", infinite: bool = False,
) -> float:
    shown = f"{most_name} = {most}" if most_name else f"{most}"
    lower = f"above {above:g}" if above > -inf else f"of at least {least:g}"
    upper = f" and below {below:g}" if below < inf else f" and at most {shown}" if most < inf else ""
    allowed = f"a {'' if infinite else 'finite '}number {lower}{upper}{' (inf is allowed)' if infinite else ''}"
    if not _is_real(value):
        raise _refuse(name, value, allowed)
    try:
        x = float(value)
    except OverflowError:
        raise _refuse(name, value, allowed) from None
    if isnan(x) or (not infinite and not isfinite(x)) or not (above < x and least <= x and x <= most):
        raise _refuse(name, value, allowed)
    if below < inf and not x < below:
        raise _refuse(name, value, allowed)
    return x + 0.0  # not -0.0, whose reciprocal is -inf
