"""The figure's data are the accountant's numbers, and the frame stays put."""

import numpy as np
import pytest
from bokeh.document import Document

from zoexplore import BOUNDS, Accounting, curve, guarantee
from zoexplore.compute.computations import REFERENCE, curve_set
from zoexplore.run.axes import AXES, T_VALUES, frame, steady
from zoexplore.run.formatting import format_number
from zoexplore.run.presets import DEMONSTRATION, PRESETS
from zoexplore.views import Curves, Explorer, State
from zoexplore.views.figures.parts import EVERYWHERE

SETTINGS = [
    DEMONSTRATION,
    DEMONSTRATION.replace(K=300),
    DEMONSTRATION.replace(beta=0.0),
    DEMONSTRATION.replace(regime="convex"),
    DEMONSTRATION.replace(sigma=1.0),
]


def finite(values):
    return np.where(np.isfinite(values) & (values > 0), values, np.nan)


@pytest.fixture(scope="module")
def turned():
    """Curves that turn to a field, of whatever run."""
    view = Curves()

    def turn(field, setting=DEMONSTRATION):
        view.state.replace(setting, Accounting())
        view.along = field
        return view

    return turn


@pytest.mark.parametrize("setting", SETTINGS, ids=str)
def test_the_data_are_the_accountants(setting):
    view = Curves(State(setting))
    for bound, values in curve(setting, "T", T_VALUES).items():
        np.testing.assert_array_equal(view.source.data[bound], finite(values))
    public = curve(setting.replace(beta=1.0), "T", T_VALUES, ["composition"])["composition"]
    np.testing.assert_array_equal(view.source.data[REFERENCE], finite(public))


def test_every_bound_is_drawn_from_one_source():
    view = Curves()
    assert {*BOUNDS, REFERENCE} == set(view.lines)
    assert all(line.data_source is view.source for line in view.lines.values())


def test_a_change_replaces_the_data_once_and_keeps_the_figure():
    view, seen = Curves(), []
    figure, source = view.figure, view.source
    source.on_change("data", lambda attr, old, new: seen.append(new))
    view.state.ask(sigma=0.002, conversion="cks")
    assert len(seen) == 1
    assert view.figure is figure and view.source is source
    expected = curve(DEMONSTRATION.replace(sigma=0.002), "T", T_VALUES, accounting=Accounting(conversion="cks"))
    np.testing.assert_array_equal(source.data["composition"], finite(expected["composition"]))


def test_only_columns_that_have_changed_are_sent():
    view, page, sent = Curves(), Document(), []
    page.add_root(view.figure)
    page.on_change(lambda event: sent.append(event) if getattr(event, "model", None) is view.source else None)
    view.state.ask(sigma=0.002)
    (event,) = sent
    assert {"composition", "sharp"} <= set(event.cols) and not {"x", "value"} & set(event.cols)


def test_moving_t_moves_the_marks_and_not_the_curves():
    view, seen = Curves(), []
    view.source.on_change("data", lambda attr, old, new: seen.append(new))
    view.state.T = 1000
    assert seen == []
    assert view.handle.line.location == 1000
    assert set(view.marks.data["x"]) == {1000} and view.handle.at == 1000
    shown = {each["key"]: each["number"] for each in view.legend.entries}
    run = DEMONSTRATION.replace(T=1000)
    assert {bound: shown[bound] for bound in BOUNDS} == {b: format_number(guarantee(run, b).epsilon) for b in BOUNDS}


def test_on_batches_a_slider_moves_a_sketch_nowhere_below_the_exact_curves():
    run = DEMONSTRATION.replace(n=1000, batch=20, sigma=0.02, K=100)
    view = Curves(State(run))
    view.state.slide(sigma=0.021)
    moved = run.replace(sigma=0.021)
    sketch = curve(moved, "T", T_VALUES, accounting=Accounting(conversion="cks"))
    np.testing.assert_allclose(view.source.data["sharp"], finite(sketch["sharp"]), rtol=1e-8)
    view.state.moving = False
    exact = curve(moved, "T", T_VALUES)
    for bound in ("composition", "theorem", "sharp"):
        both = finite(np.minimum(exact[bound], sketch[bound]))
        np.testing.assert_allclose(view.source.data[bound], both, rtol=1e-8)  # what a search for a root leaves open
    assert (view.source.data["sharp"] < finite(sketch["sharp"])).all()
    view.state.slide(sigma=0.02)  # what was found already is drawn as it is
    np.testing.assert_allclose(view.source.data["sharp"], finite(curve(run, "T", T_VALUES)["sharp"]), rtol=1e-8)


