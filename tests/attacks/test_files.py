"""Texts from strangers, and what is saved for spreadsheets: no bombs, no formulas."""

import pytest

from zoexplore import curve
from zoexplore.questions.export import from_yaml, to_csv
from zoexplore.run.presets import DEMONSTRATION
from zoexplore.run.reading import LARGEST_FILE
from zoexplore.run.setting import Accounting


def test_no_cell_of_the_curves_is_a_formula():
    columns = {"T": [1, 2], **curve(DEMONSTRATION, "T", [1, 2])}
    cells = [
        cell
        for line in to_csv(DEMONSTRATION, Accounting(), columns).splitlines()
        for cell in line.split(",")
    ]
    assert len(cells) > 30 and not any(
        cell.startswith(("=", "+", "-", "@", "\t")) for cell in cells
    )


@pytest.mark.parametrize(
    "yaml",
    [
        "a: &a [x, x]\nb: &b [*a, *a]\nc: [*b, *b]",
        "K: 1\n" * 3000,
        "[" * 5000,
        "? " * 5000,
        "K: !!python/name:os.system",
    ],
)
def test_no_yaml_takes_long(yaml):
    assert len(yaml) > LARGEST_FILE or not from_yaml(yaml).read or from_yaml(yaml).problems
