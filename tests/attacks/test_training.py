"""One visitor does not hold the places where runs are trained: a run ends in time. They wait by
address, in tests/compute.
"""

from types import SimpleNamespace
from unittest.mock import Mock

import panel as pn
import pytest

from tests.views.train_jobs import small
from zoexplore.compute.limits import RUN_SECONDS, RUN_STEPS
from zoexplore.run.formatting import format_count
from zoexplore.views.training import running
from zoexplore.views.training.jobs import SCALES, SEEDS, obstacle


@pytest.fixture
def session(monkeypatch):
    """A reader of a served page."""
    monkeypatch.setattr(
        type(pn.state), "curdoc", Mock(session_context=SimpleNamespace(request=None))
    )


def test_too_many_steps_are_refused_on_a_server(session):
    long = small().setting.replace(T=10**9)
    found = obstacle(long, running.most_steps())
    assert found.field == "T" and found.value * len(SCALES) * SEEDS <= RUN_STEPS.value
    assert f"at most {format_count(found.value)}" in found.why


def test_a_notebook_trains_what_it_likes():
    assert obstacle(small().setting.replace(T=10**9), running.most_steps()) is None


def test_a_run_on_a_server_has_a_time_limit(session, monkeypatch):
    seen = []

    class Work:
        def __init__(self, job, asked, known):
            seen.append(asked.seconds)
            raise RuntimeError("not now")

    monkeypatch.setattr(running, "LongWork", Work)
    running.Running(lambda: None).begin(small())
    assert seen == [RUN_SECONDS.value]
