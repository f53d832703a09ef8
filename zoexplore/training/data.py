"""Data for the models: rows of unit length, labels from 0 on, and a held-out part that no training step sees."""

from dataclasses import dataclass

import numpy as np

HELD_OUT = 0.2  # share of the records
ROUNDING = 1e-12  # rounding error of a row's length


@dataclass(frozen=True, eq=False)
class Data:
    """Records to train on and records held out.

    Args:
        X: features, shape (n, f), float64, every row of length at most 1.
        y: labels, shape (n,), whole numbers from 0 to classes - 1.
        X_test, y_test: the same for the records that are held out.
        classes: the number of labels, at least 2.

    Raises:
        ValueError: a row is longer than 1 or not finite, or a label is not a whole number from 0 to classes - 1: the proofs for
            the losses would not hold.
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
                raise ValueError(f"{name} has a row of length {longest:.4g}: give rows of length at most 1, as unit_rows does")
        for name in ("y", "y_test"):
            labels = np.asarray(getattr(self, name))
            wrong = labels[~np.isin(labels, np.arange(self.classes))]
            if wrong.size:
                raise ValueError(
                    f"{name} has the label {wrong[0]}: give whole numbers from 0 to classes - 1 = {self.classes - 1}"
                )


def prepare(features: np.ndarray, labels: np.ndarray, classes: int, seed: int = 0, bias: bool = True) -> Data:
    """Rows scaled to unit length separately, so that replacing one record replaces one row; then split at random.

    Args:
        features: shape (records, f).
        labels: shape (records,), whole numbers from 0 to classes - 1.
        classes: the number of labels.
        seed: of the split.
        bias: whether to append a constant 1 to every row first.
    """
    if bias:
        features = np.column_stack([features, np.ones(len(features))])
    X, y = unit_rows(features), np.asarray(labels, np.int64)
    order = np.random.default_rng(seed).permutation(len(X))
    held = round(HELD_OUT * len(X))
    train, test = order[held:], order[:held]
    return Data(X[train], y[train], X[test], y[test], classes)


def unit_rows(X: np.ndarray) -> np.ndarray:
    """Every row divided by its length; zero rows stay zero."""
    X = np.asarray(X, np.float64)
    length = np.linalg.norm(X, axis=1, keepdims=True)
    return X / np.where(length > 0, length, 1.0)


def cosines(X: np.ndarray, count: int, width: float, seed: int = 0) -> np.ndarray:
    """Random cosine features cos(a . x + b) of unit rows, with a ~ N(0, width^2 I) and b uniform on [0, 2 pi).

    They approximate a Gaussian kernel (Rahimi, Recht 2007). a and b do not depend on any record, and each row is transformed by
    itself, so proofs for rows of unit length hold once the result is scaled.

    Args:
        X: shape (records, f).
        count: the number of features.
        width: of the frequencies.
        seed: of the frequencies; public.

    Returns:
        Shape (records, count).
    """
    rng = np.random.default_rng(seed)
    frequencies = rng.standard_normal((X.shape[1], count)) * width
    return np.cos(unit_rows(X) @ frequencies + rng.uniform(0, 2 * np.pi, count))
