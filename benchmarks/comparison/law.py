"""Simulates runs of linear models in law: many settings side by side, without drawing a direction.

Let U be K uniform orthonormal directions in dimension d and v a vector that does not depend on
them. Then UU'v = sqrt(b) |v| e, where b ~ Beta(K/2, (d - K)/2), e = sqrt(b) v/|v| + sqrt(1 - b) h,
and h is a uniform unit vector orthogonal to v. Noise along U is a normal number along e and,
orthogonal to v and h, a uniform direction of chi length with K - 1 degrees of freedom. So a step
costs what a gradient costs, whatever K is, and its law is the mechanism's. One thing is not exact:
a record's K derivatives, which are clipped together, count as having sqrt(K/d) times the length of
the record's gradient, which is the root mean square. For K = 1 and K = d nothing is approximated.

Independent directions, normal with variance 1/d, have an equally simple law: with a = U'v the step
is U(a + g) = (a . (a + g)) v/|v|^2 + |a + g| x, where x is normal with variance 1/d and orthogonal
to v.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import hypot, inf, sqrt
from typing import Any

import numpy as np
import torch
from torch import Tensor

from benchmarks.comparison.choices import Choice
from zoexplore.mechanism.noise import deviations
from zoexplore.training.data import HELD_OUT, Data
from zoexplore.training.models import MODELS

BLOCK = 300_000  # how many derivatives with respect to scores are computed at once


@dataclass(frozen=True)
class Run:
    """A setting with its noise.

    Args:
        choice: the setting.
        z: the noise multiplier, as in `Setting.noise_multiplier`; 0 without noise.
        independent: whether directions are independent and normal instead of orthonormal.
        fold: the split of the training records on whose larger part the run trains; on all records
            if None.
    """

    choice: Choice
    z: float
    independent: bool = False
    fold: int | None = None

    @property
    def along_one(self) -> bool:
        """Whether there is one direction, along which each record's own derivative is clipped."""
        return self.choice.K == 1 and not self.independent


@dataclass
class End:
    """Where runs ended: the last parameters, and their average over the last half of the steps,
    each of shape (runs, d).
    """

    last: Tensor
    average: Tensor


@torch.inference_mode()
def ended(
    data: Data,
    runs: Sequence[Run],
    seed: int,
    *,
    ridge: float = 0.0,
    R: float = inf,
    dtype: torch.dtype = torch.float32,
    common: bool = False,
) -> End:
    """Train all runs side by side. Each has directions and noise of its own; runs with the same
    batch size share batches.

    Args:
        data: the data to train on. Two classes have a logistic loss, more classes a softmax loss.
        runs: the runs to train.
        seed: the seed of everything random.
        ridge: the ridge of runs whose choice sets none.
        R: the radius of the ball onto which the iterates of runs with noise are projected, unless
            their choice sets one.
        dtype: the dtype of all numbers.
        common: whether steps along one direction take the same direction in all runs. This keeps
            the law of each run, and takes half the time.
    """
    groups: dict[tuple[Any, ...], list[int]] = {}
    for i in sorted(range(len(runs)), key=lambda i: -runs[i].choice.T):
        groups.setdefault(
            (runs[i].choice.batch, runs[i].along_one, runs[i].independent, runs[i].fold is None), []
        ).append(i)
    ends = []
    for places in groups.values():
        state, done = _State(data, [runs[i] for i in places], seed, ridge, R, dtype), []
        while len(state.T):
            state.step(common)
            done += state.take()
        ends += list(zip(reversed(places), done, strict=True))
    found = [end for _, end in sorted(ends, key=lambda one: one[0])]
    return End(*(torch.stack([end[i] for end in found]) for i in range(2)))


def parted(n: int, fold: int) -> tuple[np.ndarray, np.ndarray]:
    """Split n training records: return the indices of those to train on, and of a fifth that is
    held out. Another `fold` holds out another fifth.
    """
    order, held = np.random.default_rng(fold).permutation(n), round(HELD_OUT * n)
    return order[held:], order[:held]


def accuracy(data: Data, w: Tensor) -> list[float]:
    """Return the accuracy of parameters of shape (runs, d) on the test records."""
    return _right(w, data.X_test, data.y_test).double().mean(1).tolist()


def validated(data: Data, runs: Sequence[Run], w: Tensor) -> list[float]:
    """Return the accuracy on those training records that each run's fold holds out."""
    right = _right(w, data.X, data.y).double()
    held_out = (parted(len(data.X), run.fold)[1] for run in runs if run.fold is not None)
    return [
        one[torch.from_numpy(places)].mean().item()
        for one, places in zip(right, held_out, strict=True)
    ]


def loss(data: Data, w: Tensor) -> list[float]:
    """Return the loss on the test records, without the ridge."""
    model = MODELS["logistic" if data.classes == 2 else "softmax"]
    return (
        model.losses(_scores(w, data.X_test), torch.from_numpy(data.y_test))
        .double()
        .mean(1)
        .tolist()
    )


