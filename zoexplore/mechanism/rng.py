"""Draws random numbers. Directions, noise and data order each have a generator of their own.

The directions may become known after the run; the noise must not. So the noise's seed is never made
from the other seed: it is drawn separately from the operating system, or given separately.
"""

import copy
import os
import secrets
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from numbers import Integral
from typing import Any

import numpy as np
import torch
from numpy.random import Generator
from torch import Tensor

DEMONSTRATION = (
    "A demonstration: the noise comes from {origin}. Whoever learns that seed, or the generator's state, can subtract the noise. "
    "For a release use Sources.secure()."
)
SECURE = (
    "Noise and data order come from ChaCha20 with keys from the operating system. Not covered: the noise is made of "
    "floating-point numbers, whose gaps and lowest bits can distinguish neighbouring data sets (Mironov 2012, "
    "doi:10.1145/2382196.2382264); how long a step takes; a look into this process's memory."
)
# how many forks led to this process; in a new namespace a fork may have its parent's pid
FORKS = [0]
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=lambda: FORKS.append(FORKS.pop() + 1))
REKEYED = "Noise and data order of a secure run go on with new keys; the old ones are never saved."


def process() -> tuple[int, int]:
    """Return what distinguishes this process from its forks, even those that Python misses."""
    return os.getpid(), FORKS[0]


class Sources:
    """The generators of one run: `directions`, `noise`, `data`. Without seeds, no run repeats
    another.

    Args:
        seed: the seed from which the seeds of directions and data order are spawned; drawn from the
            operating system if None.
        noise_seed: the seed of the noise; drawn from the operating system if None. A run repeats
            only if both seeds are given.

    Raises:
        ValueError: a seed is not a whole number from 0 on, or both seeds are the same.
    """

    def __init__(self, seed: int | None = None, noise_seed: int | None = None) -> None:
        for name, value in (("seed", seed), ("noise_seed", noise_seed)):
            if value is not None and (
                isinstance(value, bool) or not isinstance(value, Integral) or value < 0
            ):
                raise ValueError(
                    f"{name} = {value!r} is not allowed: give a whole number from 0 on, or None"
                )
        if noise_seed is not None and noise_seed == seed:
            raise ValueError(
                f"noise_seed = {noise_seed} is not allowed: the directions' seed must not reveal the noise"
            )
        directions, data = np.random.SeedSequence(seed).spawn(2)
        self.is_secure, self._process = False, process()
        self.origin = (
            "an ordinary generator"
            if noise_seed is None
            else f"an ordinary generator and the seed {noise_seed}"
        )
        self.directions, self._data, self._noise = (
            Generator(np.random.PCG64DXSM(each))
            for each in (directions, data, np.random.SeedSequence(noise_seed))
        )

    @classmethod
    def secure(cls) -> "Sources":
        """Make the sources for a release: noise and data order come from ChaCha20 (20 rounds) with
        keys from the operating system. `description` names the limits.

        Raises:
            ImportError: randomgen is missing.
        """
        sources = cls()
        sources.is_secure = True
        sources._take_new_keys()
        return sources

    @property
    def noise(self) -> Generator:
        """The generator of the noise."""
        self._leave_keys_to_the_parent()
        return self._noise

    @property
    def data(self) -> Generator:
        """The generator that draws batches."""
        self._leave_keys_to_the_parent()
        return self._data

    def keyed(self, words: Sequence[int]) -> Generator:
        """Make a generator of the noise's kind from a key of four 64-bit words."""
        if self.is_secure:
            return _chacha(sum(word << 64 * i for i, word in enumerate(words)))
        return Generator(np.random.SFC64(np.random.SeedSequence(list(words))))

    @property
    def _kept(self) -> tuple[str, ...]:
        return ("directions",) if self.is_secure else ("directions", "noise", "data")

    def states(self, *names: str) -> dict[str, Any]:
        """Return the states of these generators. A state must be kept as secret as the numbers
        that are drawn from it.
        """
        return {name: getattr(self, name).bit_generator.state for name in names}

    def restore(self, states: dict[str, Any]) -> None:
        """Continue from `states`."""
        for name, x in states.items():
            getattr(self, name).bit_generator.state = x

    def _take_new_keys(self) -> None:
        self._noise, self._data, self._process = _chacha(), _chacha(), process()

    def _leave_keys_to_the_parent(self) -> None:
        """Take new keys in a forked process, so that it draws other noise than its parent."""
        if self.is_secure and process() != self._process:
            self._take_new_keys()

    def __getstate__(self) -> dict[str, Any]:
        """Leave a secure run's keys out of pickles and copies, so that nobody else can draw its
        noise.
        """
        state = self.__dict__.copy()
        if self.is_secure:
            del state["_noise"], state["_data"]
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        if self.is_secure:
            self._take_new_keys()

    @property
    def description(self) -> str:
        """The source of the noise, in words for the privacy report."""
        return SECURE if self.is_secure else DEMONSTRATION.format(origin=self.origin)

    def state_dict(self) -> dict[str, Any]:
        """Return the state of every generator. A secure run has only the directions' state, since
        its keys are never saved.
        """
        states = self.states(*self._kept)
        return {"is_secure": self.is_secure, "origin": self.origin, "states": states}

    def gone_on(self, state: dict[str, Any]) -> "Sources":
        """Return sources that go on where `state` was taken. A secure run takes new keys for noise
        and data order.

        Raises:
            ValueError: only one of the state and these sources is secure.
        """
        if state["is_secure"] != self.is_secure:
            drew = "Sources.secure()" if state["is_secure"] else "seeds"
            raise ValueError(f"the saved run drew from {drew}, and this one does not: use the same")
        sources = copy.deepcopy(self)
        sources.restore({name: state["states"][name] for name in self._kept})
        sources.origin = state["origin"]
        return sources


