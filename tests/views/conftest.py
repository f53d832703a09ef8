"""Views compute less where what is computed proves nothing."""

from functools import partial

import pytest

from zoexplore.compute.questions import Sheet


@pytest.fixture
def small(monkeypatch):
    """Maps of a few points: what becomes of them does not depend on how many there are."""
    monkeypatch.setattr("zoexplore.views.figures.map.Sheet", partial(Sheet, points=25))