def test_a_curve_that_is_switched_off_goes_with_mark_and_name():
    view = Curves()
    view.legend.muted = ["composition", "closed"]
    assert not view.lines["composition"].visible and view.lines["sharp"].visible
    marks = {bound: place for place, bound in enumerate(view.marks.data["bound"])}
    assert np.isnan(view.marks.data["y"][marks["composition"]]) and np.isfinite(view.marks.data["y"][marks["sharp"]])
    assert "Composition" not in view.names.source.data["text"] and "Sharper bound" in view.names.source.data["text"]
    view.legend.muted = []
    assert view.lines["composition"].visible and "Composition" in view.names.source.data["text"]


def test_the_label_names_delta():
    view = Curves()
    assert view.figure.yaxis.axis_label == "ε at δ = 10⁻⁵"
    view.state.delta = 2e-6
    assert view.figure.yaxis.axis_label == "ε at δ = 2\u202f×\u202f10⁻⁶"


def test_the_frame_leaves_out_what_would_squeeze_everything_else():
    start, end = frame(np.array([0.4, 7000.0, 2.7e6]), np.array([0.0108]))
    assert (start, end) == pytest.approx((0.01, 1e4))
    view = Curves()
    view.legend.muted = []
    at = view.marks.data["bound"].index("output-perturbation")
    assert view.marks.data["y"][at] == view.figure.y_range.end
    assert any("Output perturbation" in name and "↑" in name for name in view.names.source.data["text"])


def test_the_frame_of_nothing_is_a_frame():
    nothing = np.array([])
    start, end = frame(nothing, nothing)
    assert 0 < start < end


def test_the_frame_stays_until_a_curve_leaves_it_or_decades_are_empty():
    assert steady((0.1, 1000.0), EVERYWHERE) == (0.1, 1000.0)
    assert steady((0.1, 1000.0), (0.01, 1e4)) == (0.01, 1e4)
    assert steady((0.1, 1e5), (0.01, 1e4)) == (0.01, 1e5)
    assert steady((0.1, 100.0), (0.01, 1e4)) == (0.01, 100.0)
    assert steady((1e-3, 1e4), (0.01, 1e4)) == (1e-3, 1e4)


def test_a_view_that_the_reader_has_chosen_is_kept():
    view = Curves()
    view.figure.y_range.update(start=0.5, end=20.0)
    view.state.sigma = 1.0
    assert (view.figure.y_range.start, view.figure.y_range.end) == (0.5, 20.0)


def test_dark_and_light_differ_in_every_line():
    view = Curves()
    light = {name: line.glyph.line_color for name, line in view.lines.items()}
    view.paint(dark=True)
    assert all(line.glyph.line_color != light[name] for name, line in view.lines.items())


def test_cached_curves_cannot_be_written_to():
    with pytest.raises(ValueError, match="read-only"):
        curve_set(DEMONSTRATION, Accounting(), "T").epsilon["composition"][0] = 1.0


FIELDS = sorted(set(AXES) - {"T"})


@pytest.mark.parametrize("field", FIELDS)
def test_along_any_field_the_data_are_the_accountants(turned, field):
    view = turned(field, DEMONSTRATION.replace(xi=1e-9))
    values = view.source.data["value"]
    assert len(values) > 40 and (np.diff(values) > 0).all()
    for bound, expected in curve(DEMONSTRATION.replace(xi=1e-9), field, values).items():
        np.testing.assert_array_equal(view.source.data[bound], finite(expected))
    a = AXES[field]
    assert view.handle.line.location == pytest.approx(a.place(getattr(view.state.setting, field)))
    start, end = view.figure.x_range.start, view.figure.x_range.end
    assert start <= view.source.data["x"].min() and view.source.data["x"].max() <= end
    assert view.handle.title == a.title


def test_another_abscissa_keeps_the_figure_and_fits_it_anew():
    view = Curves()
    figure, source = view.figure, view.source
    view.along = "beta"
    assert view.figure is figure and view.source is source
    assert view.figure.yaxis.axis_label == "ε at δ = 10⁻⁵, T = 200"
    view.along = "T"
    assert (figure.x_range.start, figure.x_range.end) == (1, 1e6)


@pytest.mark.parametrize("d", [1, 2, 3, 10**9])
def test_k_ends_at_d_whatever_d_is(turned, d):
    view = turned("K", DEMONSTRATION.replace(d=d, K=1))
    assert view.source.data["value"][-1] == d
    assert view.figure.x_range.end >= max(d, 10)


