"""One visitor does not hold the places where runs are trained: a run ends in time. They wait by address, in tests/compute."""

from types import SimpleNamespace

import panel as pn
import pytest

from zoexplore import Accounting
from zoexplore.compute.limits import RUN_SECONDS, RUN_STEPS
from zoexplore.run.formatting import format_count
from zoexplore.training import TASKS
from zoexplore.views.training import running as allowance
from zoexplore.views.training.jobs import Asked, trained


def asked(**changes):
    values = {"methods": ("noisy-zogd",), "sigmas": (0.1,), "K": 4, "beta": 0.5, "T": 10, "seeds": 2, "delta": 1e-5}
    return Asked(task=TASKS["mixture"], accounting=Accounting(), **(values | changes))


def test_too_many_steps_are_refused(monkeypatch):
    monkeypatch.setattr(type(pn.state), "curdoc", SimpleNamespace(session_context=object()))
    with pytest.raises(ValueError, match=f"at most {format_count(RUN_STEPS.value)}"):
        allowance.granted(asked(T=10**9, seeds=50))
    assert allowance.granted(asked()).seconds == RUN_SECONDS.value


def test_a_notebook_trains_what_it_likes(monkeypatch):
    monkeypatch.setattr(type(pn.state), "curdoc", None)
    assert allowance.granted(asked(T=10**9)).T == 10**9


@pytest.mark.proof
def test_a_run_is_ended_after_its_time():
    # the first report of a short run may be that it has finished
    long = asked(T=100_000, seeds=3, seconds=0.001)
    with pytest.raises(ValueError, match=r"ended after 0.001 s"):
        list(trained(long))
