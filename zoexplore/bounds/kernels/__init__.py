"""The compiled kernels, one file a family. No other module of the package imports numba.

A kernel may call one of another file: the cache is stale as soon as any file here changes
(`bounds/kernel_cache.py`). `elementwise` kernels take arrays too, which broadcast as in NumPy.
"""
