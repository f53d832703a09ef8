"""Four generators that share nothing, repeat on demand, and never give the noise away."""

import copy
import io
import os
import pickle

import numpy as np
import pytest
import torch
from scipy import stats

from tests.mechanism.problems import (
    FREE,
    optimiser,
    run,
)
from zoexplore.mechanism import Sources
from zoexplore.mechanism.rng import normal, untouched_on_error


def numbers(sources):
    return {
        name: normal(getattr(sources, name), (6,)).tolist() for name in ("directions", "noise")
    } | {"data": sources.data.random(6).tolist()}


def test_both_seeds_repeat_a_run():
    assert numbers(Sources(3, 4)) == numbers(Sources(3, 4))


def test_the_directions_seed_does_not_fix_the_noise():
    one, other = numbers(Sources(3)), numbers(Sources(3))
    assert one["noise"] != other["noise"]
    assert {k: v for k, v in one.items() if k != "noise"} == {
        k: v for k, v in other.items() if k != "noise"
    }


def test_the_noise_seed_fixes_nothing_but_the_noise():
    one, other = numbers(Sources(3, 4)), numbers(Sources(5, 4))
    assert [name for name in one if one[name] == other[name]] == ["noise"]


def test_without_seeds_nothing_repeats():
    one, other = numbers(Sources()), numbers(Sources())
    assert all(one[name] != other[name] for name in one)


def test_the_generators_are_unrelated():
    sources = Sources(3, 4)
    generators = (sources.directions, sources.noise, sources.data)
    drawn = np.array([normal(generator, (20_000,)).numpy() for generator in generators])
    assert np.abs(np.corrcoef(drawn) - np.eye(3)).max() < 5 / 20_000**0.5


@pytest.mark.parametrize("seeds", [(-1, 2), (1, "x"), (1, True), (0.5, 1)])
def test_what_is_no_seed_is_refused(seeds):
    with pytest.raises(ValueError, match="is not allowed: give a whole number from 0 on, or None"):
        Sources(*seeds)


def test_the_noise_must_not_have_the_directions_seed():
    with pytest.raises(ValueError, match="the directions' seed must not reveal the noise"):
        Sources(7, 7)


def test_state_goes_on_where_it_was_taken():
    sources = Sources(3, 4)
    numbers(sources)
    assert numbers(Sources(5, 6).gone_on(sources.state_dict())) == numbers(sources)


def test_secure_noise_comes_from_chacha_with_a_new_key_each_time():
    one, other = Sources.secure(), Sources.secure()
    for sources in (one, other):
        for generator in (sources.noise, sources.data):
            state = generator.bit_generator.state
            assert state["bit_generator"].endswith("ChaCha")
            assert state["state"]["rounds"] == 20
    assert numbers(one)["noise"] != numbers(other)["noise"]
    drawn = normal(one.noise, (50_000,))
    assert abs(float(drawn.mean())) < 5 / 50_000**0.5
    assert abs(float(drawn.var()) - 1) < 0.05


def test_a_secure_run_never_saves_its_keys_and_takes_new_ones():
    sources = Sources.secure()
    state = sources.state_dict()
    assert [*state["states"]] == ["directions"]
    before, directions = numbers(sources)["noise"], sources.directions.bit_generator.state
    assert numbers(sources.gone_on(state))["noise"] != before
    assert state["states"]["directions"] != directions


def test_secure_and_seeded_runs_do_not_mix():
    with pytest.raises(
        ValueError,
        match="the saved run drew from seeds, and this one does not",
    ):
        Sources.secure().gone_on(Sources(1, 2).state_dict())


def test_what_is_said_names_demonstrations_and_limits():
    assert (
        "A demonstration: the noise comes from an ordinary generator and the seed 4"
        in Sources(3, 4).description
    )
    assert "A demonstration" in Sources().description
    assert "ChaCha20" in Sources.secure().description
    assert "Mironov 2012" in Sources.secure().description


def test_an_error_gives_back_what_was_drawn():
    generator = np.random.default_rng(0)
    with pytest.raises(KeyError), untouched_on_error(generator):
        first = normal(generator, (3,))
        raise KeyError
    assert torch.equal(normal(generator, (3,)), first)


@pytest.mark.parametrize("sources", [Sources(1, 2), Sources.secure()], ids=["seeded", "secure"])
def test_many_numbers_in_single_precision_are_normal_too(sources):
    drawn = normal(sources.noise, (300_001,), dtype=torch.float32)
    assert drawn.shape == (300_001,) and drawn.dtype == torch.float32
    assert stats.kstest(drawn.double(), "norm").pvalue > 1e-3
    half = len(drawn) // 2
    pairs = torch.stack([drawn[:half], drawn[half + 1 :]])
    assert abs(float(torch.corrcoef(pairs)[0, 1])) < 5 / half**0.5
    assert abs(float(torch.corrcoef(pairs.square())[0, 1])) < 5 / half**0.5


def test_numbers_have_the_wanted_kind():
    assert normal(np.random.default_rng(0), (2, 3), dtype=torch.float32).dtype == torch.float32
    assert normal(np.random.default_rng(0), (), dtype=torch.float64).shape == ()


class TestSecureSources:
    """Neither a copy nor a pickle leaks keys, nor draws the same noise again."""

    @staticmethod
    def copies(sources):
        file = io.BytesIO()
        torch.save(sources, file)
        file.seek(0)
        return [
            copy.deepcopy(sources),
            copy.copy(sources),
            pickle.loads(pickle.dumps(sources)),
            torch.load(file, weights_only=False),
        ]

    def test_copies_have_keys_of_their_own(self):
        sources = Sources.secure()
        before = sources.noise.bit_generator.state
        drawn = [normal(s.noise, (4,)).tolist() for s in self.copies(sources)]
        orders = [s.data.random(4).tolist() for s in self.copies(sources)]
        assert len({tuple(x) for x in (*drawn, normal(sources.noise, (4,)).tolist())}) == 5
        assert len({tuple(x) for x in (*orders, sources.data.random(4).tolist())}) == 5
        assert before["bit_generator"].endswith("ChaCha")

    def test_keys_are_in_no_pickle(self):
        sources = Sources.secure()
        key = (
            sources.noise.bit_generator.state["state"]["keysetup"]
            if "keysetup" in sources.noise.bit_generator.state["state"]
            else None
        )
        written = pickle.dumps(sources)
        assert b"ChaCha" not in written
        assert key is None or bytes(key) not in written

    def test_an_optimisers_copy_draws_other_noise(self):
        made = run(optimiser(FREE, sources=Sources.secure()), 1)
        twin = copy.deepcopy(made)
        assert torch.equal(twin.w, made.w)
        assert not torch.equal(run(twin, 1).w, run(made, 1).w)

    def test_a_forked_process_draws_other_noise(self):
        sources = Sources.secure()
        out, into = os.pipe()
        child = os.fork()
        if child == 0:
            os.write(into, repr(sources.noise.random(3).tolist()).encode())
            os._exit(0)
        os.waitpid(child, 0)
        assert os.read(out, 1000).decode() != repr(sources.noise.random(3).tolist())

    def test_seeds_repeat_in_a_copy_as_they_are_meant_to(self):
        sources = Sources(1, 2)
        assert torch.equal(normal(copy.deepcopy(sources).noise, (4,)), normal(sources.noise, (4,)))
