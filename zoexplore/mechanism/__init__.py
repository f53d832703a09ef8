"""Noisy-ZOGD in torch: the mechanism whose privacy loss `zoexplore.bounds` counts."""

from zoexplore.mechanism import clipping
from zoexplore.mechanism.audit import audit, last_iterates
from zoexplore.mechanism.declared import Declared
from zoexplore.mechanism.directions import stiefel
from zoexplore.mechanism.noise import hybrid, variances
from zoexplore.mechanism.optimiser import NoisyZOGD
from zoexplore.mechanism.projection import project
from zoexplore.mechanism.report import Report, privacy_report
from zoexplore.mechanism.sources import Sources

__all__ = [
    "Declared",
    "NoisyZOGD",
    "Report",
    "Sources",
    "audit",
    "clipping",
    "hybrid",
    "last_iterates",
    "privacy_report",
    "project",
    "stiefel",
    "variances",
]
