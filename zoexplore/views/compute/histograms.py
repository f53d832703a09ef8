"""Many draws of one step's directions, as histograms of the contraction factor. No Panel here."""

import numpy as np

from zoexplore.directions import one_step_factors
from zoexplore.views.compute.remember import remembered

KINDS = ("orthonormal", "independent")
SAMPLES, SEED, BINS = 2000, 1, 60


@remembered()
def histograms(d: int, K: int, c: float) -> dict[str, np.ndarray]:
    """Densities of the one-step factor for both kinds of directions over the same bins."""
    drawn = {kind: one_step_factors(d, K, c, SAMPLES, SEED, kind == "orthonormal") for kind in KINDS}
    low, high = min(x.min() for x in drawn.values()), max(x.max() for x in drawn.values())
    pad = max(high - low, 1e-6) * 0.02
    edges = np.linspace(max(low - pad, 0), high + pad, BINS + 1)
    densities = {kind: np.histogram(x, edges, density=True)[0] for kind, x in drawn.items()}
    return {"left": edges[:-1], "right": edges[1:], **densities}
