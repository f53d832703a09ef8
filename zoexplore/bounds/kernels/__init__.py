"""The compiled kernels, one file per family. No other module of the package imports numba.

A kernel may call a kernel of another file, so the cache is stale as soon as any file here changes
(`bounds/kernel_cache.py`). `elementwise` kernels also take arrays, which broadcast as in NumPy.
"""
