"""Measures a step that trains the whole of a pretrained encoder, for `python -m benchmarks.rivals`:
its seconds, and its memory beyond the model's.
"""

from argparse import ArgumentParser
from collections.abc import Callable
from math import sqrt
from time import process_time
from typing import Any

import torch
from opacus import GradSampleModule
from opacus.optimizers import DPOptimizer
from torch import Tensor, nn
from transformers import AutoModelForSequenceClassification, AutoTokenizer

from benchmarks.rivals import ENCODER, PACKAGES, reviews
from benchmarks.timing import memory_of
from zoexplore import Setting
from zoexplore.hf.losses import loss_for
from zoexplore.mechanism import NoisyZOGD, Sources

RECORDS = TOKENS = 32  # the records of a step, and the tokens of a record


def taken() -> tuple[nn.Module, dict[str, Tensor]]:
    """Return the encoder, all of which is trained, and a batch of reviews."""
    texts, y = reviews()
    tokenizer = AutoTokenizer.from_pretrained(PACKAGES / ENCODER)
    model = AutoModelForSequenceClassification.from_pretrained(PACKAGES / ENCODER, num_labels=2)
    way = {"padding": "max_length", "truncation": True, "return_tensors": "pt"}
    batch = dict(tokenizer(texts[:RECORDS], max_length=TOKENS, **way))
    # one row for each record, as Opacus needs
    batch["position_ids"] = torch.arange(TOKENS).expand(RECORDS, TOKENS)
    batch["labels"] = y[:RECORDS]
    return model.eval(), batch


def step_of_ours(model: nn.Module, batch: dict[str, Tensor]) -> Callable[[], Any]:
    d = sum(p.numel() for p in model.parameters())
    setting = Setting(n=RECORDS, d=d, K=1, T=1000, sigma=0.1, beta=1.0, eta=1.0, xi=1e-3 * sqrt(d))
    optimiser = NoisyZOGD(model, loss_for(model), setting, loss_of="model", sources=Sources(1, 2))
    return lambda: optimiser.step(optimiser.batch(batch))


def step_of_mezo(model: nn.Module, batch: dict[str, Tensor]) -> Callable[[], Any]:
    """Return a step that moves parameters in place, along a direction made again from its seed each
    time.
    """

    def move(by: float) -> None:
        generator = torch.Generator().manual_seed(0)
        for p in model.parameters():
            p.add_(torch.randn(p.shape, generator=generator), alpha=by)

    @torch.no_grad()
    def step() -> None:
        move(1e-3)
        ahead = float(model(**batch).loss)
        move(-2e-3)
        slope = (ahead - float(model(**batch).loss)) / 2e-3
        move(1e-3 - 1e-6 * slope)

    return step


def step_of_dpsgd(model: nn.Module, batch: dict[str, Tensor]) -> Callable[[], Any]:
    module = GradSampleModule(model.train(), strict=False)
    descent = torch.optim.SGD(module.parameters(), lr=0.1)
    optimizer = DPOptimizer(
        descent, noise_multiplier=1.0, max_grad_norm=1.0, expected_batch_size=RECORDS
    )

    def step() -> None:
        module(**batch).loss.backward()
        optimizer.step()
        optimizer.zero_grad()

    return step


STEPPERS = {"ours": step_of_ours, "MeZO": step_of_mezo, "DP-SGD": step_of_dpsgd}


def main() -> None:
    parser = ArgumentParser(prog="python -m benchmarks.whole", description=__doc__)
    parser.add_argument("name", choices=STEPPERS)
    given = parser.parse_args()
    torch.set_num_threads(1)
    model, batch = taken()
    seconds = list[float]()

    def steps() -> None:
        step = STEPPERS[given.name](model, batch)
        for _ in range(5):
            began = process_time()
            step()
            seconds.append(process_time() - began)

    more = memory_of(steps)
    print(f"| {given.name} | {min(seconds):.2f} | {more / 2**30:.2f} |")


if __name__ == "__main__":
    main()
