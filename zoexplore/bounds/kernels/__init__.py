"""The compiled loops, a file a family. No other module of the package imports numba.

A loop may call one of another file: what is kept of it counts as stale as soon as any file here is another
(`bounds/kernel_cache.py`). Kernels of numbers are for arrays too, where they are `elementwise`: rows of runs broadcast as NumPy's
do.
"""
