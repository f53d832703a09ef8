"""Two tables: a run's fields, with names, symbols and usual ranges, and its options.

`Setting` says which values are allowed; the ranges here are those of sliders and figures.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from difflib import get_close_matches

from zoexplore.run.formatting import THIN


@dataclass(frozen=True)
class Field:
    """One numeric field of a run.

    Args:
        name: its name in `Setting`.
        symbol: the paper's.
        noun: the words of an axis label.
        meaning: a phrase with unit or limits.
        low, high: the range of sliders and figures.
        whole: whether its values are whole numbers.
        linear: whether the scale is linear, as in [0, 1]; otherwise logarithmic.
        label: a control's text beside the symbol; the noun if empty.
        best: the aim of a plan that solves for it ("the least noise"); empty if none does.
        left_out: the meaning of None; empty if None is not allowed.
    """

    name: str
    symbol: str
    noun: str
    meaning: str
    low: float
    high: float
    whole: bool = False
    linear: bool = False
    label: str = ""
    best: str = ""
    left_out: str = ""

    @property
    def caption(self) -> str:
        """Symbol and label, as on a control."""
        return f"{self.symbol} {self.label or self.noun}"


FIELDS = {
    field.name: field
    for field in (
        Field("T", "T", "steps", "steps", 1, 1e6, whole=True, best="the most steps"),
        Field(
            "K",
            "K",
            "directions per step",
            "orthonormal directions a step, at most d",
            1,
            1e9,
            whole=True,
            best="the fewest directions",
        ),
        Field(
            "beta",
            "β",
            "share of the noise along the directions",
            "share of the noise power along the directions",
            0.0,
            1.0,
            linear=True,
            label="noise along directions",
            best="the largest share along the directions",
        ),
        Field(
            "sigma",
            "σ",
            "noise scale",
            "noise scale; one step's noise energy is (ησ)²",
            1e-6,
            10.0,
            best="the least noise",
        ),
        Field(
            "n",
            "n",
            "records",
            "dataset size, records",
            1,
            1e8,
            whole=True,
            best="the fewest records",
        ),
        Field("d", "d", "parameters", "dimension, trainable parameters", 1, 1e9, whole=True),
        Field("delta", "δ", "chance that ε fails", "target δ", 1e-12, 0.1),
        Field(
            "R",
            "R",
            "radius of the ball",
            "radius of the ball that iterates are projected onto; inf is allowed",
            1e-3,
            1e3,
            best="the largest ball",
        ),
        Field(
            "clip",
            "Δ",
            "clip norm",
            "clip norm Δ of one record's difference quotients, each or all together",
            1e-3,
            1e3,
            best="the largest clip norm",
        ),
        Field(
            "M", "M", "smoothness", "smoothness of the loss; inf where it is not known", 1e-3, 1e3
        ),
        Field(
            "m",
            "m",
            "strong convexity",
            "strong convexity of the loss, the ridge included; at most M",
            1e-3,
            1e3,
        ),
        Field(
            "ridge",
            "ridge",
            "added outside the clip",
            "the part of m that is added outside the clip",
            1e-3,
            1e3,
            label="outside the clip",
        ),
        Field("eta", "η", "step size", "step size; None follows K/M", 1e-3, 1e6, left_out="K/M"),
        Field(
            "xi",
            "ξ",
            "perturbation scale",
            "perturbation scale; 0 is the directional derivative",
            1e-12,
            1.0,
            label="perturbation",
        ),
        Field(
            "batch",
            "b",
            "records per step",
            "records per step; None is all n",
            1,
            1e8,
            whole=True,
            left_out="all",
        ),
        Field(
            "lipschitz",
            "L",
            "Lipschitz constant",
            "the longest gradient of what is clipped; above Δ the clip may act, inf is not known; None is at most Δ",
            1e-3,
            1e3,
            label="longest gradient",
            left_out="≤ Δ",
        ),
        Field(
            "releases",
            "r",
            "released iterates",
            "iterates that are released, evenly spaced, the last included",
            1,
            1e3,
            whole=True,
        ),
        Field(
            "cooldown",
            "N",
            "steps of the cool-down",
            "the last steps, whose noise has another share",
            1,
            1e6,
            whole=True,
        ),
        Field(
            "cooldown_beta",
            "β′",
            "share in the cool-down",
            "share of its noise along the directions; None is ½",
            0.0,
            1.0,
            linear=True,
            left_out="½",
        ),
        Field(
            "records_per_person",
            "g",
            "records per person",
            "the most records that one person has",
            1,
            1e3,
            whole=True,
        ),
    )
}
OPTIONS = {  # options of `Setting` and `Accounting`: their names
    "regime": {
        "strongly-convex": "strongly convex",
        "convex": "convex",
        "non-convex": "non-convex",
    },
    "clipping": {"each": "each quotient", "joint": "a record's quotients together"},
    "neighbours": {"replace-one": "replace one", "add-remove": "add or remove"},
    "sampling": {
        "without-replacement": "drawn afresh",
        "poisson": "Poisson sampled",
        "cyclic": "in a fixed order",
        "shuffled": "in shuffled epochs",
    },
    "conversion": {
        "gaussian": "Gaussian, exact",
        "cks": "Rényi, Canonne et al.",
        "mironov": "Rényi, Mironov",
    },
    "sensitivity": {"least": "by what is supposed", "clip": "by the clip, as in the paper"},
    "schedule": {"constant": "β of the run", "optimal": "the best β"},
}
_LONG = re.compile(r"(?<![\w.])\d{4,}(?![\w.])")
_IN_WORDS = {
    str(2**53): "2⁵³",
    "1e-300": "10⁻³⁰⁰",
    ", or None for all": ", or leave it empty for all",
}
_PLAINER = re.compile("|".join(map(re.escape, _IN_WORDS)))
_NAMED = re.compile(rf"\b({'|'.join(FIELDS)})\b(?= = )")
_SYNONYMS = {
    "learning_rate": "eta",
    "step_size": "eta",
    "iterations": "T",
    "max_steps": "T",
    "batch_size": "batch",
    "records": "n",
    "clip_norm": "clip",
    "max_grad_norm": "clip",
    "dimension": "d",
    "parameters": "d",
    "directions": "K",
    "radius": "R",
    "noise_scale": "sigma",
    "num_epochs": "epochs",
    "num_train_epochs": "epochs",
    "sampling_rate": "sample_rate",
}


def meant(unknown: object, names: Iterable[str]) -> str:
    """A question after the one of these names that an unknown one may stand for; empty if none is
    near.

    >>> [meant(name, FIELDS) for name in ("k", "σ", "learning_rate", "step", "colour")]
    [': did you mean K?', ': did you mean sigma?', ': did you mean eta?', ': did you mean T?', '']
    """
    of_field = [
        (word, field.name)
        for field in FIELDS.values()
        for word in (field.noun, field.symbol, field.name.lower())
    ]
    known = dict([*_SYNONYMS.items(), *of_field, *((name, name) for name in names)])
    near = get_close_matches(str(unknown)[:40].lower(), known, 1, 0.8)
    found = known.get(str(unknown)) or (known[near[0]] if near else "")
    return f": did you mean {found}?" if found in names else ""


def symbol_of(name: str) -> str:
    """A field's symbol; an option's name."""
    return FIELDS[name].symbol if name in FIELDS else name


def in_symbols(message: str) -> str:
    """A message with symbols for the fields' names, ∞ for inf, and allowed values in groups of
    three digits.

    >>> in_symbols("sigma = -1 is not allowed: give a finite number above 0")
    'σ = -1 is not allowed: give a finite number above 0'
    >>> in_symbols("T = 0 is not allowed: give a whole number from 1 to 9007199254740992")
    'T = 0 is not allowed: give a whole number from 1 to 2⁵³'
    """
    message = _NAMED.sub(lambda found: FIELDS[found[1]].symbol, message)
    given, colon, allowed = re.sub(r"\binf\b", "∞", message).partition(": give ")
    return (
        given
        + colon
        + _LONG.sub(_grouped, _PLAINER.sub(lambda found: _IN_WORDS[found[0]], allowed))
    )


def _grouped(digits: re.Match[str]) -> str:
    return f"{int(digits[0]):,}".replace(",", THIN)
