"""Measures how fast and how tight the accountant is, as ratios: `python -m benchmarks`."""
