"""The controls move the state, follow it, and show refusals beside them."""

from math import inf

import param
import pytest
from bokeh.document import Document
from panel.io.state import set_curdoc

from zoexplore import Accounting, guarantee
from zoexplore.run.formatting import THIN, parse_number
from zoexplore.run.presets import DEMONSTRATION
from zoexplore.run.setting import SETTING_FIELDS
from zoexplore.views import Controls, State
from zoexplore.views.panels.controls import COOLED, SLIDERS
from zoexplore.views.state import OPTIONS
from zoexplore.views.style.inputs import nearest


@pytest.mark.parametrize("field", SLIDERS)
def test_a_slider_moves_its_field_and_nothing_else(field):
    controls = Controls()
    dial = controls.dials[field]
    dial.slider.value -= 3
    value = float(dial.values[dial.slider.value])
    assert controls.state.setting == DEMONSTRATION.replace(**{field: value})
    assert parse_number(dial.text.value) == value


@pytest.mark.parametrize("field", SLIDERS)
def test_a_slider_follows_the_state(field):
    controls = Controls()
    value = {"K": 10, "beta": 0.25, "sigma": 0.3, "n": 777, "batch": 64, "d": 4000, "T": 12}[field]
    controls.state.ask(**{field: value})
    dial = controls.dials[field]
    assert dial.slider.value == nearest(dial.values, value)
    assert parse_number(dial.text.value) == value


def test_the_figure_and_the_number_beside_a_slider_are_one_message():
    document, controls, held = Document(), Controls(), []
    with set_curdoc(document):
        for owner, name in ((controls.state, "setting"), (controls.dials["K"].text, "value")):
            owner.param.watch(lambda _: held.append(document.callbacks.hold_value), name)
        controls.dials["K"].slider.value -= 3
    assert held == ["combine", "combine"] and document.callbacks.hold_value is None


def let_go(slider, value):
    with param.edit_constant(slider):  # as the browser does
        slider.value_throttled = value


@pytest.mark.parametrize("first_event", ["move", "end"])
def test_a_slider_commits_when_it_is_let_go(first_event):
    controls = Controls()
    slider = controls.dials["T"].slider
    slider.value -= 3
    assert controls.state.moving
    last = slider.value - 1
    if first_event == "move":
        slider.value = last
    let_go(slider, last)
    assert controls.state.moving == (first_event == "end")
    slider.value = last
    assert not controls.state.moving
    assert controls.state.T == controls.dials["T"].values[last]


def test_what_is_typed_is_kept_exactly():
    controls = Controls()
    controls.dials["T"].text.value = "23456"
    assert controls.state.setting.T == 23456
    assert controls.dials["T"].text.value == f"23{THIN}456"
    controls.state.ask(T=10**6)
    # as everywhere else on the page
    assert controls.dials["T"].text.value == f"1{THIN}000{THIN}000"


@pytest.mark.parametrize("typed", ["600", "0", "-3", "2.5", "many", ""])
def test_what_cannot_be_is_refused_beside_the_controls(typed):
    controls = Controls()
    controls.dials["K"].text.value = typed
    assert controls.state.setting == DEMONSTRATION
    assert controls.dials["K"].text.value == "260"
    assert controls.notice.visible
    assert (
        "is not allowed: give a" if typed else "K cannot be left empty: give a number"
    ) in controls.notice.object
    controls.dials["K"].text.value = "50"
    assert controls.state.K == 50
    assert not controls.notice.visible


def test_markup_in_what_was_typed_is_escaped():
    controls = Controls()
    controls.dials["K"].text.value = "<img src=x>"
    assert "<img" not in controls.notice.object


def test_the_slider_of_k_ends_at_d_and_its_being_held_is_said():
    controls = Controls()
    controls.dials["d"].text.value = "100"
    dial = controls.dials["K"]
    assert dial.values[dial.slider.end] == 100
    assert dial.slider.value == dial.slider.end
    assert dial.text.value == "100"
    assert controls.notice.visible and "K is held at d = 100" in controls.notice.object


def test_one_dimension_leaves_one_direction():
    controls = Controls()
    controls.dials["d"].text.value = "1"
    assert controls.state.setting.K == 1
    controls.dials["K"].slider.value = 1
    assert controls.state.setting.K == 1


def test_choices_reach_the_state_and_follow_it():
    controls = Controls()
    (
        controls.options["regime"].value,
        controls.options["conversion"].value,
        controls.options["schedule"].value,
    ) = (
        "convex",
        "cks",
        "optimal",
    )
    state = controls.state
    assert state.setting.regime == "convex"
    assert state.accounting == Accounting(conversion="cks", schedule="optimal")
    state.ask(regime="non-convex")
    assert controls.options["regime"].value == "non-convex"


def test_the_ball_can_be_done_without():
    controls = Controls(State(DEMONSTRATION.replace(R=2.0)))
    radius = controls.fields["R"]
    radius.value = "∞"
    assert controls.state.R == inf and radius.value == "∞"
    radius.value = "2"
    assert controls.state.R == 2.0


def test_the_step_size_follows_until_it_is_set():
    controls = Controls()
    eta = controls.fields["eta"]
    controls.state.ask(K=30)
    assert controls.state.eta is None and eta.value == "40"
    eta.value = "7"
    assert controls.state.eta == 7.0
    controls.state.ask(K=60)
    assert controls.state.setting.eta == 7.0
    eta.value = ""
    assert controls.state.eta is None and eta.value == "80"


