"""The processes that compute for figures stand back for all else: on a busy machine a call may take as long as it does."""

import pytest

from zoexplore.views.compute.ask import pool


@pytest.fixture(scope="session", autouse=True)
def patient():
    pool().longest = 3600.0  # seconds
