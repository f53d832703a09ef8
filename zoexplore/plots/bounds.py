"""Elements of what the accountant says of a run."""

from collections.abc import Iterable, Sequence
from typing import Any

import holoviews as hv
import numpy as np

from zoexplore.axes import AXES, drawable
from zoexplore.bounds import BOUNDS, Guarantee, curve, guarantee
from zoexplore.bounds.bound import Trajectory
from zoexplore.columns import heights, level_lines
from zoexplore.compute.questions import Sheet, row
from zoexplore.motion import SEED, miniature, simulate
from zoexplore.plots.look import FRAME, MUTED, epsilon_at, style, with_legend
from zoexplore.setting import Accounting, Setting

THIS_RUN = tuple(bound for bound in BOUNDS if BOUNDS[bound].of_this_run)
DELTAS = np.geomspace(1e-12, 0.1, 111)
FALSE_ALARMS = np.linspace(0, 1, 501)
LONGEST_REPLAY = 60  # steps; of longer runs the last ones are played


def curves(
    setting: Setting,
    along: str = "T",
    values: Iterable[float] | None = None,
    *,
    bounds: Sequence[str] = THIS_RUN,
    accounting: Accounting = Accounting(),  # noqa: B008  (frozen)
) -> hv.Overlay:
    """epsilon against a field, a curve a bound.

    Args:
        setting: the run; its own value of `along` is not used.
        along: the field, a key of `AXES` or "batch".
        values: where to evaluate; what the explorer's curves run over unless given.
        bounds: ids of `BOUNDS`.
        accounting: how to count.

    Returns:
        An overlay of `hv.Curve`s with the bounds' titles as labels; gaps where a bound does not apply or is 0.

    Raises:
        ValueError: a field, a value or a bound is not allowed.
    """
    at = np.asarray(list(_values(setting, along) if values is None else values), float)
    found = curve(setting, along, at, list(bounds), accounting)
    linear = along in AXES and AXES[along].linear
    height = "ε" if along == "delta" else epsilon_at(setting.delta)
    x, y = hv.Dimension(along, label=_label(along)), hv.Dimension("epsilon", label=height)
    frame = FRAME | {"logx": not linear, "logy": True}
    return _lines({bound: (at, found[bound]) for bound in bounds}, x, y, frame, "top_left")


def profile(
    setting: Setting,
    *,
    bounds: Sequence[str] = THIS_RUN,
    deltas: Iterable[float] = DELTAS,
    accounting: Accounting = Accounting(),  # noqa: B008
) -> hv.Overlay:
    """delta against epsilon: every point of a curve is a guarantee of the same run.

    Args:
        setting: the run; its own delta is not used.
        bounds: ids of `BOUNDS`.
        deltas: for which epsilon is asked, in (0, 1).
        accounting: how to count.

    Raises:
        ValueError: a delta or a bound is not allowed.
    """
    at = np.asarray(list(deltas), float)
    found = curve(setting, "delta", at, list(bounds), accounting)
    frame = FRAME | {"logx": True, "logy": True}
    lines = {bound: (drawable(e), at) for bound, e in found.items()}
    return _lines(lines, hv.Dimension("epsilon", label="ε"), hv.Dimension("delta", label="δ"), frame, "bottom_left")


def tradeoff(
    setting: Setting,
    *,
    bounds: Sequence[str] = THIS_RUN,
    rates: Iterable[float] = FALSE_ALARMS,
    accounting: Accounting = Accounting(),  # noqa: B008
) -> hv.Overlay:
    """The least rate at which any attacker misses, against the rate of false alarms, and the line of guessing blindly.

    Args:
        setting: the run.
        bounds: ids of `BOUNDS`; one that does not apply has no curve.
        rates: of false alarms, in [0, 1].
        accounting: how to count.

    Raises:
        ValueError: a rate or a bound is not allowed.
    """
    at = np.asarray(list(rates), float)
    given = [guarantee(setting, bound, accounting) for bound in bounds]
    lines = {g.bound: (at, np.asarray(g.tradeoff(at))) for g in given if g.valid}
    x, y = hv.Dimension("false_alarms", label="false alarms"), hv.Dimension("misses", label="misses, at least")
    frame = FRAME | {"xlim": (0, 1), "ylim": (0, 1)}
    blind = hv.Curve([(0, 1), (1, 0)], x, y, label="guessing").opts(color=MUTED, line_dash="dotted", line_width=1, **frame)
    return with_legend(blind * _lines(lines, x, y, frame, "top_right"), "top_right")


