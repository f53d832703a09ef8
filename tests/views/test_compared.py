"""The figure of methods at their best."""

import numpy as np

from tests.views.train_jobs import frontier, point
from zoexplore import columns
from zoexplore.views.training.compared import Compared, describe_frontier


def test_the_tab_opens_with_a_finished_comparison():
    shown = Compared()
    noisy = [p for p in shown.frontier.points if p.target is not None]
    assert len(noisy) == 4 * 5 == len(shown.chart.given["dots"])
    best = {dot["key"]: dot["y"] for dot in shown.chart.given["dots"]}  # at the largest epsilon
    assert best == {p.method: p.mean("accuracy") for p in sorted(noisy, key=lambda p: p.target)}
    said = shown.words.object
    assert shown.comparison[shown.task].date[:10] in said and "price of tuning" in said


def test_names_stand_apart_and_near_their_lines():
    last = [0.9, 0.9, 0.5, 0.91]
    places = np.array(columns.placed_apart(last, [0.05] * 4, 0.935)) + 0.025
    assert min(np.diff(sorted(places))) > 0.05 - 1e-9
    assert max(abs(places - last)) < 0.1 and abs(places[3] - 0.91) < 1e-9, "that of the best method stays at its line"


def test_the_gap_is_between_the_best_of_either_kind_at_one_target():
    def at(method, accuracy, target):
        return point(epsilon=target, accuracy=accuracy, method=method, target=target)

    drawn = frontier(at("aggzo", (0.6, 0.6), 1.0), at("dpzero", (0.7, 0.7), 1.0), at("dp-sgd", (0.9, 0.9), 1.0))
    target, gradients, directions = columns.rivals(drawn)
    assert (target, gradients.method, directions.method) == (1.0, "dp-sgd", "dpzero")
    assert "0.900, the best" in describe_frontier(drawn) and "0.700" in describe_frontier(drawn)
    assert "At ε = 1 " in describe_frontier(drawn) and describe_frontier(frontier()) == ""
