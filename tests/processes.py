"""Processes that train together: one side starts them, each of them joins the others, and writes
what it found to a file.

They meet in a folder. A port that was free when it was chosen may be somebody else's when it is
taken; and what several processes print into one pipe, libraries' words among it, may cut into each
other.
"""

import json
import os
import subprocess
import sys
from contextlib import suppress
from datetime import timedelta
from pathlib import Path

from torch import distributed

ROOT = Path(__file__).parents[1]
AGREED = timedelta(minutes=5)  # that one waits for another on a busy machine


def together(module, count, folder, *names, launcher=False):
    """Run a module in so many processes, started by torchrun or here, with a folder and names for
    arguments: what they found, by rank.
    """
    folder.mkdir(parents=True, exist_ok=True)
    usual = os.environ | {
        "PYTHONPATH": str(ROOT),
        "OMP_NUM_THREADS": "1",
        "LOCAL_WORLD_SIZE": str(count),
    }
    script = ["-m", module, str(folder), *names]
    if launcher:
        torchrun = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", str(count)]
        commands = [([sys.executable, *torchrun, *script], usual | {"BY_TORCHRUN": "1"})]
    else:
        own = {"WORLD_SIZE": str(count)}
        commands = [
            ([sys.executable, *script], usual | own | {"RANK": str(r), "LOCAL_RANK": str(r)})
            for r in range(count)
        ]
    started = [
        subprocess.Popen(command, env=environment, cwd=ROOT) for command, environment in commands
    ]
    try:
        for process in started:
            process.wait(600)
    finally:
        for process in started:
            process.kill()
    return {int(path.stem): json.loads(path.read_text()) for path in folder.glob("[0-9].json")}


def join(folder):
    """The group of all processes."""
    rank, count = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    where = (
        {} if "BY_TORCHRUN" in os.environ else {"init_method": f"file://{folder.absolute()}/met"}
    )
    distributed.init_process_group("gloo", rank=rank, world_size=count, timeout=AGREED, **where)
    return distributed.group.WORLD


def write(folder, found):
    """What this process found so far."""
    (folder / f"{distributed.get_rank()}.json").write_text(json.dumps(found))


def leave():
    """End with the others: what one that ends early has not read, its peers have not sent."""
    with suppress(RuntimeError):  # one of them has ended before, as it was to
        distributed.barrier()
    os._exit(0)
