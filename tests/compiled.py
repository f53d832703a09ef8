"""Every kernel, called once: compiling all takes half a minute. As a script, ahead of processes that would each compile them."""

import gc
from concurrent.futures import ProcessPoolExecutor
from math import inf

from zoexplore import Accounting, calibrate, curve, guarantee
from zoexplore.bounds import BOUNDS
from zoexplore.bounds.loss_distribution import Losses
from zoexplore.run.presets import DEMONSTRATION, PRESETS
from zoexplore.run.setting import SAMPLINGS, SCHEDULES, SENSITIVITIES

TOGETHER = DEMONSTRATION.replace(clipping="joint", lipschitz=inf)
ON_BATCHES = {sampling: DEMONSTRATION.replace(batch=100, sampling=sampling) for sampling in SAMPLINGS}


def call_all():
    """Have whatever the accountant compiles compiled, or loaded into this process."""
    _hidden_states()
    _compositions()
    for setting in ON_BATCHES.values():
        curve(setting, "T", [1, 100])
    calibrate(DEMONSTRATION, "sigma", epsilon=1.0)


def _hidden_states():
    """By Renyi divergence, and so without the privacy losses' kernels; with the trajectories."""
    for sensitivity in SENSITIVITIES:
        for schedule in SCHEDULES:
            for setting in (DEMONSTRATION, TOGETHER, ON_BATCHES["without-replacement"]):
                curve(setting, "T", [1, 100], accounting=Accounting("cks", sensitivity, schedule))
    for linear in (False, True):
        acting = DEMONSTRATION.replace(clipping="joint", lipschitz=inf, linear=linear)
        curve(acting, "T", [1, 100], ["sharp"], Accounting("cks"))
    steps = [guarantee(preset.setting, bound, Accounting("cks")).trajectory for preset in PRESETS.values() for bound in BOUNDS]
    assert any(steps)


def _compositions():
    """The privacy losses' kernels: as long to compile as the others, and next to none the same."""
    for setting in ON_BATCHES.values():
        for printed in (False, True):
            curve(setting, "T", [1, 100], ["composition"], Accounting(printed=printed))
    Losses(N=200.0, rho=0.0, q=0.0032, mu=0.625).delta(0.2)


def _steps():
    """The mechanism's: sums of numbers of every size, and random ones in single precision."""
    import torch

    from zoexplore.mechanism.checksums import checksums, of_records
    from zoexplore.mechanism.rng import MANY, Replay, Sources, normal

    kinds = torch.uint8, torch.float16, torch.float32, torch.float64
    numbers = [torch.ones(4, 3, dtype=kind) for kind in kinds]
    assert len(checksums(numbers)) == len(of_records(numbers, 4))
    noise = Sources(1, 2).noise
    normal(noise, (MANY,), dtype=torch.float32)
    Replay(noise, [MANY], torch.device("cpu")).fill(0, torch.empty(MANY))


def _compile_all():
    """On two cores, and without a look for garbage, which would take an eighth of the time."""
    gc.disable()
    with ProcessPoolExecutor(1) as beside:
        compositions = beside.submit(_compositions)
        steps = beside.submit(_steps)
        _hidden_states()
        compositions.result(), steps.result()
    call_all()


if __name__ == "__main__":
    _compile_all()
