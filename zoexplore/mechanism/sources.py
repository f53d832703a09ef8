"""Sources of randomness: directions, noise, data order and initialisation each have a generator of their own.

The directions may become known after the run; the noise must not. So its seed is never made from the seed of the others: it
is drawn separately from the operating system, or given separately.
"""

import secrets
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from numbers import Integral
from typing import Any

import numpy as np
import torch
from torch import Tensor

Generator = np.random.Generator | torch.Generator

DEMONSTRATION = (
    "A demonstration: the noise comes from {origin}. Whoever learns that seed, or the generator's state, can subtract the noise. "
    "For a release use Sources.secure()."
)
SECURE = (
    "Noise and data order come from ChaCha20, keyed by the operating system. Not covered: the noise is made of floating-point "
    "numbers, whose gaps and lowest bits can tell neighbouring data sets apart (Mironov 2012, doi:10.1145/2382196.2382264); "
    "how long a step takes; a look into this process's memory."
)
REKEYED = "Noise and data order of a secure run go on with new keys; the old ones are never saved."


class Sources:
    """The generators of one run: `directions`, `noise`, `data`, `initialisation`. Without seeds, no run repeats another.

    Args:
        seed: of directions, data order and initialisation, each from a spawned seed of its own; drawn from the operating system
            where None.
        noise_seed: of the noise; drawn from the operating system where None. A run repeats only where both are given.
        device: where directions are drawn: on the CPU by NumPy, elsewhere by torch.

    Raises:
        ValueError: a seed is not a whole number from 0 on, or both are the same.
    """

    def __init__(self, seed: int | None = None, noise_seed: int | None = None, *, device: torch.device | str = "cpu") -> None:
        for name, value in (("seed", seed), ("noise_seed", noise_seed)):
            if value is not None and (isinstance(value, bool) or not isinstance(value, Integral) or value < 0):
                raise ValueError(f"{name} = {value!r} is not allowed: give a whole number from 0 on, or None")
        if noise_seed is not None and noise_seed == seed:
            raise ValueError(f"noise_seed = {noise_seed} is not allowed: the directions' seed must not reveal the noise")
        directions, data, initialisation = np.random.SeedSequence(seed).spawn(3)
        self.is_secure = False
        self.origin = "an ordinary generator" if noise_seed is None else f"an ordinary generator and the seed {noise_seed}"
        self.directions = _directions(directions, torch.device(device))
        self.data = _ordinary(data)
        self.initialisation = torch.Generator().manual_seed(_word(initialisation))
        self.noise = _ordinary(np.random.SeedSequence(noise_seed))

    @classmethod
    def secure(cls, *, device: torch.device | str = "cpu") -> "Sources":
        """For a release: noise and data order from ChaCha20 (20 rounds) keyed by the operating system. `says` names the limits.

        Raises:
            ImportError: randomgen is missing.
        """
        sources = cls(device=device)
        sources.is_secure = True
        sources.noise, sources.data = _chacha(), _chacha()
        return sources

    @property
    def says(self) -> str:
        """What a reader of the privacy report has to know about the noise."""
        return SECURE if self.is_secure else DEMONSTRATION.format(origin=self.origin)

    def state_dict(self) -> dict[str, Any]:
        """Where every generator stands; of a secure run only directions and initialisation, as its keys are never saved."""
        kept = ("directions", "initialisation") if self.is_secure else ("directions", "initialisation", "noise", "data")
        return {"is_secure": self.is_secure, "origin": self.origin, **{name: _state(getattr(self, name)) for name in kept}}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go on where `state` was taken. A secure run gets new keys for noise and data order, and warns of it.

        Raises:
            ValueError: one of the two is secure and the other is not, or directions were drawn on another kind of device.
        """
        if state["is_secure"] != self.is_secure:
            saved, own = ("Sources.secure()" if x else "seeds" for x in (state["is_secure"], self.is_secure))
            raise ValueError(f"the saved run drew from {saved}, this one draws from {own}: use the same")
        if isinstance(state["directions"], dict) != isinstance(self.directions, np.random.Generator):
            raise ValueError("the saved run drew its directions on another kind of device; give Sources the same device")
        for name in ("directions", "initialisation", "noise", "data"):
            if name in state:
                _restore(getattr(self, name), state[name])
        self.origin = state["origin"]
        if self.is_secure:
            self.noise, self.data = _chacha(), _chacha()
            warnings.warn(REKEYED, stacklevel=2)


@contextmanager
def untouched_on_error(generator: Generator) -> Iterator[None]:
    """What an error leaves undone has drawn nothing."""
    before = _state(generator)
    try:
        yield
    except BaseException:
        _restore(generator, before)
        raise


def normal(
    generator: Generator, shape: tuple[int, ...], *, dtype: torch.dtype = torch.float64, device: torch.device | str | None = None
) -> Tensor:
    """Independent standard normal numbers of a shape. NumPy's generators draw on the CPU, torch's on their own device."""
    if isinstance(generator, np.random.Generator):
        return torch.as_tensor(generator.standard_normal(shape)).to(device=device, dtype=dtype)
    return torch.randn(shape, generator=generator, dtype=dtype, device=generator.device).to(device=device)


def _directions(seed: np.random.SeedSequence, device: torch.device) -> Generator:
    return _ordinary(seed) if device.type == "cpu" else torch.Generator(device).manual_seed(_word(seed))


def _ordinary(seed: np.random.SeedSequence) -> np.random.Generator:
    return np.random.Generator(np.random.PCG64DXSM(seed))


def _chacha() -> np.random.Generator:
    try:
        from randomgen import ChaCha  # here, as only secure runs need it
    except ImportError as missing:
        raise ImportError("Sources.secure() draws from randomgen's ChaCha20: pip install 'zoexplore[train]'") from missing
    return np.random.Generator(ChaCha(key=secrets.randbits(256), rounds=20))


def _word(seed: np.random.SeedSequence) -> int:
    """What torch takes as a seed."""
    return int(seed.generate_state(1, np.uint64)[0] >> 1)


def _state(generator: Generator) -> Any:
    return generator.bit_generator.state if isinstance(generator, np.random.Generator) else generator.get_state()


def _restore(generator: Generator, state: Any) -> None:
    if isinstance(generator, np.random.Generator):
        generator.bit_generator.state = state
    else:
        generator.set_state(state)
