"""The Train tab without a browser: what is asked for, what is drawn where, and what is said when it
goes wrong.
"""

import asyncio
import os
import pickle
import subprocess
import sys
from math import inf

import panel as pn
import pytest

from tests.compute import jobs as work
from tests.views import train_jobs
from tests.views.train_jobs import grown, small
from tests.waiting import until
from zoexplore import Accounting, epsilon
from zoexplore.compute.limits import TRAININGS
from zoexplore.compute.pool import LongWork
from zoexplore.run.formatting import THIN, format_number
from zoexplore.run.presets import DEMONSTRATION
from zoexplore.training.tasks import FACTS
from zoexplore.views import Controls, State, Train
from zoexplore.views.training import jobs, running, tab
from zoexplore.views.training.jobs import MOST_NUMBERS, SCALES, Asked, obstacle, prices
from zoexplore.views.training.sentences import difference
from zoexplore.views.training.tab import in_advance


def trained(monkeypatch, job=train_jobs.finished, **changes):
    """A tab whose runs are another job, after its button was pressed."""
    monkeypatch.setattr(running, "trained", job)
    found = Train(State(small(**changes).setting))
    found.press()
    return found


def dots(tab, way):
    """Where the dots of a way are, from the least noise on."""
    picture = tab.growing.picture
    return [(each["x"][way], each["y"]) for each in picture["models"] if way in picture["ways"]]


def stage(tab):
    return tab.growing.picture["stage"]


