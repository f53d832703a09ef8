"""The Train tab without a browser: what is asked for, what is drawn where, and what is said when it goes wrong."""

import asyncio
import os
import pickle
import subprocess
import sys
from dataclasses import replace

import panel as pn
import pytest

from tests.compute import jobs as work
from tests.views import train_jobs
from tests.views.train_jobs import frontier, point, without_noise
from tests.waiting import until
from zoexplore import Accounting, epsilon
from zoexplore.columns import name_of
from zoexplore.compute.limits import TRAININGS
from zoexplore.compute.pool import LongWork
from zoexplore.run.presets import DEMONSTRATION
from zoexplore.training import TASKS, Here
from zoexplore.training.frontier_files import from_json, to_csv
from zoexplore.views import State, Train
from zoexplore.views.style import theme
from zoexplore.views.training import jobs, running
from zoexplore.views.training.jobs import Asked
from zoexplore.views.training.tab import SHOWN, in_advance
from zoexplore.views.training.words import about, differs, infinite

BOUNDS = ("composition", "theorem", "corollary", "sharp")


@pytest.fixture
def incomparable(monkeypatch):
    """A tab without the comparison that comes with the package."""
    monkeypatch.setattr("zoexplore.views.training.compared.finished", lambda: None)


def marks(tab):
    """Where the marks of its figure are."""
    return set(zip(tab.trained.marks.data["x"], tab.trained.marks.data["y"], strict=True))


class One(Here):
    """Stands in for processes that train."""

    count = 1


def trained(monkeypatch, job):
    """A tab whose runs are another job."""
    monkeypatch.setattr(running, "trained", job)
    tab = Train()
    tab.running.begin()
    return tab


class TestWords:
    def test_what_is_infinite_is_listed_with_its_reason(self):
        assert infinite(frontier(), BOUNDS) == {("Noisy-ZOGD", "no corollary"): ["Closed form"]}, "nobody asks why without noise"

    def test_another_accounting_than_that_of_the_page_is_said(self):
        assert "counted at" not in differs(frontier(), 1e-5, Accounting(schedule="optimal"))
        assert "keep one β" in differs(frontier(), 1e-5, Accounting(schedule="optimal"))
        assert "δ = 10⁻⁵" in differs(frontier(), 1e-6, Accounting())
        assert "counted at" in differs(frontier(), 1e-5, Accounting(conversion="cks"))

    def test_as_many_records_are_named_as_were_drawn(self):
        found = frontier()
        found = replace(found, points=(replace(found.points[0], run={"n": 500.0}), *found.points[1:]))
        assert about(found).startswith("Two Gaussian classes, n = 500: ")


@pytest.mark.usefixtures("incomparable")
class TestAsked:
    def test_it_is_the_default_run_at_first(self):
        asked = Train().asked()
        assert (asked.task.name, asked.K, asked.beta, asked.T, asked.sigmas) == ("mixture", 260, 0.5, 200, (5e-5,))
        assert asked.size is None and asked.trained_on is asked.task

    def test_it_is_the_run_of_the_sliders(self):
        tab = Train(State(DEMONSTRATION.replace(K=20, d=50, n=300, T=7, sigma=0.02, beta=0.25, delta=1e-6)))
        asked = tab.asked()
        assert (asked.K, asked.T, asked.beta, asked.delta, asked.size) == (20, 7, 0.25, 1e-6, (300, 50))
        assert asked.sigmas == (0.02,) and asked.methods == ("noisy-zogd", "non-private")
        assert pickle.loads(pickle.dumps(asked.trained_on)) == asked.trained_on  # so that workers draw their data once
        assert asked.trained_on.data.X.shape == (300, 50)
        tab.state.ask(T=8, sigma=1.0)
        assert (tab.asked().T, tab.asked().sigmas) == (8, (1.0,))

    def test_more_data_than_there_is_room_for_are_refused(self):
        asked = Train(State(DEMONSTRATION.replace(n=10**8))).asked()
        with pytest.raises(ValueError, match="too much to draw"):
            _ = asked.trained_on


