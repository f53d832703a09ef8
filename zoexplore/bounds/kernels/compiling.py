"""How loops are compiled: kept for the next process, and without the way in for C code, which would take a tenth of the time."""

from functools import partial

from numba import njit

kernel = partial(njit, cache=True, no_cfunc_wrapper=True)
