"""HoloViews elements of the accountant's results for a run."""

from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import Any

import holoviews as hv
import numpy as np
from holoviews.operation import contours

from zoexplore.bounds import BOUNDS, curve, guarantee
from zoexplore.bounds.epsilons import DEFAULT
from zoexplore.plots.look import FRAME, MUTED, epsilon_at, style, with_legend
from zoexplore.run.axes import AXES, drawable
from zoexplore.run.fields import FIELDS
from zoexplore.run.setting import Accounting, Setting

THIS_RUN = tuple(bound for bound in BOUNDS if BOUNDS[bound].of_this_run)
FALSE_ALARMS = np.linspace(0, 1, 501)


def curves(
    setting: Setting,
    along: str = "T",
    values: Iterable[float] | None = None,
    *,
    bounds: Sequence[str] = THIS_RUN,
    accounting: Accounting = DEFAULT,
) -> hv.Overlay:
    """Draw epsilon against a field, with a curve for each bound. Along "delta" the curves are
    privacy profiles of one run.

    Args:
        setting: the run; its own value of `along` is not used.
        along: the field, a key of `AXES` or "batch".
        values: the values of the field; by default those of the explorer's curves.
        bounds: ids of `BOUNDS`.
        accounting: how to count.

    Returns:
        An overlay of `hv.Curve`s labelled with the bounds' titles, with gaps where a bound does not
            apply or is 0.

    Raises:
        ValueError: a field, a value or a bound is not allowed.
    """
    if values is None:
        if along not in AXES:
            given = f"give values, or one of {', '.join(AXES)}"
            raise ValueError(f"along = {along!r} has no values of its own: {given}")
        values = AXES[along].values(setting)
    at = np.asarray(list(values), float)
    epsilons = curve(setting, along, at, list(bounds), accounting)
    x = hv.Dimension(along, label=f"{FIELDS[along].symbol}, {FIELDS[along].noun}")
    y = hv.Dimension("epsilon", label="ε" if along == "delta" else epsilon_at(setting.delta))
    frame = FRAME | {"logx": not FIELDS[along].linear, "logy": True}
    drawn = [_curve(bound, (at, drawable(epsilons[bound])), (x, y), frame) for bound in bounds]
    return with_legend(hv.Overlay(drawn), "top_left")


def tradeoff(
    setting: Setting,
    *,
    bounds: Sequence[str] = THIS_RUN,
    rates: Iterable[float] = FALSE_ALARMS,
    accounting: Accounting = DEFAULT,
) -> hv.Overlay:
    """Draw the least rate at which any attacker misses a record, against the rate of false alarms,
    and the line of blind guesses.

    Args:
        setting: the run.
        bounds: ids of `BOUNDS`; one that does not apply has no curve.
        rates: the rates of false alarms, in [0, 1].
        accounting: how to count.

    Raises:
        ValueError: a rate or a bound is not allowed.
    """
    at = np.asarray(list(rates), float)
    given = [guarantee(setting, bound, accounting) for bound in bounds]
    dims = (
        hv.Dimension("false_alarms", label="false alarms"),
        hv.Dimension("misses", label="misses, at least"),
    )
    frame = FRAME | {"xlim": (0, 1), "ylim": (0, 1)}
    look = {"color": MUTED, "line_dash": "dotted", "line_width": 1}
    blind = hv.Curve([(0, 1), (1, 0)], *dims, label="guessing").opts(**look, **frame)
    drawn = [
        _curve(g.bound, (at, np.asarray(g.tradeoff(at))), dims, frame) for g in given if g.valid
    ]
    return with_legend(hv.Overlay([blind, *drawn]), "top_right")


