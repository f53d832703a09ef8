"""What is loaded equals what was saved; what is none is refused."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.effort import examples
from tests.training.small import small_task
from zoexplore import Accounting
from zoexplore.training import METHODS, frontier, load, save
from zoexplore.training.results import as_dict, of_dict


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
    assert of_dict(as_dict(empty)) == empty


@examples(40)
@given(content=st.binary(max_size=200))
def test_any_bytes_are_refused(content, tmp_path_factory):
    path = tmp_path_factory.getbasetemp() / "frontier.json"
    path.write_bytes(content)
    with pytest.raises(ValueError, match="this is no frontier"):
        load(path)


@pytest.mark.parametrize(
    "content", ["{}", "[]", "[1, 2]", "3", '"text"', "null", "true", "[" * 100_000]
)
def test_json_of_another_kind_is_refused_in_words(content, tmp_path):
    path = tmp_path / "frontier.json"
    path.write_text(content)
    with pytest.raises(ValueError, match="this is no frontier saved as JSON, or it is damaged: "):
        load(path)
