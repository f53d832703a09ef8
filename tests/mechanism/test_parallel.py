"""Several processes make the steps that one would, bit by bit, and send each other some numbers a
direction.
"""

from math import inf

import pytest
import torch

from tests import processes
from tests.mechanism import ranks

SCENARIOS = (
    "same",
    "scaled",
    "secure",
    "sent",
    "failing",
    "other",
    "unlike",
    "drifting",
    "attacked",
    "ending",
)


@pytest.fixture(scope="module")
def two(tmp_path_factory):
    """What each of two processes says of every scenario."""
    return processes.together(
        "tests.mechanism.ranks", 2, tmp_path_factory.mktemp("ranks"), *SCENARIOS
    )


def alone(kind=torch.float32):
    return ranks.outcome(ranks.train(ranks.made(kind=kind)))


def test_two_processes_make_the_steps_of_one_bit_for_bit_and_report_the_same(two):
    expected = [alone(kind) for kind in (torch.float32, torch.bfloat16)]
    found = {rank: said["same"] for rank, said in two.items()}
    assert found[0] == found[1] == expected


def test_they_find_the_scale_that_one_finds(two):
    alone = ranks.scaled(None)
    assert two[0]["scaled"] == two[1]["scaled"] == alone and alone[3] <= 2


def test_secure_noise_is_the_first_s_alone_and_another_each_time(two):
    found = {rank: said["secure"] for rank, said in two.items()}
    assert found[0] == found[1] and found[0][0] != found[0][1]


def test_what_is_sent_depends_on_records_and_directions_and_not_on_the_dimension(two):
    found = {rank: said["sent"] for rank, said in two.items()}
    assert found[0] == found[1]
    small, large, more = found[0].values()
    agreed, counts, quotients, along, key, checksum = 2, 5, 6 * 3, 3, 4, 1
    assert small == large == 8 * (agreed + counts + quotients + along + key + checksum)
    assert more == large + 8 * 2 * (6 + 1)


def test_one_that_fails_is_reported_to_all_and_they_go_on_together(two):
    found = {rank: said["failing"] for rank, said in two.items()}
    assert found[1][0] == "MemoryError: no memory here"
    assert found[0][0].startswith(
        "RuntimeError: process 1 of this run failed, and no step was made in any"
    )
    for said in found.values():
        assert said[1] == 2 and said[2] == alone()[0]


def test_one_that_drifts_is_named_and_nothing_is_reported(two):
    for said, epsilon in (found["drifting"] for found in two.values()):
        assert (
            "process 1 of this run has drifted from process 0, in its parameters after a step"
            in said
            and epsilon == inf
        )


def test_one_with_other_arguments_is_refused(two):
    assert all(
        "process 1 of this run has drifted from process 0, in its arguments" in found["other"]
        for found in two.values()
    )


def test_one_with_sources_of_another_kind_is_refused_in_words(two):
    assert all(
        "from process 0, in the kind of its sources" in found["unlike"] for found in two.values()
    )


def test_one_that_ends_is_missed(two):
    said, steps = two[0]["ending"]
    assert (
        said.startswith(
            "another process of this run has ended, or does not answer: start all of them again"
        )
        and steps == 2
    )


OWN, DRIFTED = "a loss must depend on its own record alone", "has drifted from process 0"
# What the last of two processes is attacked with, and says then; steps made; whether the report is
# of no use.
ATTACKS = {
    "losses less their mean": (OWN, 0, False),
    "a hook that mixes": (OWN, 2, False),
    "a loss that begins to mix": (OWN, 3, True),
    "a frozen part": ("which this run does not train, changed since it began", 2, True),
    "somebody else's step": ("changed since the last step, and not by this run", 2, True),
    "a loss that moves the model": ("moved its own parameters while losses were computed", 2, True),
    "another learning rate": (DRIFTED, 2, False),
    "a state of fewer steps": (DRIFTED, 2, False),
    "probes of another run": (DRIFTED, 5, False),
    "records in another order": (DRIFTED, 2, False),
    "autocast": ("a step under autocast is not allowed", 2, False),
}


@pytest.mark.parametrize("attack", ATTACKS)
def test_what_one_process_is_attacked_with_ends_the_step_in_all(two, attack):
    words, steps, useless = ATTACKS[attack]
    (there, *first), (here, *last) = (two[rank]["attacked"][attack] for rank in (0, 1))
    assert (
        words in here
        and (DRIFTED if words == DRIFTED else "process 1 of this run failed, and no step was made")
        in there
    )
    assert last[1] == useless == first[1] and (
        last[0] == steps == first[0] or attack == "a state of fewer steps"
    )


def test_so_does_what_all_are_attacked_with_and_a_second_optimiser(two):
    for said in (found["attacked"] for found in two.values()):
        error, steps, useless = said["everywhere"]
        assert OWN in error and steps == 0 and not useless
    (there, *first), (here, *last) = (
        two[rank]["attacked"]["a second optimiser"] for rank in (0, 1)
    )
    assert (
        "another NoisyZOGD has moved" in here
        and "process 1 of this run failed" in there
        and (first[0], last[0]) == (2, 0)
    )


@pytest.mark.proof
@pytest.mark.parametrize("count", [2, 4])
def test_so_do_those_that_torchrun_starts(count, tmp_path):
    expected = [alone(kind) for kind in (torch.float32, torch.bfloat16)]
    found = processes.together("tests.mechanism.ranks", count, tmp_path, "same", launcher=True)
    assert len(found) == count and all(said["same"] == expected for said in found.values())
