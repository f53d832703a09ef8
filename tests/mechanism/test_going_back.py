"""Going back to an iterate that the run has saved costs no more than all steps so far, and no bound
that hides iterates.
"""

import copy
from math import inf

import pytest

from tests.mechanism.problems import classes, composed, learn, network, over, run


def gone_back(steps=3):
    """A run that saved a state after two steps, made more, and loaded the weights of then."""
    module = network()
    made = run(over(module), 2, classes())
    kept = copy.deepcopy(module.state_dict())
    made.state_dict(weights=False)
    run(made, steps, classes())
    module.load_state_dict(kept)
    return module, made


def test_it_costs_all_steps_so_far_and_is_no_last_iterate():
    _, made = gone_back()
    report = made.privacy_report()
    straight = run(over(network()), 5, classes()).privacy_report()
    assert (
        report.epsilon
        == report.guarantees["composition"].epsilon
        == straight.guarantees["composition"].epsilon
    )
    for bound in ("sharp", "theorem", "output-perturbation"):
        assert (
            report.guarantees[bound].epsilon == inf
            and "went back to an earlier iterate" in report.guarantees[bound].reason
        )


def test_steps_from_there_are_counted_on():
    """Adaptive composition: what a step begins with may be chosen by all before it."""
    _, made = gone_back()
    run(made, 1, classes())
    assert made.steps == 6 and made.privacy_report().epsilon == composed(
        run(over(network()), 6, classes())
    )


def test_a_resumed_run_knows_what_it_saved_before():
    module, made = gone_back(0)
    run(made, 1, classes())
    kept = copy.deepcopy(module.state_dict())
    state = made.state_dict()
    again = network()
    resumed = over(again)
    resumed.load_state_dict(state)
    run(resumed, 2, classes())
    again.load_state_dict(kept)
    assert resumed.privacy_report().epsilon < inf and resumed.record.returned


@pytest.mark.parametrize(
    "change", [learn, lambda module: module[0].weight.data.view(-1)[:1].mul_(1 + 2.0**-52)]
)
def test_anything_else_ends_the_guarantee(change):
    """The same weights but for one, or for a last digit; and weights of a step at which no state
    was saved.
    """
    module, made = gone_back()
    change(module)
    assert made.privacy_report().epsilon == inf
    module = network()
    made = run(over(module), 2, classes())
    between = copy.deepcopy(module.state_dict())
    run(made, 1, classes())
    module.load_state_dict(between)
    assert made.privacy_report().epsilon == inf
