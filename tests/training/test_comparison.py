"""The comparison that the page opens with, and the tuning that it comes of."""

import re
import sys
from itertools import pairwise
from math import inf
from pathlib import Path
from subprocess import run
from zlib import crc32

import numpy as np
import pytest

from benchmarks.comparison import __main__ as made_by
from benchmarks.comparison import search as searching
from benchmarks.comparison.choices import Choice
from benchmarks.comparison.horizons import TASK, UNITS, WIDTH, least, objective, units
from benchmarks.comparison.kept import load, save
from benchmarks.comparison.search import GRIDS, MEETINGS, VISITS, affordable, search, sort, split
from tests.training.small import small_task
from tools.comparison import PRINTED, accuracies, kept, mean, passes, spread
from tools.comparison_figures import few_ticks
from zoexplore import Accounting, guarantee
from zoexplore.training import METHODS, TASKS, frontier
from zoexplore.training.data import carried_by_scikit_learn, cosines
from zoexplore.training.engine import Configuration
from zoexplore.training.privacy import accounts

LIPSCHITZ = Accounting(sensitivity="least")


@pytest.fixture(scope="module")
def comparison():
    return load()


def test_every_private_point_is_at_its_target_by_an_account_that_says_so(comparison):
    for task, one in comparison.finished.items():
        found = one.frontier
        targets = {p.target for p in found.points if METHODS[p.method].noisy}
        assert targets == set(made_by.COMPARED_ON[task])
        for p in found.points:
            if METHODS[p.method].noisy:
                assert (
                    p.epsilon[p.by] == pytest.approx(p.target, rel=1e-6)
                    and p.epsilon[p.by] <= p.target
                    and p.counted[p.by]
                )
            if (
                p.setting is not None
                and p.target == min(targets)
                and p.method in ("noisy-zogd", "noisy-gd")
            ):
                own = METHODS[p.method].every_direction
                made = Configuration(p.method, p.setting, True, own, target=1.0)
                again = [
                    guarantee(a.setting, p.by, a.accounting)
                    for a in accounts(TASKS[task], made, LIPSCHITZ)
                    if p.by in a.bounds
                ]
                assert min(g.epsilon for g in again) <= p.epsilon[p.by] * (1 + 1e-3)


def test_no_choice_lies_at_an_end_of_its_grid(comparison):
    found = [
        (task, key, draw.ends)
        for task, keys in comparison.tuning.items()
        for key, draws in keys.items()
        for draw in draws
    ]
    assert len(found) > 80 and [(task, key) for task, key, ends in found if ends] == []


def test_no_line_falls_by_more_than_its_bars(comparison):
    for task, one in comparison.finished.items():
        found = one.frontier
        for method in {p.method for p in found.points if p.target is not None}:
            line = sorted((p for p in found.points if p.method == method), key=lambda p: p.target)
            for less, more in pairwise(line):
                fallen = less.mean("accuracy") - more.mean("accuracy")
                assert fallen <= less.error("accuracy") + more.error("accuracy"), (
                    task,
                    method,
                    more.target,
                )


def test_random_settings_of_ones_own_are_no_better_than_what_was_chosen(comparison):
    """By more than twice the bars, the draw of the test records' included: what the search holds
    back as a check.
    """
    for task, found in comparison.control.items():
        points = {
            f"{p.method} at {p.target:g}": p
            for p in comparison.finished[task].frontier.points
            if p.target
        }
        for key, other in found.items():
            assert other - points[key].mean("accuracy") <= 2 * points[key].error("accuracy"), (
                task,
                key,
            )


def test_the_mechanism_is_as_accurate_as_runs_in_law(comparison):
    """What is approximate of the latter is a clip's length alone."""
    gaps = [
        draw.last - draw.mechanism
        for keys in comparison.tuning.values()
        for draws in keys.values()
        for draw in draws
        if draw.mechanism is not None
    ]
    assert gaps and abs(np.mean(gaps)) < 0.01 and np.max(np.abs(gaps)) < 0.05


def test_what_the_page_on_training_prints_is_of_the_comparison(comparison):
    """Its table as it is made, and every mean with its error elsewhere."""
    page = (Path(__file__).parents[2] / "docs" / "training.md").read_text()
    assert accuracies(comparison.finished[PRINTED].frontier) in page
    known = {mean(values) for series in comparison.series for values in series.values}
    known |= {spread(p) for one in comparison.finished.values() for p in one.frontier.points}
    printed = re.findall(r"[\d.]+ ± [\d.]*\d", page)
    assert len(printed) > 30 and set(printed) <= known


