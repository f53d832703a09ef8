"""The finished comparison that the page shows first: JSON beside this file, read without torch."""

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from zoexplore.training.results import Frontier, of_dict

FILE = Path(__file__).with_name("comparison.json")


@dataclass(frozen=True)
class Finished:
    """Methods on one task, tuned in the same way and measured at fixed epsilons.

    Args:
        frontier: each point has one accuracy per draw of the tuning, which is the mean over
            simulated runs. Its setting is that of the draw with the best validation accuracy.
        date: when it was made, ISO 8601, UTC.
        seconds: processor time.
        trials: the least and the greatest number of trials in one draw of the tuning, over methods
            and epsilons.
    """

    frontier: Frontier
    date: str
    seconds: float
    trials: tuple[int, int]


@cache
def load(path: Path = FILE) -> dict[str, Finished]:
    """Read results by task. Raises OSError or ValueError if there are none."""
    about = json.loads(path.read_bytes())
    return {
        task: Finished(
            **one | {"frontier": of_dict(one["frontier"]), "trials": tuple(one["trials"])}
        )
        for task, one in about.items()
    }
