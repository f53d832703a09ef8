"""A guarantee in words and as data: for a paper's appendix, a model card or a release's file.

It names the protected unit, neighbours, sampling, permitted releases, the assumptions that numbers
decide and those that the reader must guarantee, what is not covered, and the versions.
"""

import platform
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import version
from math import inf, isfinite, isnan
from typing import Any

from zoexplore.bounds import BOUNDS, Guarantee, guarantee
from zoexplore.questions.risk import remark_on_delta
from zoexplore.run.fields import symbol_of
from zoexplore.run.formatting import (
    format_count,
    format_delta,
    format_exact,
    format_number,
    format_sentence,
    format_short,
)
from zoexplore.run.setting import Accounting, Setting

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


# lists of a statement: their headings
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
        """What it is about: the run's own numbers, the protected unit, which two data sets are
        compared, which records a step uses, what the clip limits, and what may be published.
        """
        run = self.guarantee.setting
        return {
            "run": in_a_line(run),
            "unit": _unit(run),
            "neighbours": _neighbours(run),
            "sampling": sampling_of(run),
            "clipping": clipping_of(run),
            "released": _released(run, self.guarantee.bound not in PUBLIC),
        }

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
        """The statement for JSON, with "inf" for infinite numbers and None for missing ones."""
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
        """The statement in words, with epsilon rounded up to three digits."""
        g = self.guarantee
        by = BOUNDS[g.bound].in_text + (
            ", as printed" if g.accounting.printed and BOUNDS[g.bound].printed else ""
        )
        if g.epsilon == inf:
            head = f"No guarantee by {by}: {g.reason}."
        else:
            pair = f"({format_number(g.epsilon)}, {format_delta(g.setting.delta)})"
            head = f"The release is (ε, δ) = {pair}-differentially private by {by}."
            head += f"\n{format_sentence(g.reason)}." if g.reason else ""
        noted = "; ".join(filter(None, (g.note, remark_on_delta(g.setting))))
        made = ", ".join(f"{name} {number}" for name, number in versions().items())
        parts = [
            head,
            "\n".join(f"{name.capitalize()}: {text}." for name, text in self.facts.items()),
            *(
                "\n- ".join([f"{LISTS[name]}:", *lines])
                for name, lines in self.lists.items()
                if lines
            ),
            f"Note: {format_sentence(noted)}." if noted else "",
            g.truth,
            f"Source: {g.source}\nComputed with {made}.",
        ]
        return "\n\n".join(filter(None, parts))


def statement(
    setting: Setting,
    bound: str = "best",
    accounting: Accounting = Accounting(),  # noqa: B008
) -> Statement:
    """A bound's guarantee for a run, to publish or to keep beside a model.

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
    """A run's own numbers, for whoever wants to see that they are those meant.

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
    """A value for JSON: infinite numbers as text, nan as None.

    >>> plain({"epsilon": inf, "K": (1, 2)})
    {'epsilon': 'inf', 'K': [1, 2]}
    """
    if isinstance(value, dict):
        return {str(name): plain(inner) for name, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(inner) for inner in value]
    if isinstance(value, float) and not isfinite(value):
        return None if isnan(value) else "inf" if value > 0 else "-inf"
    return value


def _unit(setting: Setting) -> str:
    records = setting.records_per_person
    return (
        "one record"
        if records == 1
        else f"one person, with at most {format_count(records)} records"
    )


def _neighbours(setting: Setting) -> str:
    if setting.neighbours == "add-remove":
        return "two data sets of which one has a unit more than the other, both with the same public normaliser"
    return f"two data sets of n = {format_count(setting.n)} records that differ in the contents of one unit"


def sampling_of(setting: Setting) -> str:
    """Which records a step uses, and how they are drawn, in words.

    >>> sampling_of(Setting(n=1000, d=100, K=1, T=10, sigma=0.01, beta=1.0))
    'every step uses all n = 1\u202f000 records'
    """
    if setting.full_batch:
        return f"every step uses all n = {format_count(setting.n)} records"
    drawn = {
        "without-replacement": "records, drawn afresh, uniformly, without replacement, and seen by nobody",
        "poisson": "records on average, each drawn on its own, afresh, and seen by nobody",
        "cyclic": "records, in batches that are cut once, whatever they contain, and used in order",
        "shuffled": "records, in batches that are cut once, whatever they contain, and whose order is drawn secretly",
    }
    return f"every step uses {format_count(setting.batch or 0)} of n = {format_count(setting.n)} {drawn[setting.sampling]}"


def clipping_of(setting: Setting) -> str:
    """What the clip limits, and at what norm, in words.

    >>> clipping_of(Setting(n=1000, d=100, K=1, T=10, sigma=0.01, beta=1.0, clip=0.5))
    "each of a record's difference quotients is limited to Δ = 0.5"
    """
    at, K = format_short(setting.clip, 6), format_count(setting.K)
    if setting.clipping == "joint":
        quotients = (
            "one difference quotient is scaled"
            if setting.K == 1
            else f"K = {K} difference quotients are scaled together"
        )
        return f"a record's {quotients} to a length of at most Δ = {at}"
    return f"each of a record's difference quotients is limited to Δ = {at}"


def _released(setting: Setting, hidden: bool) -> str:
    if not hidden:
        return "every iterate, the last included"
    releases = min(setting.releases, setting.T)
    if releases == setting.T > 1:
        return "every iterate, the last included"
    if releases > 1:
        some = f"{format_count(releases)} of {format_count(setting.T)} iterates"
        return f"{some}, evenly spaced, the last included; the others stay secret"
    return f"the last iterate, after {format_count(setting.T)} steps; all others stay secret"


def versions(*more: str) -> dict[str, str]:
    """Versions by name: Python, the packages that compute guarantees, and `more`.

    >>> sorted(versions())
    ['numba', 'numpy', 'python', 'scipy', 'zoexplore']
    """
    return {"python": platform.python_version()} | {
        name: version(name) for name in (*COMPUTED_WITH, *more)
    }
