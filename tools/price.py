"""Trains the page's first run at seven noise scales, and one of fewer directions, for the story and
the page's first figure.

python -m tools.price
"""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

from zoexplore.run.presets import DEMONSTRATION
from zoexplore.run.setting import Accounting
from zoexplore.training import frontier, save
from zoexplore.views.training.jobs import METHOD, SEEDS, Asked

FILE = Path(__file__).parents[1] / "zoexplore" / "training" / "price.json"
FEW = 26  # the fewer directions


def main() -> None:
    """Train the runs, and write their frontier beside the finished comparison."""
    found = []
    for K in (DEMONSTRATION.K, FEW):
        asked = Asked(DEMONSTRATION.replace(K=K), Accounting())
        with ThreadPoolExecutor() as executor:
            found.append(
                frontier(
                    task=asked.task,
                    methods=(METHOD,),
                    sigmas=asked.sigmas,
                    seeds=SEEDS,
                    accounting=asked.accounting,
                    executor=executor,
                    **asked.others,
                )
            )
    save(replace(found[0], points=tuple(p for one in found for p in one.points)), FILE)


if __name__ == "__main__":
    main()
