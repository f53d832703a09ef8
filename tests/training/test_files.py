"""What is loaded equals what was saved; what is none is refused."""

import csv
import json
from dataclasses import replace
from math import inf

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.effort import examples
from tests.training.small import small_task
from zoexplore import Accounting
from zoexplore.training import METHODS, frontier, frontier_files, load, save
from zoexplore.training.frontier_files import from_json, to_csv, to_json


@pytest.fixture(scope="module")
def found():
    accounting = Accounting(conversion="cks", sensitivity="least")
    return frontier(
        task=small_task("softmax", R=float("inf")),
        methods=list(METHODS),
        seeds=(5, 2),
        T=4,
        accounting=accounting,
    )


def test_what_is_loaded_equals_what_was_saved(found, tmp_path):
    path = tmp_path / "frontier.json"
    save(found, path)
    again = load(path)
    assert again == found
    assert again.versions["torch"] and [p.seeds for p in again.points] == [(5, 2)] * len(
        again.points
    )


def test_a_frontier_without_points(found):
    empty = replace(found, points=())
    assert from_json(to_json(empty)) == empty
    assert to_csv(empty).count("\n") == 1


def test_rows_are_read_by_others(found, tmp_path):
    save(found, tmp_path / "f.csv")
    rows = list(csv.DictReader((tmp_path / "f.csv").read_text().splitlines()))
    assert len(rows) == sum(len(p.seeds) * len(p.steps) for p in found.points)
    last = next(row for row in rows if row["method"] == "dpzero" and row["step"] == "4")
    point = next(p for p in found.points if p.method == "dpzero")
    assert (
        float(last["accuracy"]) == point.accuracy[0][-1]
        and float(last["epsilon sharp"]) == point.epsilon["sharp"]
    )
    first = found.points[0]
    assert float(rows[0]["accuracy"]) == first.accuracy[0][0] and int(rows[0]["seed"]) == 5


def test_what_was_saved_before_a_bound_was_added_is_loaded_without_it(found):
    content = json.loads(to_json(found))
    for point in content["points"]:
        del point["epsilons"]["sharp"], point["reason"]["sharp"]
    for again, point in zip(from_json(json.dumps(content)).points, found.points, strict=True):
        assert again.epsilon["sharp"] == inf and again.reason["sharp"] == frontier_files.NOT_YET
        assert again.epsilons["composition"] == point.epsilons["composition"]


@examples(40)
@given(content=st.binary(max_size=200))
def test_any_bytes_are_refused(content):
    with pytest.raises(ValueError, match="this is no frontier"):
        from_json(content)


@pytest.mark.parametrize(
    "content", ["{}", "[]", "[1, 2]", "3", '"text"', "null", "true", "[" * 100_000]
)
def test_json_of_another_kind_is_refused_in_words(content):
    with pytest.raises(ValueError, match="this is no frontier saved as JSON, or it is damaged: "):
        from_json(content)


def test_other_endings_are_refused(found, tmp_path):
    with pytest.raises(
        ValueError,
        match=r"file name = 'f.xlsx' is not allowed: give one that ends in .json or .csv",
    ):
        save(found, tmp_path / "f.xlsx")