def grid(
    setting: Setting,
    x: str = "K",
    y: str = "sigma",
    *,
    bound: str = "sharp",
    points: int = 61,
    levels: Sequence[float] = (0.1, 1.0, 10.0),
    accounting: Accounting = DEFAULT,
) -> hv.Overlay:
    """Draw epsilon by one bound over two fields: an image, and contours at the `levels`.

    Args:
        setting: the run; its own x and y are not used.
        x, y: two different fields, keys of `AXES`.
        bound: an id of `BOUNDS`.
        points: about how many values each field takes.
        levels: the epsilons that get a contour.
        accounting: how to count.

    Returns:
        An overlay of a `hv.QuadMesh`, empty where the bound does not apply or two values cannot go
        together, and `hv.Contours`.

    Raises:
        ValueError: a field or the bound is unknown, or both fields are the same.
    """
    if x == y or not {x, y} <= AXES.keys():
        raise ValueError(
            f"x = {x!r}, y = {y!r} are not allowed: give two different fields of {', '.join(AXES)}"
        )
    axes = AXES[x], AXES[y]
    columns, rows = (axis.values(setting, points) for axis in axes)
    found = [_row(setting, x, columns, {y: float(at)}, bound, accounting) for at in rows]
    logs = {"logx": not axes[0].linear, "logy": not axes[1].linear}
    frame = FRAME | logs | {"height": 420, "show_grid": False}
    dims = [hv.Dimension(axis.name, label=axis.title) for axis in axes]
    height = hv.Dimension("epsilon", label="ε")
    lines = ", ".join(f"{level:g}" for level in levels)
    title = f"ε by {BOUNDS[bound].title}, with lines at {lines}"
    look = {"cmap": "cividis", "cnorm": "log", "colorbar": True, "tools": ["hover"], "title": title}
    mesh = hv.QuadMesh((columns, rows, drawable(np.array(found))), dims, height)
    drawn = {"color": "white", "line_width": 2, "tools": ["hover"], "cmap": None}
    at = contours(mesh, levels=list(levels)).opts(show_legend=False, **drawn, **frame)
    return mesh.opts(**look, **frame) * at


def _row(
    setting: Setting,
    x: str,
    columns: np.ndarray,
    at: dict[str, float],
    bound: str,
    accounting: Accounting,
) -> np.ndarray:
    """Return epsilon along x at one value of y, inf where the bound does not apply or the two
    values exclude each other.
    """
    epsilon, allowed = np.full(columns.size, np.inf), np.zeros(columns.size, bool)
    for place, value in enumerate(columns):
        with suppress(ValueError):
            start = setting.replace(**{x: value}, **at)
            allowed[place] = True
    if allowed.any():
        epsilon[allowed] = curve(start, x, columns[allowed], [bound], accounting)[bound]
    return epsilon


def inside(setting: Setting, bound: str = "sharp", accounting: Accounting = DEFAULT) -> hv.Layout:
    """Draw a bound's proof at every counted step: distance, shifts, cost and shares, with one panel
    each.

    Args:
        setting: the run.
        bound: "sharp" or "theorem".
        accounting: how to count.

    Raises:
        ValueError: the bound is unknown, does not apply (the message says why), or has no steps to
            show.
    """
    g = guarantee(setting, bound, accounting)
    if (path := g.trajectory) is None:
        raise ValueError(
            f"bound = {bound!r} has nothing to show of this run: {g.reason or 'it has no steps spent one by one'}"
        )
    left = hv.Dimension("left", label="steps left")
    at = np.arange(path.rho.size, 0, -1.0)
    frame = FRAME | {"height": 240, "logx": True, "invert_xaxis": True}
    panels: dict[str, dict[str, Any]] = {
        "How far apart the runs may be, z": {"z": path.z[:-1]},
        "Length hidden by noise": {"p, along the span": path.p, "a, across it": path.a},
        "Cost of the step, ρ": {"ρ": path.rho},
        "Shares: β of the noise, π and α hidden": {"β": path.beta, "π": path.pi, "α": path.alpha},
    }
    return hv.Layout(
        [_panel(title, at, columns, left, frame) for title, columns in panels.items()]
    ).cols(2)


def _curve(bound: str, points: Any, dims: tuple[Any, Any], frame: dict[str, Any]) -> hv.Curve:
    """Draw a bound's curve in its style."""
    drawn = hv.Curve(points, *dims, label=BOUNDS[bound].title)
    return drawn.opts(tools=["hover"], **style(bound), **frame)


def _panel(
    title: str, at: np.ndarray, columns: dict[str, Any], x: hv.Dimension, frame: dict[str, Any]
) -> hv.Overlay:
    hues, dashes = ("theorem", "sharp", "composition"), ("solid", "dashed", "dotted")
    y = hv.Dimension(title)  # a dimension of its own, so that no two panels share an axis
    named = {"title": title, "ylabel": "", "show_legend": len(columns) > 1}
    drawn = [
        hv.Curve((at, values), x, y, label=name).opts(
            color=style(hue)["color"], line_dash=dash, line_width=2.4, **named, **frame
        )
        for (name, values), hue, dash in zip(columns.items(), hues, dashes, strict=False)
        if values is not None
    ]
    return with_legend(hv.Overlay(drawn), "top_left")
