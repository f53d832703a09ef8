"""Where compiled loops are kept: numba looks beside the code and in the user's cache, and gives up where neither can be written.

A loop that is kept was compiled with those that it calls, of whatever file, but numba asks only whether its own file has changed:
here every file of the kernels counts, for else a number could come from code that is no longer there.

On a read-only installation without a home, as containers are, they are kept in a folder that ends with the process. On a full
disk they are not kept, and the next process compiles again.
"""

import atexit
import hashlib
import logging
import os
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

_LOG = logging.getLogger("zoexplore")
VARIABLE = "NUMBA_CACHE_DIR"
KERNELS = Path(__file__).with_name("kernels")


def ensure() -> None:
    """Before a kernel is imported: give numba a folder if it would have none, let it go on where that is full, and have it forget
    every kernel when one has changed.
    """
    _find()
    _forgive()
    _together()


def _find() -> None:
    beside = KERNELS / "__pycache__"
    of_user = Path(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")) / "numba"
    named = [Path(os.environ[VARIABLE])] if os.environ.get(VARIABLE) else []
    if any(map(_writable, (*named, beside, of_user))):
        return
    folder = tempfile.mkdtemp(prefix="zoexplore-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    os.environ[VARIABLE] = folder
    if "numba" in sys.modules:  # it has read the variable already
        sys.modules["numba"].config.CACHE_DIR = folder


def _forgive() -> None:
    """numba raises where it cannot keep what it has compiled, and then nothing can be computed: it has no option for that."""
    from numba.core.caching import Cache

    save = Cache.save_overload

    def saved(self: Any, *args: Any) -> None:
        try:
            save(self, *args)
        except OSError as error:
            _LOG.warning("compiled code is not kept, and the next process compiles again: %s", error)

    Cache.save_overload = saved


def _together() -> None:
    from numba.core.caching import _SourceFileBackedLocatorMixin as Locator

    alone, together = Locator.get_source_stamp, stamp(KERNELS)

    def get_source_stamp(self: Any) -> Any:
        return together if Path(self._py_file).parent == KERNELS else alone(self)

    Locator.get_source_stamp = get_source_stamp


def stamp(folder: Path) -> str:
    """What all of a folder's source files come to."""
    files = (f"{file.name} {hashlib.sha256(file.read_bytes()).hexdigest()}" for file in sorted(folder.glob("*.py")))
    return " ".join(files)


def _writable(folder: Path) -> bool:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=folder).close()
    except OSError:
        return False
    return True
