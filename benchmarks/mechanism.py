"""Compares a step of `NoisyZOGD` with seed replay with noise and with steps of DPZero and MeZO: in
time, peak memory and launches, and with an estimate for larger models.

`python -m benchmarks.mechanism` prints ratios. `python -m benchmarks.mechanism 1e8 --directions 1
4` does so for other sizes, and takes eight times the parameters' memory; add `--device cuda --kind
bfloat16` on a GPU.
"""

import argparse
import os
import subprocess
import sys
from statistics import median
from time import perf_counter, process_time
from typing import Any
from unittest.mock import patch

import torch
from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode

from benchmarks.timing import memory_of, table
from zoexplore import Setting
from zoexplore.mechanism import NoisyZOGD, Sources, checksums

LAYERS, RECORDS, BETA, CLIP, SIGMA = 10, 8, 0.5, 1.0, 1e-3
WAYS = ("ours", "seed replay", "DPZero", "MeZO")
# whether a way has a clip and noise along the directions, and whether it has noise everywhere
PRIVATE = {"seed replay": (True, True), "DPZero": (True, False), "MeZO": (False, False)}
LARGE = (1.3e9, 13e9)  # the parameters of the models that times are extrapolated to
# Make the C library give freed tensors back at once: what it would keep differs from run to run by
# half the parameters.
GIVEN_BACK = {"MALLOC_MMAP_THRESHOLD_": "65536", "MALLOC_TRIM_THRESHOLD_": "65536"}


class Stack(nn.Module):
    """Square layers, one behind the other, with about d parameters together."""

    def __init__(self, d: int, kind: Any, device: Any) -> None:
        super().__init__()
        self.width = max(2, round((d / LAYERS) ** 0.5))
        made = {"dtype": kind, "device": device, "bias": False}
        self.layers = nn.ModuleList(
            [nn.Linear(self.width, self.width, **made) for _ in range(LAYERS)]
        )

    def forward(self, x: Any) -> Any:
        for layer in self.layers:
            x = x + torch.tanh(layer(x))
        return x


def losses(outputs: Any, targets: Any) -> Any:
    return (outputs.float().mean(-1) - targets).square()


class SeedReplay:
    """Steps along directions that are made again from their seeds, as in MeZO (Malladi et al. 2023,
    arXiv:2305.17333), with a clip and both kinds of noise. The directions are not orthonormal.

    As in MeZO the parameters are moved four times a direction: to one point, to the other, back,
    and to the update. MeZO's own code also holds the moved tensor and the old one together for a
    moment, which this code does not. DPZero (Zhang et al. 2024, arXiv:2310.09639) has noise along
    the directions alone; MeZO has neither noise nor clip.
    """

    def __init__(
        self, module: Any, K: int, xi: float, lr: float, private: Any, everywhere: Any
    ) -> None:
        self.module, self.K, self.xi, self.lr, self.private, self.everywhere = (
            module,
            K,
            xi,
            lr,
            private,
            everywhere,
        )
        self.device = next(module.parameters()).device
        self.d = sum(p.numel() for p in module.parameters())

    def _move(self, seed: int, scale: Any) -> None:
        generator = torch.Generator(self.device).manual_seed(seed)
        for p in self.module.parameters():
            z = torch.randn(p.shape, generator=generator, dtype=p.dtype, device=p.device)
            p.data.add_(z, alpha=scale)

    @torch.no_grad()
    def step(self, batch: Any) -> None:
        x, y = batch
        seeds, xi = torch.randint(2**31, (self.K,)).tolist(), self.xi / self.d**0.5
        estimates = []
        for seed in seeds:
            self._move(seed, xi)
            ahead = losses(self.module(x), y)
            self._move(seed, -2 * xi)
            behind = losses(self.module(x), y)
            self._move(seed, xi)
            slopes = (ahead - behind) / (2 * xi)
            if self.private:
                estimates.append(
                    slopes.clamp(-CLIP, CLIP).mean() + SIGMA * torch.randn((), device=self.device)
                )
            else:
                estimates.append(slopes.mean())
        for seed, estimate in zip(seeds, estimates, strict=True):
            self._move(seed, -self.lr * float(estimate) / self.d)
        if not self.everywhere:
            return
        noise = torch.Generator(self.device).manual_seed(int(torch.randint(2**31, ())))
        for p in self.module.parameters():
            p.data.add_(
                torch.randn(p.shape, generator=noise, dtype=p.dtype, device=p.device),
                alpha=self.lr * SIGMA / self.d**0.5,
            )


def made(way: str, d: int, K: int, kind: Any, device: Any) -> Any:
    """Return a function that makes one step, and the size of the model in bytes."""
    torch.manual_seed(0)
    module = Stack(d, kind, device)
    d = sum(p.numel() for p in module.parameters())
    batch = (
        torch.randn(RECORDS, module.width, dtype=kind, device=device),
        torch.zeros(RECORDS, device=device),
    )
    xi, lr = 1e-3 * d**0.5, 1e-3
    size = sum(p.numel() * p.element_size() for p in module.parameters())
    if way != "ours":
        replay = SeedReplay(module, K, xi, lr, *PRIVATE[way])
        return lambda: replay.step(batch), size
    setting = Setting(
        n=RECORDS, d=d, K=K, T=10**6, sigma=SIGMA, beta=BETA, clip=CLIP, eta=lr * K, xi=xi
    ).replace(clipping="joint")
    optimiser = NoisyZOGD(module, losses, setting, sources=Sources(1, 2))
    return lambda: optimiser.step(optimiser.batch(batch)), size