def grid(
    setting: Setting,
    x: str = "K",
    y: str = "sigma",
    *,
    bound: str = "sharp",
    points: int = 61,
    levels: Sequence[float] = (0.1, 1.0, 10.0),
    accounting: Accounting = Accounting(),  # noqa: B008
) -> hv.Overlay:
    """epsilon of one bound over two fields: an image, and its contours at some epsilons.

    Args:
        setting: the run; its own x and y are not used.
        x, y: two different fields, keys of `AXES`.
        bound: an id of `BOUNDS`.
        points: a side.
        levels: epsilons with a contour.
        accounting: how to count.

    Returns:
        An overlay of a `hv.QuadMesh`, empty where the bound does not apply or two values cannot go together, and
        `hv.Contours` with `hv.Labels`.

    Raises:
        ValueError: a field or the bound is unknown, or both fields are the same.
    """
    if x == y or not {x, y} <= AXES.keys():
        raise ValueError(f"x = {x!r}, y = {y!r} are not allowed: give two different fields of {', '.join(AXES)}")
    sheet = Sheet(setting, accounting, bound, x, y, points)
    epsilon = np.array([row(sheet, float(value)) for value in sheet.rows])
    logs = {"logx": not AXES[x].linear, "logy": not AXES[y].linear}
    dims = [hv.Dimension(field, label=_label(field)) for field in (x, y)]
    height = hv.Dimension("epsilon", label="ε")
    edges = _edges(sheet.columns, logs["logx"]), _edges(sheet.rows, logs["logy"])
    paths, words = _contours(sheet, epsilon, levels, logs)
    frame = FRAME | logs | {"height": 420, "show_grid": False, "title": f"ε by {BOUNDS[bound].title}"}
    look = {"cmap": "cividis", "cnorm": "log", "colorbar": True, "tools": ["hover"]}
    mesh = hv.QuadMesh((*edges, drawable(epsilon)), dims, height).opts(**look, **frame)
    lines = hv.Contours(paths, dims, height).opts(color="white", line_width=2, tools=["hover"], **frame)
    labels = hv.Labels(words, dims, "words").opts(text_color="white", text_font_size="12px", text_baseline="bottom", **frame)
    return mesh * lines * labels


def inside(setting: Setting, bound: str = "sharp", accounting: Accounting = Accounting()) -> hv.Layout:  # noqa: B008
    """What a bound's proof does at every counted step: distance, shifts, cost and shares, one panel each.

    Args:
        setting: the run.
        bound: "sharp" or "theorem".
        accounting: how to count.

    Raises:
        ValueError: the bound is unknown, does not apply (the message says why), or has no steps to show.
    """
    path = _path(guarantee(setting, bound, accounting))
    left = hv.Dimension("left", label="steps left")
    at = np.arange(path.rho.size, 0, -1.0)
    frame = FRAME | {"height": 240, "logx": True, "invert_xaxis": True}
    panels: dict[str, dict[str, Any]] = {
        "How far apart the runs may be, z": {"z": path.z[:-1]},
        "What noise hides, as a length": {"p, along the span": path.p, "a, across it": path.a},
        "What the step costs, ρ": {"ρ": path.rho},
        "Shares: β of the noise, π and α hidden": {"β": path.beta, "π": path.pi, "α": path.alpha},
    }
    return hv.Layout([_panel(title, at, columns, left, frame) for title, columns in panels.items()]).cols(2)


def replay(setting: Setting, bound: str = "sharp", accounting: Accounting = Accounting()) -> hv.Layout:  # noqa: B008
    """A bound's argument step by step: two maps over `step`, of the distance of two runs and of the budget spent.

    `hv.save(replay(run), "replay.html")` is a page with a slider that needs no server. Of long runs the last
    `LONGEST_REPLAY` steps are played. Arguments and errors are those of `inside`.
    """
    path = _path(guarantee(setting, bound, accounting))
    first = max(path.rho.size - LONGEST_REPLAY, 0)
    spent = np.concatenate([[0.0], np.cumsum(path.rho)])
    time = path.tau + np.arange(first, path.rho.size + 1.0)
    step, told = hv.Dimension("step", value_format=str), {"time": hv.Dimension("time", label="step")}
    frame = FRAME | {"height": 260, "padding": (0.02, 0.1)}

    def walked(values: np.ndarray, name: str, label: str, borrowed: str) -> hv.HoloMap:
        y, colour = hv.Dimension(name, label=label), style(borrowed)["color"]
        whole = hv.Curve((time, values), told["time"], y).opts(color=colour, line_dash="dashed", line_width=1.4, **frame)
        return hv.HoloMap(
            {
                int(t): whole
                * hv.Curve((time[: i + 1], values[: i + 1]), told["time"], y).opts(color=colour, line_width=3, **frame)
                * hv.Points([(t, values[i])], [told["time"], y]).opts(color=colour, size=9, **frame)
                for i, t in enumerate(time)
            },
            kdims=step,
        )

    distance = walked(path.z[first:], "distance", "how far apart the runs may be", "theorem")
    return (distance + walked(spent[first:], "budget", "budget spent so far, ρ", "corollary")).cols(2)


