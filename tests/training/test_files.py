"""What is loaded equals what was saved; what was damaged is told."""

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
from zoexplore.training.frontier_files import frame, from_csv, from_json, from_parquet, to_csv, to_json, to_parquet

FORMATS = {"csv": (lambda f: to_csv(f).encode(), from_csv), "parquet": (to_parquet, from_parquet)}
FORMATS["json"] = (lambda f: to_json(f).encode(), from_json)


@pytest.fixture(scope="module")
def found():
    accounting = Accounting(conversion="cks", sensitivity="lipschitz")
    return frontier(task=small_task("softmax", R=float("inf")), methods=list(METHODS), seeds=(5, 2), T=4, accounting=accounting)


@pytest.fixture(scope="module")
def saved(found):
    return {kind: write(found) for kind, (write, _) in FORMATS.items()}


@pytest.mark.parametrize("kind", FORMATS)
def test_what_is_loaded_equals_what_was_saved(kind, found, tmp_path):
    path = tmp_path / f"frontier.{kind}"
    save(found, path)
    again = load(path)
    assert again == found
    assert again.versions["torch"] and [p.seeds for p in again.points] == [(5, 2)] * len(again.points)


@pytest.mark.parametrize("kind", FORMATS)
def test_a_frontier_without_points(kind, found):
    write, read = FORMATS[kind]
    assert read(write(replace(found, points=()))) == replace(found, points=())


def test_columns_are_read_by_others(found, tmp_path):
    import csv

    import pyarrow.parquet as parquet

    save(found, tmp_path / "f.parquet")
    table = parquet.read_table(tmp_path / "f.parquet").to_pydict()
    rows = list(csv.DictReader(to_csv(found).splitlines()[1:]))
    assert len(rows) == len(table["step"]) == sum(len(p.seeds) * len(p.steps) for p in found.points)
    assert [float(r["epsilon composition"]) for r in rows] == table["epsilon composition"]
    first = found.points[0]
    assert float(rows[0]["accuracy"]) == first.accuracy[0][0] and int(rows[0]["seed"]) == 5


def test_pandas_has_a_row_for_each_seed_and_step_with_what_was_chosen(found):
    rows = frame(found)
    assert len(rows) == sum(len(p.seeds) * len(p.steps) for p in found.points)
    last = rows[(rows.method == "dpzero") & (rows.step == 4)].iloc[0]
    point = next(p for p in found.points if p.method == "dpzero")
    assert last.K == 1 and last.accuracy == point.accuracy[0][-1] and last["epsilon sharp"] == point.epsilon["sharp"]


def test_what_was_saved_before_a_bound_was_added_is_loaded_without_it(found):
    content = json.loads(to_json(found))
    for point in content["points"]:
        del point["epsilons"]["sharp"], point["reason"]["sharp"]
    content["digest"] = frontier_files._digest({name: value for name, value in content.items() if name != "digest"}, {})
    for again, point in zip(from_json(json.dumps(content)).points, found.points, strict=True):
        assert again.epsilon["sharp"] == inf and again.reason["sharp"] == frontier_files.NOT_YET
        assert again.epsilons["composition"] == point.epsilons["composition"]


@pytest.mark.parametrize("kind", FORMATS)
@examples(100)
@given(st.data())
def test_a_damaged_file_is_refused_or_says_the_same(kind, found, saved, data):
    content, (_, read) = bytearray(saved[kind]), FORMATS[kind]
    at = data.draw(st.integers(0, len(content) - 1))
    if data.draw(st.booleans()):
        content[at] = data.draw(st.integers(0, 255))
    else:
        del content[at:]
    try:
        again = read(bytes(content))
    except ValueError as error:
        assert str(error).startswith("this is no frontier saved as")
    else:
        assert again == found


@pytest.mark.parametrize("kind", FORMATS)
@examples(40)
@given(content=st.binary(max_size=200))
def test_any_bytes_are_refused(kind, content):
    with pytest.raises(ValueError, match="this is no frontier"):
        FORMATS[kind][1](content)


def test_what_is_not_there_is_named():
    with pytest.raises(ValueError, match=r"damaged: it has no 'kind'$"):
        from_json("{}")


@pytest.mark.parametrize("content", ["[]", "[1, 2]", "3", '"text"', "null", "true"])
def test_json_of_another_kind_is_refused_in_words(content):
    with pytest.raises(ValueError, match=r"damaged: it does not hold one object with a frontier's fields$"):
        from_json(content)


KINDS = [("points", 3), ("points", [[]]), ("points", ["text"]), ("accounting", []), ("versions", 1)]


@pytest.mark.parametrize("name, value", KINDS)
def test_what_a_field_of_another_kind_raises_is_told_in_words(found, name, value):
    content = json.loads(to_json(found)) | {name: value}
    content["digest"] = frontier_files._digest({key: value for key, value in content.items() if key != "digest"}, {})
    with pytest.raises(ValueError, match=r"damaged: a value in it is of another kind than a frontier's$"):
        from_json(json.dumps(content))


def test_a_first_line_of_csv_that_is_no_object_is_refused_in_words(found):
    _, _, rows = to_csv(found).partition("\n")
    with pytest.raises(ValueError, match=r"damaged: a value in it is of another kind than a frontier's$"):
        from_csv(f"# {frontier_files.KIND} []\n{rows}")


def test_rows_may_not_be_left_out_or_changed(found):
    lines = to_csv(found).splitlines(keepends=True)
    with pytest.raises(ValueError, match="rows"):
        from_csv("".join(lines[:5] + lines[6:]))
    cells = lines[2].split(",")
    cells[5] = "0.123"
    with pytest.raises(ValueError, match="changed since it was saved"):
        from_csv("".join([*lines[:2], ",".join(cells), *lines[3:]]))


def test_other_endings_are_refused(found, tmp_path):
    with pytest.raises(ValueError, match=r"file name = 'f.xlsx' is not allowed: give one that ends in .json, .csv or .parquet"):
        save(found, tmp_path / "f.xlsx")