def _right(w: Tensor, X: np.ndarray, y: np.ndarray) -> Tensor:
    """Return whether the predicted labels are right, shape (runs, records)."""
    z = _scores(w, X)
    return ((z[..., 0] > 0).long() if z.shape[-1] == 1 else z.argmax(-1)) == torch.from_numpy(y)


def _scores(w: Tensor, X: np.ndarray) -> Tensor:
    """Return the scores, shape (runs, records, c)."""
    rows = torch.from_numpy(X).to(w.dtype)
    return (rows @ w.view(-1, X.shape[1]).T).view(len(X), len(w), -1).transpose(0, 1)


class _State:
    """The state of runs between two steps; the runs with the most steps come first."""

    def __init__(
        self,
        data: Data,
        runs: Sequence[Run],
        seed: int,
        ridge: float,
        R: float,
        dtype: torch.dtype,
    ) -> None:
        seen = np.ones((len(runs), len(data.X)), bool)
        for i, run in enumerate(runs):
            if run.fold is not None:
                seen[i, parted(len(data.X), run.fold)[1]] = False
        used = seen.any(0)
        self.X, self.y = torch.from_numpy(data.X[used]).to(dtype), torch.from_numpy(data.y[used])
        self.seen, self.seen_by_all = (
            torch.from_numpy(seen[:, used]).to(dtype),
            bool(seen[:, used].all()),
        )
        self.length = self.X.norm(dim=1)
        self.c = 1 if data.classes == 2 else data.classes
        self.targets = (
            self.y[None].to(dtype)
            if self.c == 1
            else torch.nn.functional.one_hot(self.y).T.to(dtype).contiguous()
        )
        self.d = d = self.c * self.X.shape[1]
        self.random, self.generator = (
            np.random.default_rng(seed),
            torch.Generator().manual_seed(seed),
        )
        choices = [run.choice for run in runs]
        self.n, self.batch = int(seen[0].sum()), choices[0].batch
        self.count = self.batch or self.n
        self.one, self.independent = runs[0].along_one, runs[0].independent

        def column(values: list[float]) -> Tensor:
            return torch.tensor(values, dtype=torch.float64).to(dtype)

        self.T = torch.tensor([choice.T for choice in choices])
        self.K = torch.tensor([choice.K for choice in choices], dtype=torch.float64)
        self.rate = column([choice.rate for choice in choices])
        self.ridge = column([ridge if choice.ridge is None else choice.ridge for choice in choices])
        self.R = column(
            [inf if not run.z else R if run.choice.R is None else run.choice.R for run in runs]
        )
        self.clip = column(
            [run.choice.clip * (1 if self.one else sqrt(d / run.choice.K)) for run in runs]
        )
        spread = [_spread(run, d, self.count) for run in runs]
        self.along, self.across = (
            column([along for along, _ in spread]),
            column([across for _, across in spread]),
        )
        self.w, self.mean, self.t = (
            torch.zeros(len(runs), d, dtype=dtype),
            torch.zeros(len(runs), d, dtype=dtype),
            0,
        )

    def take(self) -> list[tuple[Tensor, Tensor]]:
        """Remove the runs that end here, and return their parameters and averages, the last run
        first.
        """
        over = int((self.T == self.t).sum())
        kept = len(self.T) - over
        taken = list(zip(self.w[kept:].flip(0), self.mean[kept:].flip(0), strict=True))
        if over:
            for name in (
                "T",
                "K",
                "rate",
                "ridge",
                "clip",
                "R",
                "along",
                "across",
                "seen",
                "w",
                "mean",
            ):
                setattr(self, name, getattr(self, name)[:kept])
        return taken

    def step(self, common: bool) -> None:
        """Make one step of every run; steps along one direction share it if it is `common`."""
        rows = None
        if self.batch is not None:
            rows = torch.from_numpy(
                np.flatnonzero(self.random.random(len(self.X)) < self.batch / self.n)
            )
        if self.one:
            moved = self._one(rows, common)
        else:
            v = self._gradient(rows) + self.ridge[:, None] * self.w
            moved = self._scattered(v) if self.independent else self._spanned(v)
        if self.across.any():
            moved = moved + self.across[:, None] * self._normal()
        self.w, self.t = self.w - moved, self.t + 1
        if self.R.isfinite().any():
            self.w *= (self.R / self.w.norm(dim=1)).clamp(max=1.0)[:, None]
        half = self.T // 2
        if self.t > half[-1]:
            self.mean = (
                self.mean
                + torch.where(self.t > half, 1.0 / (self.T - half), 0.0).to(self.w.dtype)[:, None]
                * self.w
            )

    def _normal(self) -> Tensor:
        return torch.randn(self.w.shape, generator=self.generator, dtype=self.w.dtype)

    def _residuals(self, rows: Tensor | None) -> Iterator[Any]:
        """Yield blocks of records: the features, their lengths, and the derivatives of the losses
        with respect to the scores, shape (runs, c, records).
        """
        C, block = len(self.w), max(1, BLOCK // (len(self.w) * self.c))
        everyone = torch.arange(len(self.X)) if rows is None else rows
        weights = self.w.view(C * self.c, -1)
        for start in range(0, len(everyone), block):
            part = slice(start, start + block) if rows is None else rows[start : start + block]
            X = self.X[part]
            z = (weights @ X.T).view(C, self.c, len(X))
            p = (z.sigmoid() if self.c == 1 else z.softmax(1)).sub_(self.targets[:, part])
            yield X, self.length[part], p if self.seen_by_all else p.mul_(self.seen[:, None, part])

    def _gradient(self, rows: Tensor | None) -> Tensor:
        """Return the mean of the clipped gradients, shape (runs, d)."""
        total = torch.zeros(len(self.w) * self.c, self.X.shape[1], dtype=self.w.dtype)
        for X, length, p in self._residuals(rows):
            seen = p.square().sum(1).sqrt_().mul_(length)
            p.mul_((self.clip[:, None] / seen).clamp_(max=1.0)[:, None])
            total += p.view(-1, len(X)) @ X
        return total.view(len(self.w), -1) / self.count

    def _one(self, rows: Tensor | None, common: bool) -> Tensor:
        """Return a step along one direction, which clips each record's derivative."""
        w = self.w[:1] if common else self.w
        u = torch.randn(w.shape, generator=self.generator, dtype=w.dtype)
        u /= u.norm(dim=1, keepdim=True)
        total, along = torch.zeros(len(self.w), dtype=u.dtype), u.view(len(u) * self.c, -1)
        for X, _, p in self._residuals(rows):
            slopes = p.mul_((along @ X.T).view(len(u), self.c, len(X))).sum(1)
            total += slopes.clamp_(-self.clip[:, None], self.clip[:, None]).sum(1)
        slope = total / self.count + self.ridge * (self.w * u).sum(1)
        return (self.rate * slope + self.along * self._number())[:, None] * u

    def _number(self) -> Tensor:
        return torch.randn(len(self.w), generator=self.generator, dtype=self.w.dtype)

    def _chi2(self, freedom: Tensor) -> Tensor:
        return torch.from_numpy(self.random.chisquare(np.maximum(freedom.numpy(), 1e-9)))

    def _spanned(self, v: Tensor) -> Tensor:
        """Return rate UU'v plus the noise along U, for orthonormal U."""
        size = v.norm(dim=1, keepdim=True)
        unit = v / size.clamp(min=1e-30)
        x, y = self._normal(), self._normal()
        x -= (x * unit).sum(1, keepdim=True) * unit
        x /= x.norm(dim=1, keepdim=True)
        y -= (y * unit).sum(1, keepdim=True) * unit
        y -= (y * x).sum(1, keepdim=True) * x
        y /= y.norm(dim=1, keepdim=True)
        inside = self._chi2(self.K)
        b = (inside / (inside + self._chi2(self.d - self.K))).to(v.dtype)[:, None]
        one = self._number()[:, None]
        others = self._chi2(self.K - 1 - (self.K == self.d).double()).sqrt().to(v.dtype)[:, None]
        seen = b.sqrt() * size * self.rate[:, None] + self.along[:, None] * one
        everywhere = (self.K == self.d) * self.along * self._number()  # all directions: along x too
        moved = seen * (b.sqrt() * unit + (1 - b).sqrt() * x)
        found: Tensor = moved + self.along[:, None] * others * y + everywhere[:, None] * x
        return found

    def _scattered(self, v: Tensor) -> Tensor:
        """Return rate UU'v plus the noise along U, for independent directions."""
        size = v.norm(dim=1, keepdim=True)
        unit = v / size.clamp(min=1e-30)
        a = (self._chi2(self.K).sqrt() / sqrt(self.d)).to(v.dtype)[:, None] * size
        one = self._number()[:, None]
        others = self._chi2(self.K - 1).to(v.dtype)[:, None]
        noise = self.along[:, None]
        along_a = self.rate[:, None] * a + noise * one
        length = (along_a.square() + noise.square() * others).sqrt()
        x = self._normal()
        x -= (x * unit).sum(1, keepdim=True) * unit
        found: Tensor = a * along_a / size.clamp(min=1e-30) * unit + length / sqrt(self.d) * x
        return found


def _spread(run: Run, d: int, count: int) -> tuple[float, float]:
    """Return (along, across), two standard deviations of a step's noise: along each direction,
    without the noise in every coordinate, and in every coordinate.
    """
    choice = run.choice
    if not run.z:
        return 0.0, 0.0
    whole = choice.rate * run.z * choice.clip / count  # both noises together, along a direction
    if choice.K == d:
        return whole, 0.0
    along, across = deviations(1.0, choice.beta, 1.0, d, choice.K)
    return whole * along / hypot(along, across), whole * across / hypot(along, across)