def test_a_short_logarithmic_axis_names_few_numbers():
    assert [x for x, _ in few_ticks([1503.0, 46_146.0])] == [2000, 5000, 10_000, 20_000]
    assert few_ticks([1.0, 2010.0]) == few_ticks([0.0078, 0.5]) == []


def test_hidden_iterates_have_one_noise_for_every_number_of_steps(comparison):
    series = {(s.study, s.label): s for s in comparison.series}
    hidden, public = (series["horizon-epsilon", name] for name in ("Noisy-ZOGD", "DP-AggZO"))
    late = [i for i, T in enumerate(hidden.x) if T >= 1000]
    assert np.ptp([hidden.values[i][0] for i in late]) < 1e-3 * hidden.values[-1][0]
    assert public.values[-1][0] > 50 * hidden.values[-1][0]


def test_a_network_in_eight_bits_is_as_the_one_in_double_precision_but_for_rounding():
    """Of 64 weights, each by up to 1/254 of the largest."""
    X, _ = carried_by_scikit_learn("digits.csv.gz")
    apart = np.abs(units(X) - cosines(X, UNITS, WIDTH))
    assert 1e-4 < apart.mean() < 0.02 and apart.max() < 0.05


def test_the_objectives_excess_is_zero_at_the_minimum():
    X, y, best = TASK.data.X, TASK.data.y, np.zeros(TASK.d)
    for _ in range(2000):
        p = 1 / (1 + np.exp(-X @ best))
        best -= 3 * (X.T @ (p - y) / len(p) + TASK.ridge * best)
    assert (
        objective(best[None])[0] == pytest.approx(least(), abs=1e-12)
        and objective(2 * best[None])[0] > least() + 1e-6
    )


@pytest.mark.parametrize(
    "task, strengths",
    [("digits-cosines", (100, 1000)), ("mnist", (100,))],
)
def test_without_privacy_it_is_as_good_as_scikit_learn(comparison, task, strengths):
    from sklearn.linear_model import LogisticRegression

    data = TASKS[task].data
    other = max(
        LogisticRegression(C=C, max_iter=300).fit(data.X, data.y).score(data.X_test, data.y_test)
        for C in strengths
    )
    best = next(p for p in comparison.finished[task].frontier.points if p.method == "non-private")
    assert round(abs(best.mean("accuracy") - other), 6) <= 0.01


@pytest.fixture
def small(monkeypatch, tmp_path):
    """A comparison of a small task that is quickly made."""
    task = small_task("logistic", n=100, T=10)
    monkeypatch.setitem(made_by.TASKS, "small", task)
    monkeypatch.setattr(made_by, "COMPARED_ON", {"small": (1.0, 4.0)})
    monkeypatch.setattr(made_by, "COMPARED", ("aggzo", "non-private"))
    monkeypatch.setattr(made_by, "CONTROLLED", (4.0,))
    monkeypatch.setattr(made_by, "CONTROL", 3)
    monkeypatch.setattr(made_by, "STUDIES", {})
    (tmp_path / "out").mkdir()
    monkeypatch.setattr(searching, "FIRST", 8)
    monkeypatch.setattr(searching, "STEPS", STEPS := tuple(range(2, 13)))
    monkeypatch.setitem(GRIDS, "T", STEPS)

    def ask(*more):
        monkeypatch.setattr(
            sys,
            "argv",
            ["comparison", "--folder", str(tmp_path), "--out", str(tmp_path / "out"), *more],
        )
        made_by.main()
        return load(tmp_path / "out")

    return ask


def test_a_comparison_that_was_cut_off_goes_on_where_it_was(small, tmp_path, capsys):
    first = small()
    assert [(p.method, p.target) for p in first.finished["small"].frontier.points] == [
        ("aggzo", 1.0),
        ("aggzo", 4.0),
        ("non-private", None),
    ]
    assert all(len(draws) == made_by.DRAWS for draws in first.tuning["small"].values()) and set(
        first.control["small"]
    ) == {"aggzo at 4"}
    capsys.readouterr()
    assert small() == first and capsys.readouterr().out == ""
    (tmp_path / "small-1.json").unlink()
    again = small()
    assert (
        again.tuning == first.tuning
        and again.finished["small"].frontier == first.finished["small"].frontier
        and "draw 1" in capsys.readouterr().out
    )


