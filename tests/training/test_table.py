"""A user's table: what it becomes, and what it is told when it cannot be used."""

import csv
import io
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.effort import examples
from zoexplore.training import plan, table, train
from zoexplore.training.table_columns import FEWEST
from zoexplore.training.table_files import LARGEST
from zoexplore.training.tables import CATEGORIES, parse


def lines(count=40, labels=("no", "yes"), columns=3, seed=0):
    rng = np.random.default_rng(seed)
    out = []
    for i in range(count):
        label = i % len(labels)
        out.append(",".join([*(f"{x:.4f}" for x in rng.standard_normal(columns) + label), labels[label]]))
    return out


def text(rows):
    return "\n".join(rows) + "\n"


@pytest.mark.parametrize("header", [[], ["age,height,weight,sick"]])
def test_columns_labels_and_header(header):
    features, labels, classes = parse(text(header + lines()))
    assert features.shape == (40, 3) and classes == ["no", "yes"]
    assert labels.tolist() == [0, 1] * 20
    assert features[0, 0] == float(lines()[0].split(",")[0])


def test_labels_that_are_numbers_go_by_size():
    assert parse(text(lines(labels=("10", "9", "-1"))))[2] == ["-1", "9", "10"]


def test_rows_end_up_with_unit_length_and_held_out_apart():
    task = table(text(lines(50)))
    data = task.data
    np.testing.assert_allclose(np.linalg.norm(np.vstack([data.X, data.X_test]), axis=1), 1)
    assert len(data.X) == 40 and len(data.X_test) == 10 and task.d == 4
    assert task.supposed == ("the columns' ranges, which scale the features, are public",)


@pytest.mark.parametrize("labels, d", [(("a", "b"), 4), (("a", "b", "c"), 12)])
def test_it_trains_and_what_is_supposed_is_said(labels, d):
    task = table(text(lines(200, labels)).encode(), "mine")
    assert plan(task=task).configurations[0].setting.d == d
    point = train(task, sigma=1e-9, T=60, K=d)
    assert point.mean("accuracy") > 1.2 / len(labels)
    assert point.supposed == task.supposed
    assert task.title == f"mine: 200 records, {len(labels)} labels"


def test_files_and_bytes_with_a_mark_of_order(tmp_path):
    path = tmp_path / "t.csv"
    path.write_bytes(b"\xef\xbb\xbf" + text(lines()).encode())
    assert table(path).data.X.shape == table(text(lines())).data.X.shape == (32, 4)


def replaced(i, row, count=40):
    rows = lines(count)
    rows[i] = row
    return text(rows)


