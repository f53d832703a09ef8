"""The HoloViews elements show what the accountant says, compose, take options, and are saved."""

import holoviews as hv
import numpy as np
import pytest
from bokeh.document import Document
from bokeh.models import BasicTickFormatter, GlyphRenderer, Line
from bokeh.plotting import figure

from zoexplore import BOUNDS, Accounting, curve, guarantee, plots
from zoexplore.palette import LIGHT, style_of
from zoexplore.run.presets import DEMONSTRATION, PRESETS
from zoexplore.training import Frontier, Point

RUN = PRESETS["training"].setting.replace(K=52, T=12)


def plotted(element):
    return hv.renderer("bokeh").get_plot(element).state


def lines(element):
    return [r.glyph for r in plotted(element).select(GlyphRenderer) if isinstance(r.glyph, Line)]


def test_the_curves_are_the_accountants():
    at = [1, 3, 10, 100]
    drawn, found = (
        plots.curves(RUN, "T", at, bounds=["composition", "sharp"]),
        curve(RUN, "T", at, ["composition", "sharp"]),
    )
    for element, bound in zip(drawn, found, strict=True):
        assert element.label == BOUNDS[bound].title
        np.testing.assert_array_equal(element.dimension_values("T"), at)
        np.testing.assert_array_equal(element.dimension_values("epsilon"), found[bound])


def test_the_trade_off_is_the_guarantees():
    rates = np.array([0.0, 0.01, 0.3, 1.0])
    blind, *drawn = plots.tradeoff(RUN, bounds=["composition", "sharp"], rates=rates)
    assert blind.label == "guessing"
    for element, bound in zip(drawn, ["composition", "sharp"], strict=True):
        np.testing.assert_array_equal(
            element.dimension_values("misses"), guarantee(RUN, bound).tradeoff(rates)
        )
    assert not list(
        plots.tradeoff(RUN.replace(beta=1.0, R=float("inf")), bounds=["output-perturbation"])
    )[1:]


def test_every_bound_is_drawn_in_its_style():
    drawn = {
        (glyph.line_color, glyph.line_width, tuple(glyph.line_dash))
        for glyph in lines(plots.curves(RUN, values=[1, 2]))
    }
    styles = [style_of(bound) for bound in plots.THIS_RUN]
    assert drawn == {(style.colour[LIGHT], style.width, style.dash) for style in styles}


def test_an_axis_writes_small_numbers_without_an_e():
    page = Document(theme=plots.THEME)
    page.add_root(plotted(hv.Curve([(0, 0.0005), (1, 0.003)])))
    assert [model.power_limit_low for model in page.select({"type": BasicTickFormatter})] == [
        -6,
        -6,
    ]


def test_where_a_bound_does_not_apply_there_is_a_gap():
    (element,) = plots.curves(RUN, "K", [52, 300], bounds=["theorem"])
    first, last = element.dimension_values("epsilon")
    assert np.isfinite(first) and np.isnan(last)


@pytest.mark.parametrize("along", ["beta", "sigma", "delta", "batch"])
def test_every_field_has_its_axis(along):
    values = {"beta": [0.0, 0.5, 1.0], "batch": [100, 20_000]}.get(along)
    fig = plotted(
        plots.curves(
            RUN, along, values, bounds=["composition"], accounting=Accounting(conversion="cks")
        )
    )
    assert type(fig.x_scale).__name__ == ("LinearScale" if along == "beta" else "LogScale")


def test_a_field_without_values_of_its_own_says_so():
    with pytest.raises(ValueError, match="give values"):
        plots.curves(RUN, "batch")


def test_the_profile_has_a_guarantee_at_every_point():
    (element,) = plots.curves(RUN, "delta", [1e-8, 1e-5], bounds=["sharp"])
    for epsilon, delta in zip(
        element.dimension_values("epsilon"), element.dimension_values("delta"), strict=True
    ):
        assert epsilon == pytest.approx(
            guarantee(RUN.replace(delta=delta), "sharp").epsilon, rel=1e-4
        )


