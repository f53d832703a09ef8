"""What default runs take, in processor time: it does not depend on who else computes, as long as
they leave the caches alone.
"""

from time import process_time

import pytest
import torch

from zoexplore.training import DEFAULT_METHODS, METHODS, plan_sweep

SIX = tuple(METHODS)


def seconds(methods, seeds):
    """Of all steps of a run on the default task, from the fastest of a few steps of each part; they
    all take alike.
    """
    total = 0.0
    torch.set_num_threads(1)
    for job in plan_sweep(methods=methods, seeds=seeds).jobs:
        state, taken = job.advance(None, 0.0), []  # which loads libraries and data
        for _ in range(4):
            began, before = process_time(), state.t
            state = job.advance(state, 0.1)
            taken.append((process_time() - began) / (state.t - before))
        total += min(taken) * job.T
    return total


@pytest.mark.proof
@pytest.mark.parametrize(
    "methods, seeds, most",
    [(DEFAULT_METHODS, 2, 20), (SIX, 3, 180)],
    ids=["a visitor's press", "six methods"],
)
def test_default_runs_train_in_the_time_that_is_said(methods, seeds, most):
    """On two quiet cores half of it: a press ends within 20 s, some 8 s of start-up included, six
    methods within two minutes.
    """
    assert seconds(methods, seeds) < most