@contextmanager
def untouched_on_error(generator: Generator) -> Iterator[None]:
    """Reset the generator if the block raises an error."""
    before = generator.bit_generator.state
    try:
        yield
    except BaseException:
        generator.bit_generator.state = before
        raise


def normal(
    generator: Generator,
    shape: tuple[int, ...],
    *,
    dtype: torch.dtype = torch.float64,
    device: torch.device | str | None = None,
) -> Tensor:
    """Draw independent standard normal numbers, in a tensor of shape `shape`."""
    return torch.as_tensor(generator.standard_normal(shape)).to(device=device, dtype=dtype)


class Replay:
    """A random unit vector, uniform on the sphere, any block of which can be regenerated.

    A vector of normal numbers divided by its length is uniform on the sphere. The lengths of its
    blocks, which are chi variables, are independent of the blocks' directions. So the lengths are
    drawn first, and every block is normalised separately. Each block has a seed of its own, so that
    layers may use their blocks in any order.

    Args:
        generator: the source of the seeds.
        sizes: how many numbers each block has.
        device: where torch makes the numbers.
    """

    def __init__(self, generator: Generator, sizes: Sequence[int], device: torch.device) -> None:
        seeds, lengths = np.random.SeedSequence(words(generator).tolist()).spawn(2)
        squares = Generator(np.random.SFC64(lengths)).chisquare(sizes)
        self.lengths = np.sqrt(squares / squares.sum()).tolist()
        self._seeds = seeds.generate_state(len(sizes)).tolist()
        self._source = torch.Generator(device)

    def fill(self, block: int, out: Tensor) -> Tensor:
        """Fill `out`, shape (numbers,), with block number `block`."""
        out.normal_(generator=self._source.manual_seed(self._seeds[block]))
        # unlike `vector_norm`, this is right to the last digits in single precision
        square: Tensor | float = torch.dot(out, out)
        # on a CPU a float is quicker than a tensor; on a GPU one would have to wait for the float
        if out.device.type == "cpu":
            square = float(square)
        return out.mul_(self.lengths[block] / (square + torch.finfo(out.dtype).tiny) ** 0.5)


def words(generator: Generator) -> np.ndarray:
    """Draw a seed of 256 bits."""
    return generator.integers(2**64, size=4, dtype=np.uint64)


def _chacha(key: int | None = None) -> Generator:
    """Make a ChaCha20 generator from a 256-bit key, drawn from the operating system if None."""
    try:
        from randomgen import ChaCha  # imported here, since only secure runs need it
    except ImportError as missing:
        raise ImportError(
            "Sources.secure() draws from randomgen's ChaCha20: pip install 'zoexplore[train]'"
        ) from missing
    return Generator(ChaCha(key=secrets.randbits(256) if key is None else key, rounds=20))
