"""A frontier as columns for the canvas: which mark is where, filled or hollow, and what is said of it. No Panel here."""

from dataclasses import dataclass
from html import escape
from math import ceil, floor, inf, isfinite, isnan, log10

from zoexplore.bounds import BOUNDS
from zoexplore.formatting import format_count, format_exact, format_number, format_power, format_short
from zoexplore.setting import Accounting
from zoexplore.training import METHODS, TASKS, Frontier, Point
from zoexplore.views.figures.glyphs import shape

MARKERS = {
    "noisy-zogd": "circle", "isotropic": "square", "dpzero": "triangle", "noisy-gd": "diamond",
    "dp-sgd": "inverted_triangle", "non-private": "star", "aggzo": "hex", "zeroth-order": "plus",
}  # fmt: skip
_LOOK = 'fill="currentColor" stroke="currentColor"'  # of a mark in the legend
UTILITIES = ("accuracy", "loss")
DEFAULT_BOUNDS = ("composition", "theorem", "corollary", "sharp")
_STRIP = 0.2  # the share of the axis that is left for what has no finite epsilon
_OF_THE_LOSS = "the loss is "  # how the models' own suppositions begin, which composition does without


@dataclass(frozen=True)
class Scale:
    """An axis of epsilon: whole decades, then a strip for what is infinite."""

    low: float
    high: float

    @classmethod
    def of(cls, frontier: Frontier, bounds: tuple[str, ...]) -> "Scale":
        """The decades of all finite values."""
        values = [p.epsilon[b] for p in frontier.points for b in bounds if 0 < p.epsilon[b] < inf]
        if not values:
            return cls(0.01, 100.0)
        low = floor(log10(min(values)))
        return cls(10.0**low, 10.0 ** max(ceil(log10(max(values))), low + 1))

    @property
    def end(self) -> float:
        """Where the strip ends."""
        return self.at(1 / (1 - _STRIP))

    def at(self, share: float) -> float:
        """The place so far along: 0 is the low end, 1 the high one; beyond is the strip."""
        return self.low * (self.high / self.low) ** share

    def place(self, epsilon: float, order: int = 0, of: int = 1) -> float:
        """Where a value stands; infinite ones stand side by side in the strip, each bound in its place."""
        if epsilon == inf:
            return self.at(1 + (_STRIP / (1 - _STRIP)) * (order + 1) / (of + 1))
        return max(epsilon, self.low)

    @property
    def infinity(self) -> float:
        """The middle of the strip."""
        return self.place(inf)


def name_of(point: Point) -> str:
    """What a menu calls a point."""
    title = METHODS[point.method].title if point.method in METHODS else point.method
    return f"{title}, σ = {format_short(point.sigma)}" if point.sigma else title


def task_title(frontier: Frontier) -> str:
    """What the frontier was trained on."""
    return TASKS[frontier.task].title if frontier.task in TASKS else frontier.task


def at_delta(delta: float) -> str:
    """The delta of an epsilon, for an axis."""
    exponent = round(log10(delta))
    return f"δ = {format_power(exponent) if abs(delta / 10.0**exponent - 1) < 1e-9 else format_exact(delta)}"


def supposed(point: Point, bound: str, accounting: Accounting) -> tuple[str, ...]:
    """What a bound takes for granted of this point's data and loss; composition by the clip alone assumes nothing of the loss."""
    if BOUNDS[bound].trusts_the_loss(accounting):
        return point.supposed
    return tuple(words for words in point.supposed if not words.startswith(_OF_THE_LOSS))


def marks(frontier: Frontier, bounds: tuple[str, ...], utility: str, scale: Scale) -> dict[str, list]:
    """One mark for every point and bound; a single one for a point without noise, which no bound tells anything of.

    Returns:
        Columns: x, y, low and high (one standard error), point (its place), bound, marker, solid, tip (HTML).
    """
    columns: dict[str, list] = {k: [] for k in ("x", "y", "low", "high", "point", "bound", "marker", "solid", "tip")}
    for i, point in enumerate(frontier.points):
        mean, error = point.mean(utility), point.error(utility)
        error = 0.0 if isnan(error) else error
        shown = bounds if point.sigma else bounds[:1]
        for order, bound in enumerate(shown):
            row = {
                "x": scale.place(point.epsilon[bound], order, len(shown)), "y": mean, "low": mean - error, "high": mean + error,
                "point": i, "bound": bound if point.sigma else "", "marker": MARKERS.get(point.method, "circle"),
                "solid": not supposed(point, bound, frontier.accounting), "tip": tip(frontier, point, bound),
            }  # fmt: skip
            for name, value in row.items():
                columns[name].append(value)
    return columns


