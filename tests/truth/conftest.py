"""Hypothesis without deadlines, the same examples every time: averages over draws must not pass or fail by luck."""

from hypothesis import settings

settings.register_profile("truth", deadline=None, derandomize=True)
settings.load_profile("truth")
