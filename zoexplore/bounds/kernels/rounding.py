"""Factors that cover rounding errors, so that every number errs to the safe side."""

# pays for a few roundings, which next to a growth of 1 would count as contraction in every step
UP = 1.0 + 2e-15
SUMS_UP = 1.0 + 1e-10  # pays for the rounding of long sums