def test_the_clip_never_acts_until_it_may():
    controls = Controls()
    slope = controls.fields["lipschitz"]
    assert controls.known.value == "length" and controls.state.lipschitz == 1.0, (
        "as the page begins"
    )
    controls.known.value = "clip"
    assert (
        controls.state.setting.lipschitz is None and controls.state.accounting.sensitivity == "clip"
    )
    controls.known.value = "nothing"
    assert (controls.state.setting.lipschitz, slope.value) == (inf, "∞")
    slope.value = "3.5"
    assert controls.state.setting.lipschitz == 3.5 and controls.known.value == "length"
    assert "at most 3.5 long" in controls.known.options


def test_what_is_released_and_who_is_protected_can_be_set():
    controls = Controls()
    controls.fields["releases"].value, controls.fields["records_per_person"].value = (
        "5",
        "3",
    )
    controls.options["neighbours"].value, controls.options["sampling"].value = (
        "add-remove",
        "cyclic",
    )
    expected = {
        "releases": 5,
        "records_per_person": 3,
        "neighbours": "add-remove",
        "sampling": "cyclic",
    }
    assert controls.state.setting == DEMONSTRATION.replace(**expected)
    controls.fields["releases"].value = "0"
    assert "r = 0 is not allowed" in controls.notice.object
    controls.state.replace(DEMONSTRATION, Accounting())
    assert (controls.options["neighbours"].value, controls.fields["releases"].value) == (
        "replace-one",
        "1",
    )


def test_a_linear_model_can_be_vouched_for():
    controls = Controls()
    controls.options["linear"].value = True
    assert controls.state.setting == DEMONSTRATION.replace(linear=True)
    controls.state.replace(DEMONSTRATION, Accounting())
    assert controls.options["linear"].value is False


def test_every_number_and_choice_of_a_run_has_its_control():
    controls = Controls()
    inputs = *controls.dials, *controls.fields, *controls.options, *COOLED
    assert {*SETTING_FIELDS, *OPTIONS} - {"printed"} == {*inputs}, (
        "printed has its box under Theory"
    )


def test_the_batch_is_all_until_it_is_set():
    controls = Controls()
    batch = controls.dials["batch"]
    assert (
        batch.text.value == "all"
        and batch.slider.value == batch.slider.end
        and not controls.drawn.visible
    )
    batch.text.value = "64"
    assert controls.state.setting.batch == 64 and controls.drawn.visible, "how batches are drawn"
    batch.text.value = "30000"
    assert "b = 30000 is not allowed" in controls.notice.object
    controls.state.ask(n=1000)
    assert batch.values[-1] == 1000
    batch.slider.value = batch.slider.end
    assert controls.state.setting.batch is None and batch.text.value == "all"


def test_batches_bring_the_neighbours_that_bounds_cover_and_say_so():
    state = State(DEMONSTRATION.replace(batch=2000))
    menu = Controls(state).options["sampling"]
    menu.value = "poisson"
    assert state.neighbours == "add-remove" and guarantee(state.setting, "best").valid
    assert "counts as two" in state.note
    menu.value = "cyclic"
    assert state.neighbours == "add-remove" and not state.note, "which needs no other"
    menu.value = "without-replacement"
    assert state.neighbours == "replace-one" and guarantee(state.setting, "best").valid


def test_the_cool_down_is_set_in_its_sentence():
    controls = Controls(State(DEMONSTRATION.replace(beta=1.0)))
    cool = controls.cooldown
    cool.asked = ["cooldown", "1", 0]
    assert "nothing changes" not in cool.said
    assert controls.state.setting == DEMONSTRATION.replace(beta=1.0, cooldown=1)
    assert [each["text"] for each in cool.blanks.values()] == ["1", "½"]
    cool.asked = ["cooldown_beta", "2", 1]
    assert (
        cool.blanks["cooldown_beta"]["wrong"] and "β′ = 2 is not allowed" in controls.notice.object
    )
    cool.asked = ["cooldown_beta", "0.25", 2]
    assert controls.state.cooldown_beta == 0.25 and not cool.blanks["cooldown_beta"]["wrong"]
    controls.state.replace(DEMONSTRATION, Accounting())
    assert [each["text"] for each in cool.blanks.values()] == ["0", "½"]


def test_how_a_record_is_counted_can_be_set():
    controls = Controls()
    controls.options["sensitivity"].value = "clip"
    assert controls.state.accounting == Accounting(sensitivity="clip")
    controls.state.ask(sensitivity="least")
    assert controls.options["sensitivity"].value == "least"


def test_every_control_has_a_name():
    controls = Controls()
    assert all(field.text.label for field in controls.dials.values())
    assert all(box.label for box in controls.fields.values())
    assert all(dial.slider.tags for dial in controls.dials.values())
    assert (
        controls.options["regime"].tags
        and controls.options["conversion"].label
        and controls.options["schedule"].label
    )


def test_a_delta_of_one_over_n_is_remarked_on_while_it_is_set():
    controls = Controls()
    controls.fields["delta"].value = "0.001"
    assert controls.notice.visible and "δ = 0.001 is at least 1/n" in controls.notice.object
    controls.state.ask(T=50)
    assert "is at least 1/n" in controls.notice.object
    controls.fields["delta"].value = "1e-6"
    assert not controls.notice.visible


def test_one_control_alone_has_nothing_below_it():
    controls = Controls()
    panel, cool = controls.__panel__(), controls.cooldown
    assert panel and cool.visible
    controls.sole = "beta"
    assert not cool.visible and controls.dials["beta"].whole.visible


def test_a_cool_down_that_changes_nothing_says_so():
    controls = Controls()
    cool = controls.cooldown
    assert controls.state.beta == 0.5 and cool.said.endswith("{cooldown_beta}")
    cool.asked = ["cooldown", "5", 0]
    assert "nothing changes. Take β = 1" in cool.said
    controls.state.ask(beta=1.0)
    assert cool.said.endswith("{cooldown_beta}")
