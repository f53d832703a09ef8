"""The figure of methods at their best."""

from tests.views.train_jobs import frontier, point, without_noise
from tools.comparison import describe_frontier
from zoexplore.methods import look_of, ranked
from zoexplore.views.training.compared import Compared, outcome


def test_the_tab_opens_with_a_finished_comparison():
    shown = Compared()
    shown_points = shown.comparison[shown.task].frontier.points
    noisy = [p for p in shown_points if p.target is not None]
    assert len(noisy) == 4 * 5 == len(shown.chart.given["dots"])
    best = {dot["key"]: dot["y"] for dot in shown.chart.given["dots"]}  # at the largest epsilon
    assert best == {p.method: p.mean("accuracy") for p in sorted(noisy, key=lambda p: p.target)}
    said = shown.words.object
    assert shown.comparison[shown.task].date[:10] in said and "does not cover that search" in said


def test_methods_are_named_by_their_accuracy_at_the_middle_epsilon():
    def at(method, accuracy, target):
        return point(epsilon=target, accuracy=accuracy, method=method, target=target)

    rivals = ("aggzo", (0.6, 0.6)), ("dpzero", (0.7, 0.7)), ("dp-sgd", (0.9, 0.9))
    drawn = frontier(
        *(at(*each, target) for each in rivals for target in (1.0, 2.0, 4.0)), without_noise()
    )
    assert list(ranked(drawn)) == ["non-private", "dp-sgd", "dpzero", "aggzo"]
    said = "Accuracy at ε = 2: Not private 0.950, DP-SGD 0.900, DPZero 0.700, Joint clip 0.600."
    assert describe_frontier(drawn) == said


def test_the_comparison_says_what_comes_out():
    def at(method, *accuracy):
        return point(epsilon=2.0, accuracy=accuracy, method=method, target=2.0)

    def said(*accuracy):
        values = at("dpzero", 0.5, 0.5), at("aggzo", *accuracy)
        return outcome(frontier(*values, at("dp-sgd", 0.8, 0.9), without_noise()))

    assert "At ε\u00a0=\u00a02, loss values teach about as much as gradients." in said(0.8, 0.88)[0]
    assert "teach less than gradients" in said(0.6, 0.6)[0]
    assert "teach more than gradients" in said(0.99, 0.99)[0]
    behind = said(0.99, 0.99)[1]
    assert "Joint clip sees only loss values, and gets 99.0 of 100" in behind
    assert "DP-SGD sees gradients, and gets 85.0 right" in behind and "beyond" in behind
    assert all(look_of(name).short in Compared().words.object for name in ("dpzero", "dp-sgd"))
