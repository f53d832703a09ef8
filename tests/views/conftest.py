"""The processes that compute for figures stand back for all else: on a busy machine a call may take as long as it does."""

from functools import partial

import pytest

from zoexplore.compute.ask import pool
from zoexplore.compute.questions import Sheet


@pytest.fixture(scope="session", autouse=True)
def patient():
    pool().longest = 3600.0  # seconds


@pytest.fixture
def small(monkeypatch):
    """Maps of a few points: what becomes of them does not depend on how many there are."""
    monkeypatch.setattr("zoexplore.views.figures.map.Sheet", partial(Sheet, points=25))
