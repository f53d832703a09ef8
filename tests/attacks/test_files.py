"""Files from strangers: bombs, pickles, formulas, and more than a page can draw."""

import pickle
from dataclasses import replace
from io import BytesIO

import numpy as np
import pyarrow
import pytest
from pyarrow import parquet

from tests.training.small import small_task
from zoexplore.export import LARGEST_FILE, from_yaml
from zoexplore.export import to_csv as curves_to_csv
from zoexplore.limits import largest_upload
from zoexplore.presets import DEMONSTRATION
from zoexplore.setting import Accounting
from zoexplore.training import METHODS
from zoexplore.training import frontier as trained
from zoexplore.training.frontier_files import KEY, KIND, from_csv, from_parquet, to_csv, to_parquet
from zoexplore.views.training.jobs import MOST_POINTS, checked, read


@pytest.fixture(scope="module")
def frontier():
    """A small one, as somebody would save it."""
    return trained(task=small_task(), methods=list(METHODS)[:2], seeds=(5, 2), T=4)


def packed(table, **options):
    out = BytesIO()
    parquet.write_table(table, out, **options)
    return out.getvalue()


def test_a_bomb_of_many_rows_is_not_unpacked(monkeypatch):
    """Some kB that would be GB; only the file's own account of itself is read."""
    column = np.zeros(20_000_000, np.int64)
    bomb = packed(pyarrow.table({"point": column, "seed": column}), compression="zstd")
    assert len(bomb) < 400_000
    monkeypatch.setattr(parquet, "read_table", lambda *_, **__: pytest.fail("it was unpacked"))
    with pytest.raises(ValueError, match="20\u202f000\u202f000 rows"):
        from_parquet(bomb)


def test_a_bomb_of_long_texts_is_not_unpacked():
    """One text of MB in a dictionary, and a row for every time that it is to be repeated."""
    names = pyarrow.DictionaryArray.from_arrays(np.zeros(900_000, np.int32), pyarrow.array(["x" * 2_000_000]))
    bomb = packed(pyarrow.table({"method": names}), compression="zstd")
    assert len(bomb) < 400_000
    with pytest.raises(ValueError, match=r"longer than|unpacks to"):
        from_parquet(bomb)


def test_an_npz_bomb_is_not_unpacked(monkeypatch):
    """Some 100 kB that would be 400 MB; only the archive's own account of itself is read."""
    out = BytesIO()
    np.savez_compressed(out, X=np.zeros((1_000_000, 51)), y=np.zeros(1_000_000))
    assert len(out.getvalue()) < largest_upload()
    monkeypatch.setattr(np, "load", lambda *_, **__: pytest.fail("it was unpacked"))
    assert "unpacks to" in checked(out.getvalue(), "a.npz")


def test_no_object_in_an_npz_file_is_unpickled():
    out = BytesIO()
    np.savez(out, X=np.array([[Trap()]] * 30, object), y=np.arange(30))
    assert "cannot be read" in checked(out.getvalue(), "a.npz") and not Trap.sprung


class Trap:
    """Unpickled, it is a list of what has happened."""

    sprung: list = []  # noqa: RUF012 - shared on purpose

    def __reduce__(self):
        return Trap.sprung.append, (1,)


def test_a_pickled_object_is_not_unpickled():
    about = {KEY: f"{KIND} {{}}".encode(), b"pandas": b"{}"}
    trap = pickle.dumps(Trap())
    field = pyarrow.field("method", pyarrow.binary(), metadata={
        b"ARROW:extension:name": b"arrow.py_extension_type", b"ARROW:extension:metadata": trap,
    })  # fmt: skip
    for schema in (pyarrow.schema([field], about), pyarrow.schema([pyarrow.field("method", pyarrow.binary())], about)):
        with pytest.raises(ValueError, match=r"holds .*binary in place of text"):
            from_parquet(packed(pyarrow.Table.from_arrays([pyarrow.array([trap])], schema=schema)))
    assert not Trap.sprung


@pytest.mark.parametrize("name", ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "x" * 2000])
def test_no_formula_is_read_as_the_name_of_a_method(name, frontier):
    hostile = replace(frontier, points=tuple(replace(point, method=name) for point in frontier.points))
    for content, back in ((to_csv(hostile), from_csv), (to_parquet(hostile), from_parquet)):
        with pytest.raises(ValueError, match=r"no name of a method|longer than"):
            back(content)


@pytest.mark.parametrize("task", ["a,=1+1", "b\",=cmd|' /C calc'!A0,\"", "c,@SUM(A1),+1,-1", "d\n=1+1"])
def test_no_cell_of_what_is_saved_is_a_formula(task, frontier):
    saved = replace(frontier, task=task)
    text = to_csv(saved)
    cells = [cell for line in text.splitlines() for cell in line.split(",")]
    assert not any(cell.startswith(("=", "+", "@", "\t")) for cell in cells)
    assert from_csv(text) == saved


def test_no_cell_of_the_curves_is_a_formula():
    cells = [cell for line in curves_to_csv(DEMONSTRATION, Accounting(), "T", [1, 2]).splitlines() for cell in line.split(",")]
    assert len(cells) > 30 and not any(cell.startswith(("=", "+", "-", "@", "\t")) for cell in cells)


def test_more_points_than_can_be_drawn_are_refused(frontier):
    many = replace(frontier, points=frontier.points[:1] * (MOST_POINTS + 1))
    for content, name in ((to_csv(many).encode(), "a.csv"), (to_parquet(many), "a.parquet")):
        assert f"{MOST_POINTS + 1} points: at most {MOST_POINTS} are drawn" in read(content, name)
    assert read(to_csv(frontier).encode(), "a.csv") == frontier


def test_long_names_and_many_seeds_are_refused(frontier):
    assert "name of 5000 characters" in read(to_csv(replace(frontier, task="x" * 5000)).encode(), "a.csv")


@pytest.mark.parametrize(
    "yaml", ["a: &a [x, x]\nb: &b [*a, *a]\nc: [*b, *b]", "K: 1\n" * 3000, "[" * 5000, "? " * 5000, "K: !!python/name:os.system"]
)
def test_no_yaml_takes_long(yaml):
    assert len(yaml) > LARGEST_FILE or not from_yaml(yaml).read or from_yaml(yaml).problems
