"""Frozen parts are hashed when losses are checked, saved or reported, and told by torch's count of
writes at every other step.
"""

from math import inf

import pytest
import torch

from tests.mechanism.problems import classes, network, over, run
from zoexplore.mechanism import checksums
from zoexplore.mechanism.checksums import Changed


def partly_frozen():
    module = network()
    module[0].requires_grad_(False)
    return module, run(over(module, T=16), 2, classes())


def test_a_step_without_a_check_hashes_what_is_trained_alone(monkeypatch):
    _, made = partly_frozen()
    hashed, known = [], checksums.bits
    monkeypatch.setattr(
        checksums, "bits", lambda tensors: hashed.append([*tensors]) or known(tensors)
    )
    run(made, 1, classes())
    assert hashed and all("0.weight" not in names for names in hashed)
    run(made, 1, classes())  # the fourth, at which losses are checked
    assert any("0.weight" in names for names in hashed)


def test_a_write_that_is_counted_is_found_at_the_next_step():
    module, made = partly_frozen()
    with torch.no_grad():
        module[0].weight.add_(1e-9)
    with pytest.raises(Changed, match=r"'0\.weight', which this run does not train, changed"):
        run(made, 1, classes())
    assert made.privacy_report().epsilon == inf


@pytest.mark.parametrize("find", ["report", "state", "check"])
def test_one_that_is_not_is_found_where_anything_is_to_be_relied_on(find):
    module, made = partly_frozen()
    module[0].weight.data[0] += 1e-9
    run(made, 1, classes())
    if find == "check":
        with pytest.raises(Changed, match=r"'0\.weight', which this run does not train"):
            run(made, 1, classes())
    elif find == "state":
        module[3].load_state_dict(module[3].state_dict())
        made.state_dict()
    assert made.privacy_report().epsilon == inf
