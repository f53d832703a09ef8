"""Compile kernels, and keep them for the next process. Entry points for C are left out, because
they would take a tenth of the time.
"""

from functools import partial, wraps
from itertools import count

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
    """Compile a function of numbers for arrays that broadcast, like a NumPy ufunc. Called with
    numbers, the result returns a number. An argument annotated as a tuple of numbers may be a tuple
    of arrays.

    numba rebuilds its own ufuncs in every process, which delays the first curves by a third of a
    second. The loop compiled here is cached under the file, line and module of `function`.
    """
    name, records, places = function.__name__, function.__annotations__, count()
    numbers = ", ".join(
        _read(records.get(of), places)
        for of in function.__code__.co_varnames[: function.__code__.co_argcount]
    )
    # move the loop to the line of `function`, where numba reads its source
    size, above = next(places), "\n" * (function.__code__.co_firstlineno - 2)
    source = above + LOOP.format(name=name, numbers=numbers)
    names = {
        "__name__": function.__module__,
        "empty": np.empty,
        name: kernel(error_model="numpy")(function),
    }
    names |= {each.__name__: each for each in records.values()}
    exec(compile(source, function.__code__.co_filename, "exec"), names)
    each = kernel(error_model="numpy")(names[f"each_{name}"])

    @wraps(function)
    def over_arrays(*given):
        each_column = [
            x for values in given for x in (values if isinstance(values, tuple) else (values,))
        ]
        shape = np.broadcast(*each_column).shape
        columns = np.empty((size, *shape))
        for k, values in enumerate(each_column):
            columns[k] = values
        return each(columns.reshape(size, -1)).reshape(shape)[()]

    return over_arrays


def _read(record, places):
    """Return the source text of one argument in the loop: a number, or a tuple of numbers."""
    if record is None:
        return f"columns[{next(places)}, i]"
    return f"{record.__name__}({', '.join(f'columns[{next(places)}, i]' for _ in record._fields)})"
