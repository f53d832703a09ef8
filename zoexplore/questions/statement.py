"""A guarantee in words and as data: for a paper's appendix, a model card or a release's file.

It names the protected unit, neighbours, sampling, permitted releases, the assumptions that numbers
decide and those that the reader must guarantee, what is not covered, and the versions of the
software.
"""

import platform
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import version
from math import isfinite, isnan
from typing import Any

from zoexplore.bounds import BOUNDS, Guarantee, guarantee
from zoexplore.run.fields import symbol_of
from zoexplore.run.formatting import format_count, format_exact, format_short
from zoexplore.run.setting import Accounting, Setting
from zoexplore.run.text import written

COMPUTED_WITH = ("zoexplore", "numpy", "scipy", "numba")
NOT_COVERED = (
    "trying several runs, settings or seeds on the same data and choosing among them, which zoexplore.compose adds up",
    "a loss less smooth, less convex or with longer gradients than stated",
    "predictable noise: a poor generator, a leaked seed, directions that reveal the noise",
    "the gap between real and floating-point numbers",
)
# bounds that hold with every iterate released; the others require secrecy
PUBLIC = ("composition",)
HIDDEN = "any intermediate model, loss, gradient or progress curve that somebody gets to see"


# the headings of a statement's lists
LISTS = {
    "met": "Satisfied by the numbers",
    "supposed": "You must guarantee",
    "failed": "Violated",
    "not_covered": "Not covered",
}


@dataclass(frozen=True)
class Statement:
    """A guarantee to publish: what is proved, or why nothing is."""

    guarantee: Guarantee

    @property
    def facts(self) -> dict[str, str]:
        """What the guarantee is about: the run's own numbers, the protected unit, which two data
        sets are compared, which records a step uses, what the clip limits, and what may be
        published.
        """
        return facts(self.guarantee.setting, self.guarantee.bound not in PUBLIC)

    @property
    def lists(self) -> dict[str, Sequence[str]]:
        """The assumptions that numbers meet, those that they leave open and those that they
        violate, and what the guarantee does not cover.
        """
        g = self.guarantee
        return {
            "met": [check.words for check in g.checks if check.met],
            "supposed": g.supposes,
            "failed": [f"{c.words} Here {c.shortfall}." for c in g.checks if c.met is False],
            "not_covered": NOT_COVERED if g.bound in PUBLIC else (HIDDEN, *NOT_COVERED),
        }

    def as_dict(self) -> dict[str, Any]:
        """Return the statement for JSON: infinite numbers become "inf", and nan becomes None."""
        g = self.guarantee
        about = ("bound", "title", "epsilon", "reason", "note", "source")
        run = {
            "delta": g.setting.delta,
            "setting": g.setting.as_dict() | {"eta": g.setting.eta},
            "accounting": asdict(g.accounting),
        }
        proved = {name: getattr(g, name) for name in about}
        everything: dict[str, Any] = proved | run | self.facts | self.lists
        return {
            name: plain(value) for name, value in (everything | {"versions": versions()}).items()
        }

    def __str__(self) -> str:
        """Return the statement in words, with epsilon rounded up to three digits."""
        g = self.guarantee
        printed = g.accounting.printed and BOUNDS[g.bound].printed
        return written(
            "questions/texts/statement.txt",
            g=g,
            by=BOUNDS[g.bound].in_text + (", as printed" if printed else ""),
            facts=self.facts,
            lists={heading: self.lists[name] for name, heading in LISTS.items()},
            noted="; ".join(filter(None, (g.note, remark_on_delta(g.setting)))),
            made=", ".join(f"{name} {number}" for name, number in versions().items()),
        )


def statement(
    setting: Setting,
    bound: str = "best",
    accounting: Accounting = Accounting(),  # noqa: B008
) -> Statement:
    """State a bound's guarantee for a run, to publish it or to keep it with a model.

    Args:
        setting: the run.
        bound: an id of `BOUNDS`, or "best": the least that applies.
        accounting: how to count; with the printed constants the statement says that it is no
            guarantee.

    Raises:
        ValueError: the bound is unknown.

    >>> from zoexplore.run.presets import DEMONSTRATION
    >>> statement(DEMONSTRATION, "composition").facts["released"]
    'every iterate, the last included'
    """
    return Statement(guarantee(setting, bound, accounting))


def in_a_line(setting: Setting) -> str:
    """Write a run's own numbers in a line, so that a reader can check them.

    >>> in_a_line(Setting(n=1000, d=100, K=1, T=10, sigma=0.01, beta=1.0, batch=64, clip=0.5))
    'K = 1, T = 10, n = 1000, d = 100, b = 64, σ = 0.01, β = 1, δ = 1e-5, noise multiplier 1.28 (0.64 if a record is replaced)'
    """
    names = (
        "K",
        "T",
        "n",
        "d",
        *([] if setting.full_batch else ["batch"]),
        "sigma",
        "beta",
        "delta",
    )
    own = ", ".join(f"{symbol_of(name)} = {format_exact(getattr(setting, name))}" for name in names)
    added, replaced = (format_short(setting.noise_multiplier / moved) for moved in (1, 2))
    return f"{own}, noise multiplier {added} ({replaced} if a record is replaced)"


def plain(value: Any) -> Any:
    """Return a value for JSON: infinite numbers become text, and nan becomes None.

    >>> plain({"epsilon": float("inf"), "K": (1, 2)})
    {'epsilon': 'inf', 'K': [1, 2]}
    """
    if isinstance(value, dict):
        return {str(name): plain(inner) for name, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(inner) for inner in value]
    if isinstance(value, float) and not isfinite(value):
        return None if isnan(value) else "inf" if value > 0 else "-inf"
    return value


def facts(run: Setting, hidden: bool = True) -> dict[str, str]:
    """Say what a guarantee is about, whether the other iterates are `hidden` or not: the run's own
    numbers, the protected unit, which two data sets are compared, which records a step uses, what
    the clip limits, and what may be published.

    >>> facts(Setting(n=1000, d=100, K=1, T=10, sigma=0.01, beta=1.0, clip=0.5))["clipping"]
    "each of a record's difference quotients is limited to Δ = 0.5"
    """
    lines = written("questions/texts/facts.txt", run=run, hidden=hidden).splitlines()
    return {"run": in_a_line(run)} | dict(line.split(": ", 1) for line in lines)


def versions(*more: str) -> dict[str, str]:
    """Return versions by name: of Python, of the packages that compute guarantees, and of `more`.

    >>> sorted(versions())
    ['numba', 'numpy', 'python', 'scipy', 'zoexplore']
    """
    return {"python": platform.python_version()} | {
        name: version(name) for name in (*COMPUTED_WITH, *more)
    }


def remark_on_delta(setting: Setting) -> str:
    """Return a remark on a delta of at least 1/n; empty if delta is smaller.

    >>> remark_on_delta(Setting(n=200, d=10, K=1, T=1, sigma=1.0, beta=1.0, delta=0.1)).partition(": ")[0]
    'δ = 0.1 is at least 1/n'
    """
    if setting.delta * setting.n < 1:
        return ""
    shown_all = f"{format_short(setting.delta * setting.n)} of {format_count(setting.n)}"
    by_chance = (
        f"publishing every record with this probability, {shown_all}, would be (0, δ)-private"
    )
    return f"δ = {format_short(setting.delta)} is at least 1/n: {by_chance}; take a far smaller one"