def front(frontier: Frontier, bound: str, utility: str, scale: Scale) -> tuple[list[float], list[float]]:
    """The Pareto front as steps: the best utility that an epsilon buys, to the high end of the axis."""
    xs: list[float] = []
    ys: list[float] = []
    for point in frontier.pareto(bound, utility):
        x, y = scale.place(point.epsilon[bound]), point.mean(utility)
        xs, ys = xs + [x] * (2 if ys else 1), ys + ([ys[-1]] if ys else []) + [y]
    return ([*xs, scale.high], [*ys, ys[-1]]) if xs else (xs, ys)


def tip(frontier: Frontier, point: Point, bound: str) -> str:
    """What a pointer is told of a mark."""
    by = f"{BOUNDS[bound].title}: " if point.sigma else ""
    what = [f"<b>{escape(name_of(point))}</b>", f"{escape(by)}ε = {format_number(point.epsilon[bound])}"]
    if not isfinite(point.epsilon[bound]):
        what.append(escape(point.reason[bound]))
    what += [f"{name} {spread(point, name)}" for name in UTILITIES]
    if point.setting:
        s = point.setting
        what.append(f"K = {format_count(s.K)}, β = {format_exact(s.beta)}, T = {format_count(s.T)}, seeds: {len(point.seeds)}")
    if point.clipped:
        what.append(f"the clip changed {100 * point.clipped:.3g} % of the quotients")
    what += [f"supposed: {escape(words)}" for words in supposed(point, bound, frontier.accounting)]
    return "".join(f"<p>{line}</p>" for line in what)


def spread(point: Point, utility: str, step: int = -1) -> str:
    """A mean with its standard error, where several seeds allow one; a dash where it was not measured."""
    mean, error = point.mean(utility, step), point.error(utility, step)
    return "–" if isnan(mean) else f"{mean:.3f}" + ("" if isnan(error) else f" ± {error:.3f}")


def infinite(frontier: Frontier, bounds: tuple[str, ...]) -> dict[tuple[str, str], list[str]]:
    """What has no finite epsilon: (method, reason) -> titles of the bounds, in order."""
    found: dict[tuple[str, str], list[str]] = {}
    for point in frontier.points:
        for bound in bounds:
            if point.epsilon[bound] == inf:
                title = METHODS[point.method].title if point.method in METHODS else point.method
                titles = found.setdefault((title, point.reason[bound]), [])
                titles += [BOUNDS[bound].title] if BOUNDS[bound].title not in titles else []
    return found


def stopping(point: Point, utility: str) -> int:
    """The place of the first recorded step whose utility is as good as the last one's, to within a hundredth."""
    means, sign = point.means(utility), -1 if utility == "loss" else 1
    return next(i for i, mean in enumerate(means) if sign * (mean - means[-1]) >= -0.01)


def about(frontier: Frontier, delta: float, accounting: Accounting) -> str:
    """What is drawn: data, steps, seeds; and whether it is counted as the page counts now."""
    steps, seeds = max(p.steps[-1] for p in frontier.points), max(len(p.seeds) for p in frontier.points)
    drawn = f"{format_count(steps)} steps, {seeds} seed{'s' if seeds > 1 else ''}"
    said = f"{task_title(frontier)}: {drawn}, bars of one standard error."
    if frontier.accounting.printed:
        said += " As printed: no guarantee."
    if accounting.schedule != "constant":
        said += " The runs keep their β, and ε is that of such runs: not of the best β at every step, which the page is set to."
    if frontier.delta != delta or frontier.accounting != accounting.replace(schedule="constant"):
        said += f" ε is counted at {at_delta(frontier.delta)} as the page was set then; train again to count it as it is now."
    return said


def legend(frontier: Frontier | None) -> str:
    """Which mark is which method, as HTML; nothing before there is a frontier."""
    used = {point.method for point in frontier.points} if frontier else set()
    marks = [
        f'<li><svg width="14" height="14" aria-hidden="true">{shape(marker, 7, 7, 5, _LOOK)}</svg>'
        f"{escape(METHODS[method].title)}</li>"
        for method, marker in MARKERS.items()
        if method in used
    ]
    return f"<ul>{''.join(marks)}</ul>" if marks else ""