def motion(setting: Setting, seed: int = SEED) -> hv.HoloMap:
    """Two runs that differ in one record, simulated in miniature: the clouds of their iterates, step by step.

    Args:
        setting: the run, of which the miniature keeps K/d, the noise scale and its share, the contraction and the ball.
        seed: of the simulation.

    Raises:
        ValueError: no step size is known.
        FloatingPointError: a step or its noise is too large or too small for a picture.
    """
    run = miniature(setting)
    if run is None:
        raise ValueError("without a step size and a smoothness M no step is known: give eta or a finite M")
    found = simulate(run, seed=seed)
    most = 1.1 * float(np.abs(found.places).max())
    x, y = hv.Dimension("pull", label="direction of the record's pull"), hv.Dimension("across", label="another direction")
    frame = FRAME | {"responsive": False, "width": 420, "height": 420, "xlim": (-most, most), "ylim": (-most, most)}
    names = ("with the record", "with another in its place")

    def clouds(t: int) -> hv.Overlay:
        sides = zip(names, ("theorem", "composition"), ("circle", "diamond"), found.places[t], strict=True)
        return hv.Overlay([
            hv.Points(at, [x, y], label=name).opts(color=style(hue)["color"], marker=mark, size=5, alpha=0.5, **frame)
            for name, hue, mark, at in sides
        ])  # fmt: skip

    return hv.HoloMap({t: clouds(t) for t in range(run.T + 1)}, kdims=hv.Dimension("step", value_format=str))


def _lines(
    lines: dict[str, tuple[np.ndarray, np.ndarray]], x: hv.Dimension, y: hv.Dimension, frame: dict[str, Any], corner: str
) -> hv.Overlay:
    """Curves of bounds; what a log axis cannot show is a gap."""
    drawn = []
    for bound, (at, values) in lines.items():
        shown = drawable(values) if frame.get("logy") else values
        drawn.append(hv.Curve((at, shown), x, y, label=BOUNDS[bound].title).opts(tools=["hover"], **style(bound), **frame))
    return with_legend(hv.Overlay(drawn), corner)


def _values(setting: Setting, field: str) -> np.ndarray:
    if field not in AXES:
        raise ValueError(f"along = {field!r} has no values of its own: give values, or one of {', '.join(AXES)}")
    return AXES[field].values(setting)


def _label(field: str) -> str:
    return AXES[field].title if field in AXES else {"batch": "b, records per step"}.get(field, field)


def _path(g: Guarantee) -> Trajectory:
    if g.trajectory is None:
        why = g.reason or "it has no steps that are spent one by one"
        raise ValueError(f"bound = {g.bound!r} has nothing to show of this run: {why}")
    return g.trajectory


def _panel(title: str, at: np.ndarray, columns: dict[str, Any], x: hv.Dimension, frame: dict[str, Any]) -> hv.Overlay:
    hues, dashes = ("theorem", "sharp", "composition"), ("solid", "dashed", "dotted")
    y = hv.Dimension(title)  # a dimension of its own, so that no two panels share an axis
    named = {"title": title, "ylabel": "", "show_legend": len(columns) > 1}
    drawn = [
        hv.Curve((at, values), x, y, label=name).opts(color=style(hue)["color"], line_dash=dash, line_width=2.4, **named, **frame)
        for (name, values), hue, dash in zip(columns.items(), hues, dashes, strict=False)
        if values is not None
    ]
    return with_legend(hv.Overlay(drawn), "top_left")


def _edges(values: np.ndarray, log: bool) -> np.ndarray:
    """The edges of cells around values, as many as values and one more: half-way on the axis."""
    at = np.log10(values) if log else values
    if at.size == 1:
        at = at + np.array([-0.5, 0.5])
    else:
        middle = (at[1:] + at[:-1]) / 2
        at = np.concatenate([[2 * at[0] - middle[0]], middle, [2 * at[-1] - middle[-1]]])
    return 10.0**at if log else at


def _contours(
    sheet: Sheet, epsilon: np.ndarray, levels: Sequence[float], logs: dict[str, bool]
) -> tuple[list[dict[str, Any]], list[tuple[float, float, str]]]:
    """Paths on which epsilon has the given values, found in logarithms where the axes are logarithmic, and their labels."""
    if min(epsilon.shape) < 2:
        return [], []
    on_x, on_y = logs["logx"], logs["logy"]
    x, y = (np.log10(v) if log else v for v, log in ((sheet.columns, on_x), (sheet.rows, on_y)))
    found = level_lines(x, y, heights(drawable(epsilon)), list(levels))

    def back(places: Any, log: bool) -> Any:
        return 10.0**places if log else places

    paths = [
        {sheet.x: back(xs, on_x), sheet.y: back(ys, on_y), "epsilon": level}
        for xs, ys, level in zip(found["xs"], found["ys"], found["target"], strict=True)
    ]
    words = [
        (back(a, on_x), back(b, on_y), f"ε = {level:g}")
        for a, b, level in zip(found["at_x"], found["at_y"], found["target"], strict=True)
    ]
    return paths, words