def test_what_is_kept_is_read_again_and_like_lists_of_tasks_needs_no_torch(comparison, tmp_path):
    save(comparison, tmp_path)
    assert load(tmp_path) == comparison
    code = (
        "import sys; from zoexplore.training import TASKS, METHODS, Frontier, load;"
        "from zoexplore.training.comparison import load; load(); print('torch' in sys.modules)"
    )
    assert (
        run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip()
        == "False"
    )


def test_tuning_never_sees_the_test_part():
    task = small_task("logistic", n=100)
    data, part = task.data, split(task, 0)
    assert len(part.X) == 80 and len(part.X_test) == 20
    assert {tuple(x) for x in np.vstack([part.X, part.X_test])} == {tuple(x) for x in data.X}


def test_all_methods_have_as_many_trials_and_fresh_splits_decide(monkeypatch):
    """Whatever accuracies they find: the search sees nothing else of a trial."""
    monkeypatch.setattr(searching, "FIRST", 16)
    tried = []

    def judged(task, key, asked, seed):
        tried.extend((key, point, fold) for point, fold in asked)
        return [crc32(f"{key} {point} {fold}".encode()) / 2**32 for point, fold in asked]

    monkeypatch.setattr(searching, "judged", judged)
    task, keys = (
        small_task("softmax", n=200, T=10),
        [("aggzo", 1.0), ("dp-sgd", 1.0), ("dpzero", 1.0)],
    )
    for key in keys:
        found = search(task, key, draw=0)
        own = [(point, fold) for of, point, fold in tried if of == key]
        assert found.trials == len(own) == len(set(own))
        fresh = sorted({fold for _, fold in own})[-sum(splits for _, splits in MEETINGS) :]
        (first, early), (few, _) = MEETINGS
        assert len({point for point, fold in own if fold in fresh[:early]}) == first
        assert {point for point, fold in own if fold in fresh[early:]} == set(
            found.finalists
        ) and len(found.finalists) == few
    counts = [sum(of == key for of, *_ in tried) for key in keys]
    assert max(counts) <= 1.2 * min(counts)


@pytest.mark.parametrize("method", ["dp-sgd", "aggzo", "dpzero"])
def test_no_run_visits_a_record_more_often_than_may_be(method):
    most = VISITS[sort(method)]
    for T in (10, len(GRIDS["T"]) - 1):
        cheap = affordable(method, dear := (0, T, 0, 1, 1, 0))
        assert (
            GRIDS["T"][cheap[1]] / GRIDS["part"][cheap[2]]
            <= most
            < GRIDS["T"][T] / GRIDS["part"][0]
        )
        assert affordable(method, cheap) == cheap and dear[3:] == cheap[3:]


def test_a_target_that_no_noise_reaches_is_said():
    assert Choice(3, 5, 1.0, 0.5).made(small_task(), "aggzo", 1.0) is not None
    with pytest.raises(ValueError, match="epsilon = -1"):
        frontier(task=small_task(), methods=("aggzo",), epsilons=(-1.0,))


def test_delta_and_the_ball_are_those_that_were_asked_for():
    found = frontier(
        task=small_task(), methods=("aggzo",), epsilons=(1.0,), K=3, T=4, seeds=1, delta=1e-7, R=0.5
    )
    (point,) = found.points
    assert found.delta == point.setting.delta == 1e-7 and point.setting.R == 0.5
    (usual,) = frontier(
        task=small_task(), methods=("aggzo",), epsilons=(1.0,), K=3, T=4, seeds=1
    ).points
    assert point.sigma > usual.sigma
    with pytest.raises(ValueError, match="xi is not part of a plan"):
        frontier(task=small_task(), methods=("aggzo",), epsilons=(1.0,), xi=0.1)


def test_without_noise_there_is_no_ball():
    noisy, free = frontier(
        task=small_task(R=0.01),
        methods=("noisy-gd", "non-private"),
        epsilons=(1.0,),
        K=3,
        T=4,
        seeds=1,
    ).points
    assert (noisy.setting.R, free.setting.R) == (0.01, inf)


def test_directions_cost_passes_and_save_memory():
    zeroth, first = frontier(
        task=small_task(), methods=("aggzo", "noisy-gd"), epsilons=(1.0,), K=3, T=4, seeds=1
    ).points
    assert (passes(zeroth), passes(first)) == (2 * 3 * 4 * 60, 3 * 4 * 60)
    assert (kept(zeroth), kept(first)) == (3, 8)
