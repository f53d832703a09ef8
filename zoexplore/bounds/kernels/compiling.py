"""How kernels are compiled: cached for the next process, and without entry points for C, which would take a tenth of the time."""

from functools import partial, wraps

import numpy as np
from numba import njit

from zoexplore.bounds import kernel_cache

kernel = partial(njit, cache=kernel_cache.kept(), no_cfunc_wrapper=True)

LOOP = """
def each_{name}(columns):
    found = empty(columns.shape[1])
    for i in range(found.size):
        found[i] = {name}({numbers})
    return found
"""


def elementwise(function):
    """Compile a function of numbers for arrays that broadcast, as a NumPy ufunc does; numbers give a number. numba rebuilds its
    own ufuncs in every process, which delays the first curves by a third of a second. This loop is cached: it takes over the
    file, line and module of `function`.
    """
    name, count = function.__name__, function.__code__.co_argcount
    above = "\n" * (function.__code__.co_firstlineno - 2)  # numba reads the source there, and not every line begins a block
    source = above + LOOP.format(name=name, numbers=", ".join(f"columns[{k}, i]" for k in range(count)))
    names = {"__name__": function.__module__, "empty": np.empty, name: kernel(error_model="numpy")(function)}
    exec(compile(source, function.__code__.co_filename, "exec"), names)
    each = kernel(error_model="numpy")(names[f"each_{name}"])

    @wraps(function)
    def over_arrays(*given):
        shape = np.broadcast(*given).shape
        columns = np.empty((count, *shape))
        for k, values in enumerate(given):
            columns[k] = values
        return each(columns.reshape(count, -1)).reshape(shape)[()]

    return over_arrays