@pytest.mark.usefixtures("incomparable")
class TestRunning:
    def test_points_come_and_it_ends(self, monkeypatch):
        tab = trained(monkeypatch, train_jobs.finished)
        assert "Done." in tab.running.note.object and not tab.running.cancel.visible
        assert tab.frontier == frontier() and len(marks(tab)) == 2 * 3

    def test_a_killed_process_leaves_what_was_done_and_a_notice(self, monkeypatch):
        tab = trained(monkeypatch, train_jobs.killed)
        assert "ended unexpectedly" in tab.running.note.object and 'role="alert"' in tab.running.note.object
        assert len(tab.frontier.points) == 1 and len(marks(tab)) == 2
        monkeypatch.setattr(running, "trained", train_jobs.finished)
        tab.running.begin()
        assert "Done." in tab.running.note.object

    def test_what_the_trainer_refuses_is_said(self, monkeypatch):
        tab = trained(monkeypatch, train_jobs.refused)
        assert "It did not run: K = 9 is not allowed" in tab.running.note.object

    def test_while_others_train_that_is_said_and_it_begins_when_there_is_room(self, monkeypatch):
        monkeypatch.setattr(running, "trained", train_jobs.finished)
        held = [LongWork(work.busy, 600) for _ in range(TRAININGS.value)]

        async def wait():
            tab = Train()
            tab.running.begin()
            assert "Others are training" in tab.running.note.object and tab.frontier is None and tab.running.busy
            held[0].__exit__()
            await until(lambda: not tab.running.busy)
            return tab

        assert "Done." in asyncio.run(wait()).running.note.object
        held[1].__exit__()

    def test_without_torch_it_says_what_to_install(self, monkeypatch):
        monkeypatch.setattr(running, "missing", lambda: ("PyTorch",))
        tab = Train()
        assert tab.running.train.disabled and "pip install &#x27;zoexplore[train]&#x27;" in tab.running.note.object

    def test_a_real_run(self, monkeypatch):
        """In this process: a browser's run has processes that train."""
        monkeypatch.setattr(jobs, "Processes", One)
        task, methods = TASKS["digits"], ("noisy-zogd", "non-private")
        asked = Asked(task, methods, (1e-2,), K=5, beta=0.5, T=4, seeds=1, delta=1e-6, accounting=Accounting())
        updates = list(jobs.trained(asked))
        assert updates[0].doing == jobs.START
        last = updates[-1]
        assert (last.done, last.total, last.seconds_left) == (4, 4, 0.0)
        assert [p.method for p in last.frontier.points] == ["noisy-zogd", "non-private"]
        assert last.frontier.points[0].setting.T == 4 and last.frontier.points[0].setting.delta == last.frontier.delta == 1e-6


@pytest.mark.usefixtures("incomparable")
class TestResults:
    def test_what_is_saved_is_what_is_shown(self):
        tab = Train()
        tab.frontier = frontier()
        saved = {kind: download.callback().getvalue() for kind, download in tab.results.downloads.items()}
        assert from_json(saved["json"]) == frontier() and saved["csv"] == to_csv(frontier())

    def test_downloads_wait_for_something_to_download(self):
        tab = Train()
        assert not tab.results.keep.visible
        tab.frontier = frontier()
        assert tab.results.keep.visible


class TestTab:
    def test_it_opens_with_what_was_trained_in_advance_and_shows_a_run_as_it_comes(self):
        tab = Train()
        assert "in advance" in tab.about.object and tab.frontier is None
        in_all = len(marks(tab))
        assert in_all == 2 * len(in_advance().points)
        tab.frontier = frontier()
        assert "9 steps, 2 seeds" in tab.about.object and len(marks(tab)) == 2 * 3

    def test_names_have_their_curves_colours_in_the_dark_and_in_a_frame_of_any_size(self):
        tab = Train()
        tab.paint(True)
        tab.trained.names._resized("outer_width", 600, 300)
        names = tab.trained.names.source.data
        dark = {theme.partner(theme.hue(bound), True) for bound in ("composition", "sharp")}
        assert {hue for text, hue in zip(names["text"], names["colour"], strict=True) if text} == dark

    def test_hiding_moves_every_mark_to_a_smaller_epsilon_and_none_up_or_down(self):
        tab = Train(hidden=False)
        public = marks(tab)
        tab.hidden = True
        assert len(marks(tab)) == 2 * len(public) and public < marks(tab)
        assert all(p.epsilon["sharp"] < p.epsilon["composition"] for p in in_advance().points)

    def test_what_was_trained_in_advance_is_counted_as_the_page_counts(self):
        for p in in_advance().points:
            for bound in SHOWN:
                assert p.epsilon[bound] == pytest.approx(epsilon(p.setting, bound), rel=0.02), "run tools.price again"

    def test_the_line_of_the_run_lies_within_the_frame_unless_far_from_every_mark(self):
        tab = Train(State(DEMONSTRATION.replace(sigma=2e-6)))
        span = tab.trained.figure.x_range
        assert span.start < tab.trained.here.location < span.end and span.end == 100
        tab.state.ask(sigma=1e-12)
        assert not tab.trained.here.visible and span.end == 10

    def test_a_single_run_shows_its_course(self):
        tab = Train(hidden=False)
        tab.frontier = frontier(point())
        assert list(tab.trained.lines.data["xs"][0]) == [2.0, 4.0, 8.0]
        assert list(tab.trained.lines.data["ys"][0]) == pytest.approx([0.425, 0.85, 0.85])

    def test_asleep_it_draws_nothing(self):
        tab = Train(active=False)
        assert not marks(tab)
        tab.active = True
        assert marks(tab)

    def test_a_slider_draws_nothing_anew(self):
        tab = Train()
        tab.frontier = frontier()
        drawn = tab.trained.marks.data
        tab.state.ask(delta=1e-6)
        assert tab.trained.marks.data is drawn and "train again" in tab.results.differs.object

    def test_it_renders_alone(self):
        assert pn.panel(Train()).get_root() is not None

    def test_the_page_does_not_wait_for_torch(self):
        code = "import sys; from zoexplore.views import Train; print(Train().asked().task.name, "
        code += "'torch' in sys.modules)"
        updates = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=dict(os.environ))
        assert updates.stdout.split() == ["mixture", "False"]


def test_names():
    assert name_of(point(0.00123456)) == "Noisy-ZOGD, σ = 0.00123"
    assert name_of(without_noise()) == "Not private"
