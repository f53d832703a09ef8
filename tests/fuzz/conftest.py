"""Kernels compiled beforehand: their first call takes seconds, and none of the second that an
answer may take.
"""

import pytest

from tests.compiled import call_all


@pytest.fixture(scope="session", autouse=True)
def compiled():
    call_all()