@pytest.mark.parametrize("field", ["m", "ridge", "M"])
@pytest.mark.parametrize(
    "setting",
    [
        DEMONSTRATION,
        DEMONSTRATION.replace(m=0, ridge=0),
        DEMONSTRATION.replace(M=5e-4, m=1e-4, ridge=0),
        DEMONSTRATION.replace(M=5e3, m=2e3, ridge=2e3),
    ],
)
def test_convexity_runs_over_what_smoothness_allows(turned, field, setting):
    view = turned(field, setting)
    values = view.source.data["value"]
    assert setting.replace(**{field: values[0]}) and setting.replace(**{field: values[-1]})
    expected = curve(setting, field, values, ["composition"])["composition"]
    np.testing.assert_array_equal(view.source.data["composition"], expected)


def test_pins_are_within_the_frame():
    explorer = Explorer()
    low = explorer.curves.figure.y_range.start
    explorer.state.ask(n=10**5, sigma=5e-4)
    explorer.pins.add(explorer.state)
    explorer.state.ask(n=20_000, sigma=DEMONSTRATION.sigma)
    pinned = np.concatenate(explorer.curves.pinned.source.data["ys"])
    assert explorer.curves.figure.y_range.start <= np.nanmin(pinned) < low
    explorer.pins.remove(0)
    assert explorer.curves.figure.y_range.start > np.nanmin(pinned)


def test_a_view_that_is_not_looked_at_computes_nothing_and_catches_up():
    view = Curves()
    view.active = False
    before = view.source.data
    view.state.ask(sigma=0.05)
    assert view.source.data is before
    view.active = True
    np.testing.assert_array_equal(
        view.source.data["composition"], curve(DEMONSTRATION.replace(sigma=0.05), "T", T_VALUES, ["composition"])["composition"]
    )


@pytest.mark.parametrize("field", sorted(AXES))
def test_the_frame_has_what_is_set_now_in_it(turned, field):
    """Also where a curve falls far below it, as along sigma and n."""
    view = turned(field)
    x, y = view.figure.x_range, view.figure.y_range
    assert view.handle.line.location in (None, 0) or x.start <= view.handle.line.location <= x.end
    drawn = [bound for bound in BOUNDS if not BOUNDS[bound].comparator and bound not in view.legend.muted]
    own = [guarantee(DEMONSTRATION, bound).epsilon for bound in drawn]
    assert all(y.start <= now <= y.end for now in own if now <= 1e5 * min(own)), "the rest is marked on the edge"


def test_a_run_longer_than_the_axis_makes_it_longer():
    view = Curves(State(DEMONSTRATION.replace(T=3 * 10**7)))
    values = view.source.data["value"]
    assert view.figure.x_range.end == values[-1] == 10**8 and view.handle.line.location == 3 * 10**7
    expected = curve(DEMONSTRATION, "T", values, ["composition"])["composition"]
    np.testing.assert_array_equal(view.source.data["composition"], expected)
    view.state.ask(T=200)
    assert view.figure.x_range.end == 10**6 and len(view.source.data["value"]) == len(T_VALUES)


def test_an_axis_ends_where_the_rest_of_the_loss_says():
    view = Curves(along="m")
    assert (view.figure.x_range.start, view.figure.x_range.end) == (DEMONSTRATION.ridge, DEMONSTRATION.M)
    assert view.source.data["x"][0] == DEMONSTRATION.ridge and view.source.data["x"][-1] == DEMONSTRATION.M


def test_the_table_says_every_number_and_why_one_is_absent():
    view = Curves(State(DEMONSTRATION.replace(K=300)))
    shown = {each["key"]: each for each in view.legend.entries}
    for bound in BOUNDS:
        g = guarantee(DEMONSTRATION.replace(K=300), bound)
        assert shown[bound]["number"] == format_number(g.epsilon) and shown[bound]["absent"] == (not g.valid)
    assert shown["theorem"]["why"] == "2K = 600 exceeds d = 520" and np.isnan(view.source.data["theorem"]).all()
    assert [key for key, each in shown.items() if each.get("best")] == ["sharp"]


def test_a_preset_and_a_reset_bring_the_axes_back():
    view = Curves(State())
    first, preset = view.up.ends, PRESETS["linear-head"]
    view.state.replace(preset.setting, preset.accounting)
    assert view.up.ends != first
    view.state.replace(DEMONSTRATION, Accounting())
    assert view.up.ends == first == (view.figure.y_range.start, view.figure.y_range.end)
