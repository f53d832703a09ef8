"""Limits of the values that a run's fields take."""

from typing import Any

LEAST_DELTA = 1e-300  # parts of a smaller delta would be subnormal doubles, which have fewer digits
LARGEST_INTEGER = 2**53  # larger whole numbers are not exact as floats
_ABOVE_0, _SHARE = {"above": 0.0}, {"least": 0.0, "most": 1.0}
_UNBOUNDED = _ABOVE_0 | {"infinite": True}
LIMITS: dict[str, dict[str, Any]] = {  # arguments of `refusals.number`, by field
    "sigma": _ABOVE_0,
    "clip": _ABOVE_0,
    "R": _UNBOUNDED,
    "M": _UNBOUNDED,
    "lipschitz": _UNBOUNDED,
    "beta": _SHARE,
    "cooldown_beta": _SHARE,
    "delta": {"least": LEAST_DELTA, "below": 1.0},
    "xi": {"least": 0.0},
}
