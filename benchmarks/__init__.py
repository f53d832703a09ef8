"""How fast and how tight the accountant is, as ratios measured in one run: `python -m benchmarks`."""
