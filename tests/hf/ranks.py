"""One of several processes that fine-tune together: `python -m tests.hf.ranks FOLDER`."""

import sys
from pathlib import Path

import tests.hf.conftest  # noqa: F401  (no network, one thread)
from tests import processes
from tests.hf.tiny import roberta, trainer, weights

USUAL = {
    "max_steps": 4,
    "save_strategy": "steps",
    "save_steps": 2,
    "microbatch": 4,
    "beta": 0.5,
    "learning_rate": 30.0,
}


def outcome(made):
    bits = weights(made.model).numpy().tobytes().hex()
    return [
        bits,
        repr(made.privacy_report()),
        [entry["loss"] for entry in made.state.log_history if "loss" in entry],
    ]


if __name__ == "__main__":
    folder, found = Path(sys.argv[1]), []
    processes.join(folder)
    for resumed in (False, True):  # the second from the half of the first
        made = trainer(folder, roberta(), per_device_train_batch_size=4, **USUAL)
        made.train(resume_from_checkpoint=str(folder / "checkpoint-2") if resumed else None)
        found.append(outcome(made))
    processes.write(folder, found)
    processes.leave()