def seconds(d: int, K: int, kind: Any, device: Any, repeats: int) -> Any:
    """Return the seconds of one step of each way. The ways take turns; on a CPU the time is the
    processor's, so that other work matters little.
    """
    clock = process_time if device == "cpu" else perf_counter
    steps = {way: made(way, d, K, kind, device)[0] for way in WAYS}
    spent: dict[str, list[float]] = {way: [] for way in WAYS}
    for turn in range(repeats + 1):
        for way, step in steps.items():
            start = clock()
            step()
            if device != "cpu":
                torch.cuda.synchronize()
            if turn:  # the first step looks at the losses too
                spent[way].append(clock() - start)
    return {way: median(times) for way, times in spent.items()}


def share_of_checksums(d: int, K: int, kind: Any, device: Any, repeats: int) -> Any:
    """Return the fraction of a step's time that goes into comparing all bits of the model with
    those after the last step, and into recording them.
    """
    clock, own, spent = process_time if device == "cpu" else perf_counter, checksums._of_rows, [0.0]

    def timed(*given: Any) -> Any:
        start = clock()
        found = own(*given)
        spent[0] += clock() - start
        return found

    step, _ = made("ours", d, K, kind, device)
    step()
    shares = []
    with patch.object(checksums, "_of_rows", timed):
        for _ in range(repeats):
            spent[0], start = 0.0, clock()
            step()
            shares.append(spent[0] / (clock() - start))
    return median(shares)


class Counted(TorchDispatchMode):
    """Counts operations on tensors, except views, which launch nothing."""

    def __init__(self) -> None:
        TorchDispatchMode.__init__(self)
        self.count = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.count += not func.is_view
        return func(*args, **kwargs or {})


def launches(way: str, d: int, K: int, kind: Any, device: Any) -> Any:
    """Count the operations of a step. On a CPU NumPy makes random numbers, which do not count."""
    step = made(way, d, K, kind, device)[0]
    step()
    with Counted() as counted:
        step()
    return counted.count


def peak(way: str, d: int, K: int, kind: Any, device: Any) -> Any:
    """Return the most memory while a step is made, the parameters included, in multiples of theirs.
    Measure a second step, since the first one also takes what libraries keep.
    """
    made(way, 10**4, K, kind, device)[0]()  # makes libraries take what they keep
    step, size = made(way, d, K, kind, device)
    if device != "cpu":
        torch.cuda.reset_peak_memory_stats()
        step(), step()
        return torch.cuda.max_memory_allocated() / size
    step()
    return 1 + memory_of(step) / size


def run(
    sizes: Any = (10**6, 10**7),
    directions: Any = (1, 4, 16),
    kind: str = "float32",
    device: Any = "cpu",
    repeats: int = 5,
) -> Any:
    """Print the table, and return rows of ratios to seed replay."""
    torch.set_num_threads(1)
    rows, ratios, largest = [], [], {}
    for d in sizes:
        for K in directions:
            time = seconds(d, K, getattr(torch, kind), device, repeats)
            memory = {way: _peak_elsewhere(way, d, K, kind, device) for way in WAYS}
            for way in WAYS:
                slower, larger = (found["ours"] / found[way] for found in (time, memory))
                count = launches(way, d, K, getattr(torch, kind), device)
                figures = (
                    f"{time[way]:.3g} s",
                    f"{slower:.2f}",
                    f"{memory[way]:.2f}",
                    f"{larger:.2f}",
                    f"{count}",
                )
                rows.append((f"d = {d:.0e}, K = {K}", way, *figures))
                print(*rows[-1], flush=True)
                largest[K, way] = d, time[way]
            share = share_of_checksums(d, K, getattr(torch, kind), device, repeats)
            print(f"checksums take {share:.1%} of ours", flush=True)
            ratios.append(
                (
                    f"step, d = {d:.0e}, K = {K}",
                    "seed replay",
                    "",
                    time["seed replay"] / time["ours"],
                )
            )
    print(
        f"\nOne step of {RECORDS} records, {kind} on {device}; memory in multiples of the parameters, themselves included"
    )
    table(("run", "way", "time", "ours is", "memory", "ours is", "launches"), rows)
    for (K, way), (d, spent) in largest.items():
        print(f"K = {K}, {way}: {extrapolated(d, spent)}")
    return ratios


def extrapolated(d: int, spent: Any) -> Any:
    """Estimate the time that larger models would take, and show the arithmetic. From some size on
    the time grows in proportion to d.
    """
    return "; ".join(
        f"{x:.2g} parameters: {spent:.3g} s x {x:.2g} / {d:.2g} = {spent * x / d:.3g} s"
        for x in LARGE
    )


def _peak_elsewhere(way: str, d: int, K: int, kind: Any, device: Any) -> Any:
    command = [
        sys.executable,
        "-m",
        "benchmarks.mechanism",
        str(d),
        "--directions",
        str(K),
        "--kind",
        kind,
        "--device",
        device,
    ]
    environment = os.environ | GIVEN_BACK
    found = subprocess.run(
        [*command, "--peak", way], capture_output=True, text=True, check=True, env=environment
    )
    return float(found.stdout.split()[-1])


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.mechanism", description=__doc__)
    parser.add_argument("sizes", nargs="*", type=float, default=[1e6, 1e7])
    parser.add_argument("--directions", nargs="+", type=int, default=[1, 4, 16])
    parser.add_argument("--kind", default="float32")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--peak", choices=WAYS)
    asked = parser.parse_args()
    sizes = [int(d) for d in asked.sizes]
    if asked.peak:
        torch.set_num_threads(1)
        print(
            peak(
                asked.peak, sizes[0], asked.directions[0], getattr(torch, asked.kind), asked.device
            )
        )
    else:
        run(sizes, asked.directions, asked.kind, asked.device, asked.repeats)


if __name__ == "__main__":
    main()
