"""Trains the page's first run at several noise scales, for the last step of the story.

python -m tools.price
"""

from pathlib import Path

from zoexplore.run.presets import DEMONSTRATION
from zoexplore.run.setting import Accounting
from zoexplore.training import frontier, save

FILE = Path(__file__).parents[1] / "zoexplore" / "training" / "price.json"
SIGMAS = (5e-5, 1e-3, 1.4e-3, 2e-3, 3e-3, 5e-3, 1e-2)


def main() -> None:
    """Train, and write the frontier beside the finished comparison."""
    s = DEMONSTRATION
    found = frontier(
        task="mixture", methods=("noisy-zogd",), sigmas=SIGMAS, K=s.K, beta=s.beta, T=s.T, seeds=8, delta=s.delta,
        accounting=Accounting(),
    )  # fmt: skip
    save(found, FILE)


if __name__ == "__main__":
    main()