class TestAsked:
    def test_every_field_of_the_run_reaches_the_models_but_what_the_task_proves(self):
        run = DEMONSTRATION.replace(
            K=20,
            d=50,
            n=300,
            T=7,
            sigma=0.02,
            beta=0.25,
            delta=1e-6,
            R=0.7,
            clip=0.4,
            ridge=0.1,
            eta=3.0,
            batch=30,
            clipping="joint",
            neighbours="add-remove",
            sampling="poisson",
            releases=2,
            records_per_person=3,
        )
        asked = Asked(run, Accounting())
        free = {"sigma", *FACTS}
        for made in asked.runs:
            own, theirs = made.as_dict(), run.as_dict()
            assert {name: own[name] for name in own if name not in free} == {
                n: theirs[n] for n in theirs if n not in free
            }
            assert (made.M, made.m, made.linear, made.lipschitz) == (0.35, 0.1, True, 1.0)
        assert [made.sigma for made in asked.runs] == [0.02 * scale for scale in SCALES]
        assert pickle.loads(pickle.dumps(asked)) == asked and asked.task.data.X.shape == (300, 50)

    def test_epsilon_is_known_before_and_is_the_page_s(self):
        (mine,) = (p for p, s in zip(prices(small()), SCALES, strict=True) if s == 1)
        for bound in ("composition", "sharp"):
            assert mine[bound].along[-1] == pytest.approx(epsilon(small().setting, bound), rel=1e-9)

    @pytest.mark.parametrize(
        "changes, field, nearest",
        [
            ({"n": 200_000}, "n", 57_692),
            ({"n": 2, "d": 10**8}, "d", MOST_NUMBERS // 2),
            ({"n": 20, "d": 10**6, "K": 100}, "K", 30),
            ({"T": 10**6}, "T", 142_857),
            ({"batch": 100, "sampling": "cyclic"}, "sampling", "without-replacement"),
        ],
    )
    def test_what_cannot_be_trained_says_so_with_the_nearest_that_can(
        self, changes, field, nearest
    ):
        run = DEMONSTRATION.replace(**{"K": 1} | changes)
        found = obstacle(run, 5_000_000)
        assert (found.field, found.value) == (
            field,
            nearest,
        ) and "ε is counted all the same" in found.why
        assert obstacle(run.replace(**{field: nearest}), 5_000_000) is None, (
            "the offer can be trained"
        )
        assert "Train with" in found.offer

    def test_a_real_run(self):
        """In this process, of small data: all scales come at once, and in the end every one is
        done.
        """
        asked = small(n=60, d=20, K=5)
        updates = list(jobs.trained(asked))
        last = updates[-1]
        assert last.finished and last.total == 4 * 5
        assert [p.sigma for p in last.frontier.points] == [*asked.sigmas, 0.0]
        for p, price in zip(last.frontier.points, prices(asked), strict=False):
            assert len(p.seeds) == 5 and p.epsilons == {
                bound: charge.along for bound, charge in price.items()
            }

    def test_a_run_that_takes_too_long_is_ended(self):
        with pytest.raises(ValueError, match="ended after 0 s"):
            list(
                jobs.trained(
                    Asked(small(n=60, d=20, K=5).setting.replace(T=10**5), Accounting(), seconds=0)
                )
            )


class TestFigure:
    def test_before_both_epsilons_are_known_and_accuracy_is_not(self):
        made = Train(State(small().setting))
        known = prices(small())
        assert stage(made) == "before"
        assert dots(made, "every") == [(p["composition"].along[-1], 0.5) for p in known]
        assert [x for x, _ in dots(made, "last")] == pytest.approx(
            [p["sharp"].along[-1] for p in known]
        )
        assert "How much accuracy" in made.said.object and made.side.object.count(
            "<td>–</td>"
        ) == len(SCALES)
        assert made.growing.picture["named"] == "dashed: trained in advance, with K = 26, T = 200"

    def test_models_grow_and_nothing_rescales(self, monkeypatch):
        made, seen = Train(State(small().setting)), []
        made.growing.param.watch(lambda event: seen.append(event.new), "picture")
        monkeypatch.setattr(running, "trained", train_jobs.finished)
        made.press()
        assert seen[0]["stage"] == "during" and seen[-1]["stage"] == stage(made) == "done"
        first = [(p["composition"].along[0], 0.5) for p in prices(made.asked())]
        assert [(each["x"]["every"], each["y"]) for each in seen[0]["models"]] == first, (
            "from where every model guesses"
        )
        lengths = [len(each["models"][0]["path"]) for each in seen]
        assert lengths == sorted(lengths) and len({tuple(each["ends"]) for each in seen}) == 1
        whole = grown(made.found[0], 4)
        assert dots(made, "every") == [
            (p.epsilon["composition"], p.mean("accuracy")) for p in whole.points if p.sigma
        ]
        assert any("1 of" not in each["progress"] and "s left" in each["progress"] for each in seen)

    def test_a_pair_is_one_model_at_one_height_and_hiding_moves_it_left(self, monkeypatch):
        made = trained(monkeypatch)
        every, last = dots(made, "every"), dots(made, "last")
        assert [y for _, y in every] == [y for _, y in last] and all(
            a > b for (a, _), (b, _) in zip(every, last, strict=True)
        )
        made.hidden = False
        assert dots(made, "every") == every and dots(made, "last") == []

    def test_a_moved_noise_rings_a_place_and_the_sentence_names_the_nearest(self, monkeypatch):
        made = trained(monkeypatch)
        drawn = dots(made, "every")
        made.state.ask(sigma=1.2 * made.state.sigma)
        assert dots(made, "every") == drawn and "At the nearest trained noise" in made.said.object
        assert 2 < made.growing.picture["mine"] < 3
        made.state.ask(sigma=1e3)
        assert made.growing.picture["mine"] is None, "no ring beyond what was trained"

    def test_another_field_turns_the_frontier_into_the_earlier_one(self, monkeypatch):
        made = trained(monkeypatch)
        done = dots(made, "every")
        made.state.ask(K=26)
        assert (
            {y for _, y in dots(made, "every")} == {0.5}
            and stage(made) == "before"
            and not made.found
        )
        picture = made.growing.picture
        assert picture["named"] == "dashed: trained before, with K = 260"
        assert [(each["x"]["every"], each["y"]) for each in picture["earlier"]] == done
        assert made.button.label == "Train 35 models"

    def test_the_story_shows_what_was_trained_in_advance_and_not_its_answer(self):
        made = Train(told=True, hidden=False)
        trained_before = in_advance(260)[1].points
        assert stage(made) == "done" and dots(made, "every") == [
            (p.epsilon["composition"], p.mean("accuracy")) for p in trained_before
        ]
        assert not made.head.visible and not made.beside.visible and not made.state.by_task

    def test_what_was_trained_in_advance_is_counted_as_the_page_counts(self):
        for p in (*in_advance(260)[1].points, *in_advance(26)[1].points):
            for bound in ("composition", "sharp"):
                assert p.epsilon[bound] == pytest.approx(epsilon(p.setting, bound), rel=0.02), (
                    "run tools.price again"
                )

    def test_an_infinite_epsilon_has_no_place(self):
        # where a record is replaced
        made = Train(State(small(batch=100, sampling="poisson").setting))
        assert {e for p in prices(made.asked()) for charge in p.values() for e in charge.along} == {
            inf
        }
        assert made.side.object.count("∞") == 2 * len(SCALES)
        assert all(0 < end < inf for end in made.growing.picture["ends"]), (
            "the axis is that of what was trained before"
        )


class TestPress:
    def test_a_press_ends_with_what_it_cost(self, monkeypatch):
        made = trained(monkeypatch)
        mine = grown(made.found[0], 4).points[2]
        said = made.said.object
        assert (
            f"right {round(100 * mine.mean('accuracy'))} times in 100" in said and "92" not in said
        )
        assert (
            format_number(mine.epsilon["composition"]) in said and 'role="status">Trained.' in said
        )
        assert made.button.label == "Train again"

    def test_a_killed_process_leaves_what_was_done_and_a_notice(self, monkeypatch):
        made = trained(monkeypatch, train_jobs.killed)
        assert "ended unexpectedly" in made.said.object and 'role="alert"' in made.said.object
        assert len(made.found[1].points) == 8 and stage(made) == "stopped"
        monkeypatch.setattr(running, "trained", train_jobs.finished)
        made.press()
        assert "Trained." in made.said.object and "unexpectedly" not in made.said.object

    def test_what_the_trainer_refuses_is_said(self, monkeypatch):
        assert (
            "It did not run: K = 9 is not allowed"
            in trained(monkeypatch, train_jobs.refused).said.object
        )

    def test_while_others_train_that_is_said_and_a_press_gives_it_up(self):
        held = [LongWork(work.busy, 600) for _ in range(TRAININGS.value)]

        async def wait():
            made = Train(State(small().setting))
            made.press()
            await until(lambda: "Others are training: yours is next" in made.said.object)
            assert made.button.label == "Stop, keep these"
            made.press()
            await until(lambda: made.button.label == "Train 35 models")

        asyncio.run(wait())
        for each in held:
            each.__exit__()

    def test_what_cannot_be_trained_stands_at_its_control(self, monkeypatch):
        monkeypatch.setattr(running, "trained", train_jobs.finished)
        state = State(small(n=10**8).setting)
        made, controls = Train(state), Controls(state)
        flaw = controls.dials["n"].whole[-1]
        assert flaw.visible and "at most 57\u202f692" in flaw.object
        assert made.button.label == f"Train with n = 57{THIN}692"
        made.press()
        assert state.n == 57_692 and made.found and not flaw.visible
        made.active = False
        assert not state.by_task and not state.flaws

    def test_batches_in_a_fixed_order_cannot_be_trained_and_their_menu_says_so(self):
        state = State(small(batch=100, sampling="cyclic").setting)
        made, panel = Train(state), Controls(state).__panel__()
        said = [str(pane.object) for pane in panel.select(pn.pane.HTML) if pane.visible]
        assert sum("draw every batch anew" in each for each in said) == 1
        assert made.button.label == "Train with batches drawn afresh"

    def test_the_controls_say_what_the_task_sets(self):
        state = State(small().setting)
        controls = Controls(state)
        made = Train(state)
        assert "logistic loss, a ridge" in controls.by_task.object and controls.by_task.visible
        assert controls.fields["M"].disabled and not controls.fields["ridge"].disabled
        made.active = False
        assert not controls.by_task.visible and not controls.fields["M"].disabled

    def test_without_torch_it_says_what_to_install(self, monkeypatch):
        monkeypatch.setattr(tab, "missing", lambda: ("PyTorch",))
        made = Train(State(small().setting))
        assert (
            made.button.disabled
            and made.button.label == "Needs PyTorch"
            and "pip install" in made.said.object
        )


def test_an_earlier_run_is_named_by_at_most_two_fields():
    run = DEMONSTRATION
    assert difference(run.replace(K=26), run) == "dashed: trained before, with K = 26"
    assert (
        difference(run.replace(K=26, n=500), run) == "dashed: trained before, with n = 500, K = 26"
    )
    assert (
        difference(run.replace(K=26, n=500, T=3), run)
        == "dashed: trained before"
        == difference(run, run)
    )


def test_asleep_it_draws_nothing():
    made = Train(State(small().setting), active=False)
    assert not made.growing.picture
    made.active = True
    assert dots(made, "every")


def test_it_renders_alone():
    assert pn.panel(Train(State(small().setting))).get_root() is not None


def test_the_page_does_not_wait_for_torch():
    code = "import sys; from zoexplore.views import Train; print(Train().asked().task.name, 'torch' in sys.modules)"
    found = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        env=dict(os.environ),
    )
    assert found.stdout.split() == ["overlap", "False"]
