"""The figure's data are the accountant's numbers, and the frame stays put."""

import numpy as np
import pytest

from tests.views.drawn import at, dots, drag, ends, lines, y
from zoexplore import BOUNDS, Accounting, curve, guarantee
from zoexplore.run.axes import AXES, T_VALUES, frame, steady
from zoexplore.run.formatting import format_number
from zoexplore.run.presets import DEMONSTRATION, PRESETS
from zoexplore.views import Curves, Explorer, State
from zoexplore.views.figures.curves import EVERYWHERE

SETTINGS = [
    DEMONSTRATION,
    DEMONSTRATION.replace(K=300),
    DEMONSTRATION.replace(beta=0.0),
    DEMONSTRATION.replace(regime="convex"),
    DEMONSTRATION.replace(sigma=1.0),
]


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
        np.testing.assert_array_equal(y(view, bound), values)
    assert set(lines(view)) == {*BOUNDS}


def test_a_change_is_one_message_of_lines_and_one_of_all_else():
    view, seen = Curves(), []
    view.chart.param.watch(lambda event: seen.append(event.name), ["lines", "given"])
    view.state.ask(sigma=0.002)
    view.state.ask(conversion="cks")
    assert seen.count("lines") <= 2
    expected = curve(
        DEMONSTRATION.replace(sigma=0.002), "T", T_VALUES, accounting=Accounting(conversion="cks")
    )
    np.testing.assert_array_equal(y(view, "composition"), expected["composition"])


def test_moving_t_moves_the_marks_and_not_the_curves():
    view = Curves()
    before = y(view, "sharp")
    view.state.ask(T=1000)
    np.testing.assert_array_equal(y(view, "sharp"), before)
    assert {mark["x"] for mark in dots(view).values()} == {1000} and at(view) == 1000
    shown = {each["key"]: each["number"] for each in view.legend.entries}
    run = DEMONSTRATION.replace(T=1000)
    assert {bound: shown[bound] for bound in BOUNDS} == {
        b: format_number(guarantee(run, b).epsilon) for b in BOUNDS
    }


@pytest.mark.parametrize(
    ("sigma", "release"),
    [
        (0.0031, lambda state: state.ask(sigma=0.0033)),
        (0.0032, lambda state: state.param.update(moving=False)),
    ],
)
def test_a_held_slider_draws_a_sketch_and_its_release_all(sigma, release):
    view = Curves()
    view.state.slide(sigma=sigma)
    exact = curve(DEMONSTRATION.replace(sigma=sigma), "T", T_VALUES)["composition"]
    assert len(y(view, "composition")) < len(T_VALUES) / 4
    assert y(view, "composition")[[0, -1]].tolist() == exact[[0, -1]].tolist()
    view.state.slide(T=1000)  # the curves of a run are not known while it is only sketched
    assert len(y(view, "composition")) < len(T_VALUES) / 4
    release(view.state)
    assert len(y(view, "composition")) == len(T_VALUES)
    view.state.slide(T=1003)
    assert len(y(view, "composition")) == len(T_VALUES)


def test_on_batches_the_exact_curves_follow_a_slider_that_is_held():
    run = DEMONSTRATION.replace(n=1000, batch=20, sigma=0.02, K=100)
    view = Curves(State(run))
    view.state.slide(sigma=0.021)
    exact = curve(run.replace(sigma=0.021), "T", view.drawn.values)
    for bound in ("composition", "theorem", "sharp"):
        # what a search for a root leaves open
        np.testing.assert_allclose(y(view, bound), exact[bound], rtol=1e-8)


def test_a_curve_that_is_switched_off_goes_with_its_mark():
    view = Curves()
    view.legend.muted = ["composition", "closed"]
    assert view.chart.muted == ["composition", "closed"]
    assert {"composition", "sharp"} <= dots(view).keys(), "the browser leaves the muted one out"
    view.legend.muted = []
    assert view.chart.muted == [] and "composition" in dots(view)


def test_the_label_names_delta():
    view = Curves()
    assert view.chart.given["title"] == "ε at δ = 10⁻⁵"
    view.state.ask(delta=2e-6)
    assert view.chart.given["title"] == "ε at δ = 2\u202f×\u202f10⁻⁶"


def test_the_frame_leaves_out_what_would_squeeze_everything_else():
    start, end = frame(np.array([0.4, 7000.0, 2.7e6]), np.array([0.0108]))
    assert (start, end) == pytest.approx((0.01, 1e4))
    view = Curves()
    view.legend.muted = []
    assert dots(view)["output-perturbation"]["y"] > ends(view, "up")[1], (
        "an arrow at the frame's edge"
    )


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


FIELDS = sorted(set(AXES) - {"T"})


@pytest.mark.parametrize("field", FIELDS)
def test_along_any_field_the_data_are_the_accountants(turned, field):
    view = turned(field, DEMONSTRATION.replace(xi=1e-9))
    values = view.chart.given["values"]
    assert len(values) > 40 and (np.diff(values) > 0).all()
    for bound, expected in curve(DEMONSTRATION.replace(xi=1e-9), field, values).items():
        np.testing.assert_array_equal(y(view, bound), expected)
    a, now = AXES[field], getattr(view.state.setting, field)
    assert at(view) == (None if now is None else pytest.approx(a.place(now)))
    (start, end), x = ends(view, "across"), lines(view)["sharp"]["x"]
    assert start <= x.min() and x.max() <= end
    assert view.chart.given["across"]["title"] == a.title


