"""Kernels compiled beforehand: their first call takes seconds, and none of the second that an answer may take."""

import pytest

from zoexplore import Accounting, Setting, calibrate, curve
from zoexplore.setting import SCHEDULES, SENSITIVITIES


@pytest.fixture(scope="session", autouse=True)
def compiled():
    for batch in (None, 100):
        for sensitivity in SENSITIVITIES:
            for schedule in SCHEDULES:
                curve(Setting(batch=batch), "T", [1, 100], accounting=Accounting("cks", sensitivity, schedule))
    calibrate(Setting(), "sigma", epsilon=1.0)
