"""Factors that cover rounding errors, so that every number errs to the safe side."""

# a few roundings: next to a growth of 1 they would count as contraction, as many times over as
# there are steps
UP = 1.0 + 2e-15
SUMS_UP = 1.0 + 1e-10  # long sums round to less than that
