"""The compiled loops, a file a family. No other module of the package imports numba.

Each file calls only itself: numba keys a cached function on its own file, so a caller elsewhere could keep running an old
callee. The kernels are NumPy ufuncs where they can be, so that rows of runs broadcast as arrays do.
"""
