"""Compares the throughput of training many configurations at once with that of training along one
direction at a time, as is usual.
"""

from math import sqrt
from time import process_time
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.func import functional_call, vmap

from benchmarks.timing import milliseconds, table
from zoexplore.mechanism import clipping, stiefel
from zoexplore.mechanism.rng import normal
from zoexplore.training import TASKS
from zoexplore.training.engine import Job
from zoexplore.training.methods import Configuration
from zoexplore.training.models import Softmax
from zoexplore.training.step import hybrid, project

K, CONFIGURATIONS, XI, REPEATS = 64, 8, 1e-4, 5
SHARP_CLIP = 0.05  # a clip that acts on many quotients at the start


def run() -> Any:
    """Print rates, and return rows of ratios to the other ways. Times are processor times of one
    thread, the least of several, so that other work on the machine matters little.
    """
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        return _run()
    finally:
        torch.set_num_threads(threads)


def _run() -> Any:
    task = TASKS["digits"]
    rate = gemm_rate()
    fast = engine(task, None)
    ways = {
        "seed replay, as MeZO": replay(task),
        "vmap of functional_call over directions": mapped(task),
        "DP-SGD by Opacus": opacus(task),
        "engine, derivatives clipped one by one": engine(task, SHARP_CLIP),
        "engine, clip provably idle": fast,
    }
    n, d = len(task.data.X), task.d
    print(
        f"Softmax on digits, n = {n}, d = {d}, K = {K}, {CONFIGURATIONS} configurations, double precision, one thread"
    )
    rows = [
        (name, f"{1 / s:.0f}", f"{ways['seed replay, as MeZO'] / s:.1f}", f"{s / fast:.1f}")
        for name, s in ways.items()
    ]
    table(("way", "configuration-steps/s", "times seed replay", "times slower than the last"), rows)
    share = operations(n, d) / (CONFIGURATIONS * fast) / rate
    print(
        f"\nMeasured GEMM rate {rate / 1e9:.0f} GFLOP/s, of which the last way uses {share:.0%} for what a step needs"
    )
    return [("training step, clip idle", name, "", ways[name] / fast) for name in list(ways)[:3]]


def operations(n: int, d: int) -> Any:
    """Count the floating-point operations of one step of all configurations. They make the scores
    and the gradient; the Gram matrix, Cholesky factor and triangular solve of the directions; the
    slopes, the ridge's slopes, the step along the directions and the noise along them.
    """
    return (
        4 * n * d * CONFIGURATIONS + 2 * d * K**2 + K**3 / 3 + d * K**2 + 8 * d * K * CONFIGURATIONS
    )


def gemm_rate(size: int = 1000) -> Any:
    """Return the operations a second of a large square product in double precision."""
    A = torch.randn(size, size, dtype=torch.float64)
    return 2 * size**3 / seconds(lambda: A @ A)


def seconds(call: Any) -> Any:
    """Return the least processor time of a call, in seconds."""
    return milliseconds(call, REPEATS, clock=process_time) / 1000


def settings(task: Any, clip: float | None) -> Any:
    others = {} if clip is None else {"clip": clip}
    return [task.setting(1e-3 * 2**i, K=K, **others) for i in range(CONFIGURATIONS)]


def engine(task: Any, clip: float | None) -> Any:
    """Return the seconds that the batched engine takes for a step of one configuration."""
    job = Job(
        task, tuple(Configuration("noisy-zogd", s) for s in settings(task, clip)), (0,), (10**9,)
    )
    state = job.begin()
    steps = 1 if clip else 20

    def go() -> None:
        for _ in range(steps):
            job.advance(state, 0.0)

    return seconds(go) / steps / CONFIGURATIONS


def opacus(task: Any) -> Any:
    """Return the seconds of a step of DP-SGD on all records, which takes one gradient of each
    record where the others take K quotients.
    """
    from opacus import GradSampleModule
    from opacus.optimizers import DPOptimizer

    X, y = data_of(task)
    setting = settings(task, None)[0]
    module = GradSampleModule(nn.Linear(X.shape[1], 10, bias=False, dtype=torch.float64))
    descent = torch.optim.SGD(
        module.parameters(), lr=setting.eta / setting.d, weight_decay=setting.ridge
    )
    noise = {
        "noise_multiplier": setting.sigma * sqrt(setting.d) * setting.n / setting.clip,
        "max_grad_norm": setting.clip,
    }
    optimizer = DPOptimizer(descent, expected_batch_size=setting.n, **noise)

    def step() -> None:
        Softmax.losses(module(X), y).mean().backward()
        optimizer.step()
        optimizer.zero_grad()

    return seconds(step)


def data_of(task: Any) -> Any:
    return torch.from_numpy(task.data.X), torch.from_numpy(task.data.y)


def replay(task: Any) -> Any:
    """Return the seconds of a step that keeps no direction. Each is made again from its seed for
    both points, the way back and the update.
    """
    X, y = data_of(task)
    setting = settings(task, None)[0]
    w = torch.zeros(task.d, dtype=torch.float64)
    noise = torch.Generator().manual_seed(1)

    def along(seed: int, by: float) -> None:
        u = torch.randn(task.d, dtype=w.dtype, generator=torch.Generator().manual_seed(seed))
        w.add_(u, alpha=by / float(u.norm()))

    def losses() -> Tensor:
        return Softmax.losses(X @ w.view(10, -1).T, y)

    def step() -> None:
        slopes = []
        for k in range(K):
            along(k, XI)
            plus = losses()
            along(k, -2 * XI)
            slopes.append(clipping.each((plus - losses()) / (2 * XI), setting.clip).values.mean())
            along(k, XI)
        for k, slope in enumerate(slopes):
            own = float(torch.randn((), generator=noise)) * setting.sigma * sqrt(setting.beta)
            along(k, -setting.eta / K * float(slope) + setting.eta / sqrt(K) * own)
        everywhere = (
            torch.randn(task.d, dtype=w.dtype, generator=noise)
            * setting.sigma
            * sqrt(1 - setting.beta)
        )
        w.add_(everywhere, alpha=setting.eta / sqrt(task.d))
        w.mul_(min(1.0, setting.R / float(w.norm())))

    return seconds(step)


def mapped(task: Any) -> Any:
    """Return the seconds of a step of one configuration that runs a module at all directions at
    once.
    """
    X, y = data_of(task)
    setting = settings(task, None)[0]
    module = nn.Linear(X.shape[1], 10, bias=False, dtype=torch.float64)
    source = np.random.default_rng(0)
    w = torch.zeros(task.d, dtype=torch.float64)

    def losses(v: Tensor) -> Tensor:
        return Softmax.losses(functional_call(module, {"weight": v.view(10, -1)}, X), y)

    @torch.no_grad()
    def step() -> None:
        nonlocal w
        U = stiefel(task.d, K, source)
        quotients = vmap(lambda u: (losses(w + XI * u) - losses(w - XI * u)) / (2 * XI), in_dims=1)(
            U
        )
        slopes = clipping.each(quotients, setting.clip).values.mean(1) + setting.ridge * (w @ U)
        noise = hybrid(
            U, setting.sigma, setting.beta, setting.eta, lambda size: normal(source, (size,))
        )
        w = project(w - setting.eta / K * (U @ slopes) + noise, setting.R)

    return seconds(step)
