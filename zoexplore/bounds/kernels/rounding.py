"""Factors that cover rounding errors, so that every number errs to the safe side."""

# pays for a few roundings: if a growth of 1 were rounded down, every step would seem to contract
UP = 1.0 + 2e-15
SUMS_UP = 1.0 + 1e-10  # pays for the rounding of long sums
