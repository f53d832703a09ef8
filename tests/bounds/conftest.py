"""Hypothesis without deadlines: the first call of a kernel may compile it."""

from hypothesis import settings

settings.register_profile("bounds", deadline=None)
settings.load_profile("bounds")