@pytest.mark.parametrize(
    "content, message",
    [
        ("", "the table is empty"),
        ("\n\n , \n", "the table is empty"),
        ("a\n" * 30, "line 1 has one column: separate the columns by commas"),
        ("1;2;yes\n" * 30, "column 1 has the value 1 in every record"),
        (text(f"{'ab'[i % 2] * (i + 1)},{i},{i % 2}" for i in range(60)), "column 1 holds 60 different texts, as .* on line"),
        (text(f"{i};{i},5;{i % 2}" for i in range(60)), "line 1, column 2 holds '0,5', which is no finite number"),
        (text(lines(FEWEST - 1)), f"has {FEWEST - 1} records: give at least {FEWEST}"),
        (replaced(6, "1,2,no"), "line 7 has 3 columns, the first one has 4"),
        (replaced(6, "no"), "line 7 has 1 column, the first one has 4"),
        (replaced(6, "1,x,2,no"), "line 7, column 2 holds 'x', which is no finite number"),
        (replaced(6, "1,,2,no"), "line 7, column 2 is empty"),
        (replaced(6, "1,nan,2,no"), "line 7, column 2 holds 'nan'"),
        (replaced(6, "1,-inf,2,no"), "line 7, column 2 holds '-inf'"),
        (replaced(6, "1,1e999,2,no"), "line 7, column 2 holds '1e999'"),
        (replaced(6, "1,1_000,2,no"), "line 7, column 2 holds '1_000'"),
        ("age,x,y,sick\n" + replaced(5, "1,zzz,2,no"), r"line 7, column 2 \(x\) holds 'zzz'"),
        (replaced(6, "1,2,3,"), "line 7 has no label"),
        (replaced(6, "1,2,3,maybe"), "the label 'maybe' is on line 7 alone"),
        (text(lines(labels=("no",))), "every record has the label 'no': give at least two"),
        (text(f"{x % 7},{x}.5" for x in range(60)), "60 different labels: give classes"),
        (text(f"5,{row}" for row in lines()), "column 1 has the value 5 in every record: leave it out"),
        (replaced(6, '1,"2,3,no'), "line .* cannot be read as comma-separated values"),
        (text(lines()).encode().replace(b"no", b"\xff", 1), "line 1 is not UTF-8"),
        (b"1,2,3\n" * (LARGEST // 6 + 1), "give at most 20 MB, or a file's path"),
        (b"PK\x03\x04" + b"0" * 40, "this npz file cannot be read"),
        (b"PAR1" + b"0" * 40, "this Parquet file cannot be read"),
        (7, "a table of the type int is not allowed"),
    ],
)
def test_what_cannot_be_used_says_where_and_why(content, message):
    with pytest.raises(ValueError, match=message):
        table(content)


def frame_of(count=60):
    import pandas

    rng = np.random.default_rng(1)
    sick = rng.integers(0, 2, count)
    places = np.array(["north", "south", "west"])[rng.integers(0, 3, count)]
    return pandas.DataFrame({"sick": sick, "place": places, "age": sick + rng.standard_normal(count)})


def test_a_frame_and_its_files_are_one_table(tmp_path):
    """With the index that pandas leaves, semicolons, categories, and the label's column by name."""
    frame = frame_of()
    frame.to_csv(tmp_path / "t.csv", sep=";")
    frame.to_parquet(tmp_path / "t.parquet")
    expected = table(frame, label="sick").data
    assert expected.X.shape == (48, 5)
    for name in ("t.csv", "t.parquet"):
        task = table(tmp_path / name, label="sick")
        np.testing.assert_allclose(task.data.X, expected.X)
        assert CATEGORIES in task.supposed and ("numbers the records" in task.summary) == (name == "t.csv")
    np.savez(tmp_path / "t.npz", X=frame[["age"]].to_numpy(), y=frame.sick.to_numpy())
    assert table(tmp_path / "t.npz").data.X.shape == (48, 2)
    assert pickle.loads(pickle.dumps(table(frame, label="sick").source)) == table(frame, label="sick").source


def test_missing_values_are_told_or_their_records_left_out():
    frame = frame_of()
    frame.loc[7, "age"] = np.nan
    with pytest.raises(ValueError, match=r"record 8, column 3 \(age\) holds 'nan'.*missing='drop'"):
        table(frame, label="sick")
    task = table(frame, label="sick", missing="drop")
    assert "1 record with missing values is left out" in task.summary and len(task.data.X) + len(task.data.X_test) == 59
    with pytest.raises(ValueError, match="label = 'ill' is no column of the table: give 'sick', 'place', 'age'"):
        table(frame, label="ill")


@pytest.mark.proof
def test_a_million_records(tmp_path):
    import pandas

    rows = np.column_stack([np.random.default_rng(0).standard_normal((10**6, 4)).round(3), np.arange(10**6) % 2])
    pandas.DataFrame(rows, columns=list("abcde")).to_csv(tmp_path / "t.csv", index=False)
    assert len(table(tmp_path / "t.csv").data.X) == 800_000


cells = st.one_of(
    st.text(max_size=6), st.floats().map(str), st.sampled_from(["0", "1", "yes", "", "nan", '"', "\x00", "1e400", " 3 "])
)


@examples(100)
@given(st.lists(st.lists(cells, min_size=1, max_size=4), max_size=30), st.booleans())
def test_any_text_is_used_or_refused_with_a_reason(rows, written):
    out = io.StringIO()
    if written:
        csv.writer(out).writerows(rows)
    else:
        out.write("\n".join(",".join(row) for row in rows))
    try:
        task = table(out.getvalue())
    except ValueError as error:
        assert len(str(error)) > 10
    else:
        assert np.isfinite(task.data.X).all()


@given(st.integers(20, 60), st.integers(1, 4), st.data())
def test_finite_numbers_of_any_size_are_used(count, columns, draw):
    numbers = st.floats(-1e100, 1e100)
    values = draw.draw(st.lists(st.lists(numbers, min_size=columns, max_size=columns), min_size=count, max_size=count))
    content = text(",".join([*map(repr, row), "ab"[i % 2]]) for i, row in enumerate(values))
    if any(len({row[c] for row in values}) == 1 for c in range(columns)):
        with pytest.raises(ValueError, match="in every record"):
            table(content)
    else:
        data = table(content).data
        assert np.isfinite(data.X).all() and (np.linalg.norm(data.X, axis=1) <= 1 + 1e-12).all()


@given(st.binary(max_size=300))
def test_any_bytes_are_refused_with_a_reason(content):
    with pytest.raises(ValueError):
        table(content)
