"""Forgetting: the curve is the accountant's, the sentence has its number, and what is not covered
says why.
"""

import numpy as np
import pytest

from zoexplore import forgetting
from zoexplore.run.formatting import format_number
from zoexplore.run.presets import DEMONSTRATION
from zoexplore.views import Forget, State

RUN = DEMONSTRATION.replace(K=52)


def test_the_curve_and_the_sentence_are_of_the_run():
    view = Forget(State(RUN), steps=40)
    (drawn,) = view.chart.lines
    assert drawn["x"][0] == 0 and drawn["x"][-1] >= 80 and (np.diff(drawn["y"]) <= 0).all()
    at = int(drawn["x"][4])
    assert drawn["y"][4] == pytest.approx(forgetting(RUN, at).epsilon, rel=1e-9)
    said = view.words.object
    for steps in (0, 40):
        assert f"<b>{format_number(forgetting(RUN, steps).epsilon)}</b>" in said
    view.chart.asked = [10.4, False, 1]
    assert "within" not in view.words.object
    assert view.steps == 10 and format_number(forgetting(RUN, 10).epsilon) in view.words.object


def test_its_places_are_close_where_it_falls():
    view = Forget(State(RUN))
    assert view.steps == 10 and np.diff(view.chart.lines[0]["x"])[:10].max() <= 2
    view.steps = 40
    assert set(range(4)) <= set(view.chart.lines[0]["x"])


def test_what_is_not_covered_says_why_in_place_of_a_curve():
    view = Forget(State(RUN.replace(batch=100)))
    assert not view.drawing.visible and "batches are not covered" in view.words.object
    view.state.ask(batch=None)
    assert view.drawing.visible and "decays" in view.words.object


def test_nothing_left_is_nothing_within_delta():
    view = Forget(State(RUN), steps=5000)
    assert (
        forgetting(RUN, 5000).epsilon == 0
        and "to <b>0</b>, within δ\xa0=\xa010⁻⁵." in view.words.object
    )
