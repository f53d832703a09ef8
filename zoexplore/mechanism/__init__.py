"""Noisy-ZOGD in torch: the mechanism whose privacy loss `zoexplore.bounds` counts."""

from zoexplore.mechanism import clipping
from zoexplore.mechanism.batches import Batch, PrivateSampler
from zoexplore.mechanism.checksums import mark_moved
from zoexplore.mechanism.directions import stiefel
from zoexplore.mechanism.optimiser import NoisyZOGD
from zoexplore.mechanism.record import Declared, RunRecord, Step
from zoexplore.mechanism.report import Report, privacy_report
from zoexplore.mechanism.rng import Sources

__all__ = [
    "Batch",
    "Declared",
    "NoisyZOGD",
    "PrivateSampler",
    "Report",
    "RunRecord",
    "Sources",
    "Step",
    "clipping",
    "mark_moved",
    "privacy_report",
    "stiefel",
]
