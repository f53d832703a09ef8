"""Noisy-ZOGD in torch: the mechanism whose privacy loss `zoexplore.bounds` counts."""

from zoexplore.mechanism import clipping
from zoexplore.mechanism.audit import audit, last_iterates
from zoexplore.mechanism.batches import Batch, PrivateSampler
from zoexplore.mechanism.branches import together
from zoexplore.mechanism.declaration import Declared
from zoexplore.mechanism.directions import stiefel
from zoexplore.mechanism.noise import hybrid, variances
from zoexplore.mechanism.optimiser import NoisyZOGD
from zoexplore.mechanism.post_processing import Adam, Momentum
from zoexplore.mechanism.progress import Progress
from zoexplore.mechanism.projection import project
from zoexplore.mechanism.report import Report, privacy_report
from zoexplore.mechanism.rng import Sources
from zoexplore.mechanism.run_record import RunRecord, Step

__all__ = [
    "Adam",
    "Batch",
    "Declared",
    "Momentum",
    "NoisyZOGD",
    "PrivateSampler",
    "Progress",
    "Report",
    "RunRecord",
    "Sources",
    "Step",
    "audit",
    "clipping",
    "hybrid",
    "last_iterates",
    "privacy_report",
    "project",
    "stiefel",
    "together",
    "variances",
]
