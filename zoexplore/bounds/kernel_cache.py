"""Where compiled loops are kept: numba looks beside the code and in the user's cache, and gives up where neither can be written.

A loop that is kept was compiled with those that it calls, of whatever file, but numba asks only whether its own file has changed:
here every file of the kernels counts, for else a number could come from code that is no longer there.

On a read-only installation without a home, as containers are, they are kept in a folder that ends with the process.
Where there is room nowhere they are not kept, and the next process compiles again. All this holds of the kernels alone:
what other packages compile in the same process is kept as numba keeps it.
"""

import atexit
import errno
import hashlib
import logging
import os
import shutil
import tempfile
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

_LOG = logging.getLogger("zoexplore")
VARIABLE = "NUMBA_CACHE_DIR"
FOR_PROCESSES = "ZOEXPLORE_CACHE_DIR"  # a folder that ends with the process, for those that it starts
KERNELS = Path(__file__).with_name("kernels")
ROOM = 16 << 20  # bytes: all kernels take half of it
_UNKNOWN = (None, errno.EOPNOTSUPP, errno.ENOSYS, errno.EINVAL)


class Locator:
    """Where a kernel is kept, and whether it is still the one: numba asks here first, and its own locators for other loops."""

    def __init__(self, function: Callable[..., Any], file: str):
        self._py_file = file  # numba names it in its warnings
        self._line = function.__code__.co_firstlineno

    @classmethod
    def from_function(cls, function: Callable[..., Any], file: str) -> "Locator | None":
        """None for any function but a kernel."""
        return cls(function, file) if Path(file).parent == KERNELS else None

    def get_cache_path(self) -> str:
        """The folder of all kernels."""
        return str(_folder())

    def ensure_cache_path(self) -> None:
        """Make the folder where it is gone."""
        Path(self.get_cache_path()).mkdir(parents=True, exist_ok=True)

    def get_source_stamp(self) -> str:
        """The same for all kernels, and another once any of their files is another."""
        return _stamp()

    def get_disambiguator(self) -> str:
        """What tells loops of one name apart."""
        return str(self._line)


def install() -> None:
    """Before a kernel is imported: have numba ask `Locator` first, by its own setting for that."""
    from numba.core import caching, config

    others = config.CACHE_LOCATOR_CLASSES or ",".join(locator.__name__ for locator in caching.CacheImpl._locator_classes)
    config.CACHE_LOCATOR_CLASSES = f"{__name__}.{Locator.__name__},{others}"


def kept() -> bool:
    """Whether kernels are kept. Where they cannot be, numba is not to try: it raises where it cannot save what it compiled."""
    return _folder() is not None


@cache
def _folder() -> Path | None:
    """The first with room: the one that NUMBA_CACHE_DIR names, the one beside the code, the user's; else a new one, if any."""
    ours = f"zoexplore-{hashlib.sha256(str(KERNELS).encode()).hexdigest()[:12]}"  # of this installation
    of_user = Path(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")) / "numba" / ours
    named = [Path(os.environ[VARIABLE]) / ours] if os.environ.get(VARIABLE) else []
    started = [Path(os.environ[FOR_PROCESSES])] if os.environ.get(FOR_PROCESSES) else []
    for folder in (*named, KERNELS / "__pycache__", of_user, *started):
        if _has_room(folder):
            return folder
    with suppress(OSError):
        folder = Path(tempfile.mkdtemp(prefix="zoexplore-"))
        atexit.register(shutil.rmtree, folder, ignore_errors=True)
        if _has_room(folder):
            os.environ[FOR_PROCESSES] = str(folder)
            return folder
    _LOG.warning("compiled code is not kept, and the next process compiles again: no folder has %d MB of room", ROOM >> 20)
    return None


@cache
def _stamp() -> str:
    """A digest of every kernel file."""
    files = (f"{file.name} {hashlib.sha256(file.read_bytes()).hexdigest()}" for file in sorted(KERNELS.glob("*.py")))
    return " ".join(files)


def _has_room(folder: Path) -> bool:
    """Whether so much can be written there: asked of the disk, and of a quota where the system reserves space for files."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder) as file:
            try:
                os.posix_fallocate(file.fileno(), 0, ROOM)
            except (AttributeError, OSError) as error:  # there is no such function; or not for this kind of disk
                return getattr(error, "errno", None) in _UNKNOWN and shutil.disk_usage(folder).free >= ROOM
        return True
    except OSError:
        return False
