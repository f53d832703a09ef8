"""Every kernel, called once: compiling all takes half a minute. As a script, ahead of processes that would each compile them."""

from zoexplore import Accounting, calibrate, curve, guarantee
from zoexplore.bounds import BOUNDS
from zoexplore.presets import DEMONSTRATION, PRESETS
from zoexplore.setting import SAMPLINGS, SCHEDULES, SENSITIVITIES


def call_all():
    """Have whatever the accountant compiles compiled, or loaded into this process."""
    for sensitivity in SENSITIVITIES:
        for schedule in SCHEDULES:
            for batch in (None, 100):
                curve(DEMONSTRATION.replace(batch=batch), "T", [1, 100], accounting=Accounting("cks", sensitivity, schedule))
    for sampling in SAMPLINGS:
        curve(DEMONSTRATION.replace(batch=100, sampling=sampling), "T", [1, 100])
    steps = [guarantee(preset.setting, bound).trajectory for preset in PRESETS.values() for bound in BOUNDS]
    assert any(steps)
    calibrate(DEMONSTRATION, "sigma", epsilon=1.0)


if __name__ == "__main__":
    call_all()
