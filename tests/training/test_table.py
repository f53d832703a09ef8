"""A user's table: what it becomes, and why it cannot be used."""

import pickle

import numpy as np
import pandas
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.effort import examples
from zoexplore.training import plan, table, train
from zoexplore.training.tables import CATEGORIES, FEWEST


def frame_of(count=60, labels=("no", "yes")):
    rng = np.random.default_rng(1)
    sick = np.arange(count) % len(labels)
    places = np.array(["north", "south", "west"])[rng.integers(0, 3, count)]
    ages = 3 * sick + rng.standard_normal(count)
    return pandas.DataFrame({"place": places, "age": ages, "sick": np.array(labels)[sick]})


def test_columns_categories_and_labels():
    task = table(frame_of())
    assert task.source.features.shape == (60, 4) and task.source.classes == ("no", "yes")
    assert task.source.labels.tolist() == [0, 1] * 30
    np.testing.assert_array_equal(task.source.features[:, :3].sum(axis=1), 1)
    assert CATEGORIES in task.supposed
    assert CATEGORIES not in table(frame_of()[["age", "sick"]]).supposed


def test_labels_that_are_numbers_go_by_size():
    assert table(frame_of(labels=(10, 9, -1))).source.classes == ("-1", "9", "10")
    assert table(frame_of(labels=(0.0, 1.0))).source.classes == ("0", "1")
    assert table(frame_of(labels=(False, True))).source.classes == ("False", "True")


def test_rows_end_up_with_unit_length_and_held_out_apart():
    task = table(frame_of(50)[["age", "sick"]])
    data = task.data
    np.testing.assert_allclose(np.linalg.norm(np.vstack([data.X, data.X_test]), axis=1), 1)
    assert len(data.X) == 40 and len(data.X_test) == 10 and task.d == 2
    assert task.supposed == ("the columns' ranges, which scale the features, are public",)


@pytest.mark.parametrize("labels, d", [(("a", "b"), 5), (("a", "b", "c"), 15)])
def test_it_trains_and_what_is_supposed_is_said(labels, d):
    task = table(frame_of(200, labels), "mine")
    assert plan(task=task).configurations[0].setting.d == d
    point = train(task, sigma=1e-9, T=60, K=d)
    assert point.mean("accuracy") > 1.2 / len(labels)
    assert point.supposed == task.supposed
    assert task.title == f"mine: 200 records, {len(labels)} labels"


def test_what_pandas_writes_and_reads_is_the_same_table(tmp_path):
    """With the label's column by name."""
    frame = frame_of()
    frame.to_csv(tmp_path / "t.csv", index=False)
    again = table(pandas.read_csv(tmp_path / "t.csv"), label="sick")
    np.testing.assert_allclose(again.data.X, table(frame, label="sick").data.X)
    assert pickle.loads(pickle.dumps(again.source)) == again.source


def changed(**columns):
    return frame_of().assign(**columns)


LONE = ["no"] * 30 + ["yes"] * 29 + ["maybe"]
REFUSED = [
    (pandas.DataFrame({"age": [], "sick": []}), f"has 0 records: give at least {FEWEST}"),
    (frame_of(FEWEST - 1), f"has {FEWEST - 1} records: give at least {FEWEST}"),
    (frame_of()[["sick"]], "the table's columns are .*: give features and a label"),
    (pandas.DataFrame(index=range(60)), "the table's columns are .*: give features and a label"),
    (pandas.concat([frame_of(), frame_of()], axis=1), "each by a name of its own"),
    (changed(age=7.0), "the column 'age' has one value in every record"),
    (changed(place="west"), "the column 'place' has one value in every record"),
    (changed(sick="no"), "the column 'sick' has one value in every record: give two labels"),
    (changed(age=[1.0, np.inf, *range(58)]), r"the column 'age' holds a number beyond 1e\+100"),
    (changed(age=[1.0, 2e100, *range(58)]), r"the column 'age' holds a number beyond 1e\+100"),
    (changed(age=[1.0, np.nan, *range(58)]), r"the column 'age' lacks values: frame.dropna\(\)"),
    (changed(place=[f"p{i}" for i in range(60)]), "'place' holds 60 different values, as 'p9'.*pandas.to_numeric"),
    (changed(sick=range(60)), "60 different values"),
    (changed(sick=LONE), "the label 'maybe' is on one record alone"),
    ("mine.csv", r"a table of the type str is not allowed: give a DataFrame, as pandas.read_csv\(path\) makes one"),
]


@pytest.mark.parametrize("frame, message", REFUSED, ids=[message for _, message in REFUSED])
def test_what_cannot_be_used_says_where_and_why(frame, message):
    with pytest.raises(ValueError, match=message):
        table(frame)


def test_records_that_were_left_out_before_leave_no_trace():
    frame = frame_of().drop(index=3)  # so that pandas's own numbers are not those of the records
    frame.loc[7, "age"] = np.nan
    task = table(frame.dropna(), label="sick")
    assert len(task.data.X) + len(task.data.X_test) == 58
    with pytest.raises(ValueError, match="label = 'ill' is no column of the table: give 'place', 'age', 'sick'"):
        table(frame, label="ill")


@pytest.mark.proof
def test_a_million_records():
    rows = np.column_stack([np.random.default_rng(0).standard_normal((10**6, 4)), np.arange(10**6) % 2])
    assert len(table(pandas.DataFrame(rows, columns=list("abcde"))).data.X) == 800_000


values = st.one_of(st.text(max_size=6), st.floats(), st.integers(), st.booleans(), st.none(), st.sampled_from(["1", "nan", "no"]))


@examples(100)
@given(st.lists(st.lists(values, min_size=3, max_size=3), max_size=60), st.booleans())
def test_any_frame_is_used_or_refused_with_a_reason(rows, drop):
    frame = pandas.DataFrame(rows, columns=["a", "b", "c"])
    try:
        task = table(frame.dropna() if drop else frame)
    except ValueError as error:
        assert len(str(error)) > 10
    else:
        assert np.isfinite(task.data.X).all()


@given(st.integers(20, 60), st.integers(1, 4), st.data())
def test_finite_numbers_of_any_size_are_used(count, columns, draw):
    numbers = st.floats(-1e100, 1e100)
    found = draw.draw(st.lists(st.lists(numbers, min_size=columns, max_size=columns), min_size=count, max_size=count))
    frame = pandas.DataFrame(found).assign(label=["ab"[i % 2] for i in range(count)])
    if any(len({row[c] for row in found}) == 1 for c in range(columns)):
        with pytest.raises(ValueError, match="one value in every record"):
            table(frame)
    else:
        data = table(frame).data
        assert np.isfinite(data.X).all() and (np.linalg.norm(data.X, axis=1) <= 1 + 1e-12).all()