def test_the_grid_is_the_accountants_and_its_contours_lie_between_cells():
    mesh, paths = plots.grid(RUN, "K", "sigma", points=33, levels=[1.0])
    for column, sigma in list(enumerate(np.geomspace(1e-6, 10, 33)))[::4]:
        row = mesh.dimension_values("epsilon", flat=False)[column]
        K = np.unique(mesh.dimension_values("K"))
        expected = curve(RUN.replace(sigma=sigma), "K", K, ["sharp"])["sharp"]
        assert row[0] == pytest.approx(expected[0] or np.nan, rel=1e-12, nan_ok=True)
    assert set(paths.dimension_values("epsilon")) == {1.0}
    middle = len(paths.dimension_values("K")) // 2
    K, sigma = paths.dimension_values("K")[middle], paths.dimension_values("sigma")[middle]
    assert guarantee(RUN.replace(K=round(K), sigma=sigma), "sharp").epsilon == pytest.approx(
        1.0, rel=0.1
    )


@pytest.mark.parametrize(("x", "y"), [("K", "K"), ("K", "colour")])
def test_a_grid_is_over_two_fields(x, y):
    with pytest.raises(ValueError, match="two different fields"):
        plots.grid(RUN, x, y)


@pytest.mark.parametrize("bound", ["sharp", "theorem"])
def test_inside_shows_the_trajectory(bound):
    path = guarantee(RUN, bound).trajectory
    panels = list(plots.inside(RUN, bound))
    np.testing.assert_array_equal(next(iter(panels[0])).dimension_values(1), path.z[:-1])
    assert [len(list(panel)) for panel in panels] == (
        [1, 2, 1, 3] if bound == "sharp" else [1, 2, 1, 1]
    )
    drawn = plotted(plots.inside(RUN, bound)).select({"type": figure})
    assert len({id(fig.y_range) for fig in drawn}) == 4  # none shares its axis with another


def test_what_has_no_steps_says_why():
    with pytest.raises(ValueError, match="2K = 600 exceeds d = 520"):
        plots.inside(RUN.replace(K=300), "theorem")


def point(method, epsilon, accuracy):
    along = {bound: (value,) for bound, value in epsilon.items()}
    seeds, utility = (0, 1), (((accuracy,), (accuracy + 0.01,)), ((0.1,), (0.1,)))
    return Point(method, 1e-3, DEMONSTRATION, seeds, (1,), *utility, {}, along)


def test_the_frontier_has_a_marker_a_method_and_a_colour_a_bound():
    finite, never = {"composition": 3.0, "sharp": 1.0}, {"composition": np.inf, "sharp": np.inf}
    points = (point("noisy-zogd", finite, 0.9), point("non-private", never, 0.99))
    drawn = plots.frontier(Frontier("mixture", points, Accounting(), 1e-5))
    kinds = [type(part).__name__ for part in drawn]
    assert (
        kinds.count("Scatter") == 2 and kinds.count("Curve") == 3 and kinds.count("ErrorBars") == 2
    )
    fills = [
        hv.Store.lookup_options("bokeh", part, "style").kwargs["color"]
        for part in drawn
        if isinstance(part, hv.Scatter)
    ]
    assert fills == [plots.style(bound)["color"] for bound in finite]


def test_elements_compose_take_options_and_are_saved(tmp_path):
    drawn = plots.curves(RUN, values=range(1, 30)) * hv.VLine(5) + plots.curves(
        RUN, "delta", [1e-6, 1e-5]
    ).opts(height=200)
    hv.save(drawn, tmp_path / "both.html")
    text = (tmp_path / "both.html").read_text()
    assert "Sharper bound" in text and plots.style("sharp")["color"] in text


def test_a_stream_redraws_them():
    stream = hv.streams.Stream.define("K", K=52)()
    live = hv.DynamicMap(
        lambda K: plots.curves(RUN.replace(K=K), values=[1, 10], bounds=["composition"]),
        streams=[stream],
    )
    first = live[()].dimension_values("epsilon")[-1]
    stream.event(K=260)
    assert live[()].dimension_values("epsilon")[-1] != first
