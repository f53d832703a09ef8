"""Kernels compiled beforehand: their first call takes seconds, and none of the second that an answer may take."""

import pytest

from zoexplore import Accounting, calibrate, curve
from zoexplore.presets import DEMONSTRATION
from zoexplore.setting import SCHEDULES, SENSITIVITIES


@pytest.fixture(scope="session", autouse=True)
def compiled():
    for batch in (None, 100):
        for sensitivity in SENSITIVITIES:
            for schedule in SCHEDULES:
                curve(DEMONSTRATION.replace(batch=batch), "T", [1, 100], accounting=Accounting("cks", sensitivity, schedule))
    calibrate(DEMONSTRATION, "sigma", epsilon=1.0)
