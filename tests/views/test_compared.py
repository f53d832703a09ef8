"""The figure of methods at their best."""

import numpy as np
import panel as pn
import pytest

from tests.views.train_jobs import frontier, point
from zoexplore.views import Train
from zoexplore.views.training import comparison


def test_the_tab_opens_with_a_finished_comparison():
    tab = Train()
    shown = tab.finished
    noisy = [p for p in shown.frontier.points if p.target is not None]
    assert len(noisy) == 5 * 6 and len(shown.compared.marks.data["x"]) == len(noisy)
    said = shown.words.object
    assert shown.comparison.dates[shown.task][:10] in said and "price of tuning" in said and "torch" in said
    shown.open.clicks += 1
    assert tab.frontier is shown.frontier and tab.both.visible


def test_without_a_comparison_the_tab_is_there_all_the_same(monkeypatch):
    monkeypatch.setattr("zoexplore.views.training.tab.finished", lambda: None)
    tab = Train()
    assert tab.finished is None and tab.choices.asked() and pn.panel(tab).get_root() is not None


@pytest.mark.parametrize("cost", ["memory", "passes"])
def test_accuracy_against_a_cost_at_one_target(cost):
    shown = Train().finished
    shown.against = cost
    assert shown.over_cost.visible and not shown.over_epsilon.visible
    points = [p for p in shown.frontier.points if p.target == comparison.rivals(shown.frontier).target]
    marks, of = shown.costs.marks.data, comparison.COSTS[cost][0]
    assert len(points) == 6
    assert marks["x"] == [of(p) for p in points] and marks["y"] == [p.mean("accuracy") for p in points]
    axis = shown.costs.figure.x_range
    assert axis.start < min(marks["x"]) and axis.end > max(marks["x"])
    assert "forward passes" in shown.head.object and "numbers per record" in shown.head.object


def test_names_stand_apart_and_near_their_lines():
    places = comparison.apart([0.9, 0.9, 0.5, 0.91], 0.05)
    assert min(np.diff(sorted(places))) > 0.05 - 1e-9
    assert max(abs(np.array(places) - [0.9, 0.9, 0.5, 0.91])) < 0.06


def test_the_gap_is_between_the_best_of_either_kind_at_one_target():
    def at(method, accuracy, target):
        return point(epsilon=target, accuracy=accuracy, method=method, target=target)

    drawn = frontier(at("aggzo", (0.6, 0.6), 1.0), at("dpzero", (0.7, 0.7), 1.0), at("dp-sgd", (0.9, 0.9), 1.0))
    target, gradients, directions = comparison.rivals(drawn)
    assert (target, gradients.method, directions.method) == (1.0, "dp-sgd", "dpzero")
    assert "0.900; the best" in comparison.describe_frontier(drawn) and "0.700" in comparison.describe_frontier(drawn)
    assert "ε = 1.00" in comparison.describe_frontier(drawn) and comparison.describe_frontier(frontier()) == ""