def test_another_abscissa_is_fitted_anew():
    view = Curves()
    view.along = "beta"
    assert view.chart.given["title"] == "ε at δ = 10⁻⁵, T = 200"
    view.along = "T"
    assert ends(view, "across") == (1, 1e6)


def test_the_handle_drags_the_value_and_a_click_sets_it():
    view = Curves()
    drag(view, 1234.5)
    assert view.state.T == 1230 == at(view) and view.state.moving
    drag(view, 1234.5, held=False)
    assert not view.state.moving and view.chart.given["handle"]["label"] == "T = 1\u202f230"
    drag(view, 0.001, held=False)
    assert view.state.T == 1 == at(view)
    view.along = "beta"
    drag(view, float(AXES["beta"].place(0.25)), held=False)
    assert view.state.beta == pytest.approx(0.25)


@pytest.mark.parametrize("d", [1, 2, 3, 10**9])
def test_k_ends_at_d_whatever_d_is(turned, d):
    view = turned("K", DEMONSTRATION.replace(d=d, K=1))
    assert view.chart.given["values"][-1] == d
    assert ends(view, "across")[1] >= max(d, 10)


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
    values = view.chart.given["values"]
    assert setting.replace(**{field: values[0]}) and setting.replace(**{field: values[-1]})
    expected = curve(setting, field, values, ["composition"])["composition"]
    np.testing.assert_array_equal(y(view, "composition"), expected)


def test_pins_are_within_the_frame():
    explorer = Explorer()
    explorer.tabs.selected = "curves"
    low = ends(explorer.curves, "up")[0]
    explorer.state.ask(n=10**5, sigma=5e-4)
    explorer.pins.add(explorer.state)
    explorer.state.ask(n=20_000, sigma=DEMONSTRATION.sigma)
    pinned = y(explorer.curves, "pin 0")
    assert ends(explorer.curves, "up")[0] <= pinned.min() < low
    explorer.pins.remove(0)
    assert ends(explorer.curves, "up")[0] > pinned.min()


def test_a_view_that_is_not_looked_at_computes_nothing_and_catches_up():
    view = Curves()
    view.active = False
    before = view.chart.lines
    view.state.ask(sigma=0.05)
    assert view.chart.lines is before
    view.active = True
    np.testing.assert_array_equal(
        y(view, "composition"),
        curve(DEMONSTRATION.replace(sigma=0.05), "T", T_VALUES, ["composition"])["composition"],
    )


@pytest.mark.parametrize("field", sorted(AXES))
def test_the_frame_has_what_is_set_now_in_it(turned, field):
    """Also where a curve falls far below it, as along sigma and n."""
    view = turned(field)
    (left, right), (low, high) = ends(view, "across"), ends(view, "up")
    assert at(view) in (None, 0) or left <= at(view) <= right
    drawn = [
        bound for bound in BOUNDS if not BOUNDS[bound].comparator and bound not in view.legend.muted
    ]
    own = [guarantee(DEMONSTRATION, bound).epsilon for bound in drawn]
    assert all(low <= now <= high for now in own if now <= 1e5 * min(own)), (
        "the rest is marked on the edge"
    )


def test_a_run_longer_than_the_axis_makes_it_longer():
    view = Curves(State(DEMONSTRATION.replace(T=3 * 10**7)))
    values = view.chart.given["values"]
    assert ends(view, "across")[1] == values[-1] == 10**8 and at(view) == 3 * 10**7
    expected = curve(DEMONSTRATION, "T", values, ["composition"])["composition"]
    np.testing.assert_array_equal(y(view, "composition"), expected)
    view.state.ask(T=200)
    assert ends(view, "across")[1] == 10**6 and len(view.chart.given["values"]) == len(T_VALUES)


def test_an_axis_ends_where_the_rest_of_the_loss_says():
    view = Curves(along="m")
    x = lines(view)["sharp"]["x"]
    assert ends(view, "across") == (DEMONSTRATION.ridge, DEMONSTRATION.M) == (x[0], x[-1])


def test_the_table_says_every_number_and_why_one_is_absent():
    view = Curves(State(DEMONSTRATION.replace(K=300)))
    shown = {each["key"]: each for each in view.legend.entries}
    for bound in BOUNDS:
        g = guarantee(DEMONSTRATION.replace(K=300), bound)
        assert shown[bound]["number"] == format_number(g.epsilon) and shown[bound]["absent"] == (
            not g.valid
        )
    assert (
        shown["theorem"]["why"] == "2K = 600 exceeds d = 520"
        and not np.isfinite(y(view, "theorem")).any()
    )
    assert [key for key, each in shown.items() if each.get("best")] == ["sharp"]
    assert all(0 < len(each["says"]) <= 34 for each in shown.values()), "a line beside the figure"


def test_a_preset_and_a_reset_bring_the_axes_back():
    view = Curves(State())
    first, preset = ends(view, "up"), PRESETS["linear-head"]
    view.state.replace(preset.setting, preset.accounting)
    assert ends(view, "up") != first
    view.state.replace(DEMONSTRATION, Accounting())
    assert ends(view, "up") == first
