"""All of a batch belongs to its records, one each, which come in the order that was drawn."""

from dataclasses import dataclass
from math import inf

import pytest
import torch
from torch import nn

from tests.mechanism.problems import (
    FREE,
    classes,
    data,
    network,
    optimiser,
    over,
    run,
    says_nothing,
)
from zoexplore.mechanism import Batch


class Extra(nn.Linear):
    """Looks at something beside its records."""

    def forward(self, X, extra):
        return super().forward(X) * sum(extra)


@dataclass
class Graph:
    """Of a kind that nobody can cut into records."""

    X: torch.Tensor


class TestBatches:
    """All of a batch belongs to its records, one each."""

    @pytest.mark.parametrize(
        "extra",
        [[1.0] * 24, ["a"] * 24, 3.0, Graph(torch.ones(24))],
        ids=lambda x: type(x).__name__,
    )
    def test_what_is_not_a_tensor_would_be_every_records(self, extra):
        """A list of numbers would reach the model whole, with every part of the batch."""
        X, y = classes()
        made = over(Extra(6, 3, dtype=torch.float64))
        with pytest.raises(ValueError, match=r"a batch of .* is not allowed: give tensors"):
            run(made, 1, ((X, extra), y))

    def test_entries_that_are_nothing_are_fine(self):
        X, y = classes()

        class Optional(nn.Linear):
            def forward(self, X, mask=None):
                assert mask is None
                return super().forward(X)

        assert run(over(Optional(6, 3, dtype=torch.float64)), 2, ((X, None), y)).steps == 2

    def test_strings_of_a_data_set(self):
        X, y = classes()
        with pytest.raises(ValueError, match="a batch of str is not allowed"):
            run(over(network()), 1, [(x, "words", c) for x, c in zip(X, y, strict=True)])

    @pytest.mark.parametrize(
        "change", [lambda x: x[:-1], lambda x: x.repeat(2, 1), lambda x: x[None], lambda x: x[0, 0]]
    )
    def test_more_or_fewer_records_than_were_drawn(self, change):
        made = over(network())
        batch = made.batch(classes())
        with pytest.raises(ValueError, match="give 24 records in the first dimension"):
            made.step(Batch(batch.records, (change(batch.data[0]), batch.data[1])))

    def test_a_data_set_that_grows(self):
        X, y = data(30)
        rows = list(zip(X[:24], y[:24], strict=True))
        made = run(optimiser(FREE.replace(batch=4)), 1, rows)
        rows.append((X[24], y[24]))
        with pytest.raises(
            ValueError, match="a data set of 25 records is not allowed: give one of n = 24"
        ):
            run(made, 1, rows)


class TestData:
    CYCLIC = FREE.replace(batch=6, sampling="cyclic")

    def test_an_order_that_changes_between_two_passes_is_found(self):
        X, y = data()
        made = optimiser(self.CYCLIC)
        run(made, 4, (X, y))
        assert made.privacy_report().epsilon < inf
        run(made, 1, (X.flip(0), y.flip(0)))
        assert says_nothing(
            made,
            "at step 5 record 0 came as another one had come before: the order of the data changed",
        )

    def test_a_batch_made_by_hand_of_others_is_found_as_well(self):
        X, y = data()
        made = run(optimiser(self.CYCLIC), 4, (X, y))
        batch = made.batch((X, y))
        made.step(Batch(batch.records, (X[6:12], y[6:12])))
        assert says_nothing(made, "came as another one had come before")

    def test_where_batches_are_drawn_the_order_does_not_matter(self):
        X, y = data()
        made = run(optimiser(FREE.replace(batch=6)), 4, (X, y))
        run(made, 2, (X.flip(0), y.flip(0)))
        assert made.privacy_report().epsilon < inf
