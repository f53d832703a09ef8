"""Where numba keeps compiled kernels: in the first writable folder, which gets a new subfolder
whenever a kernel file changes.

A cached kernel contains the kernels that it calls, from any file, but numba only checks the
kernel's own file. numba also fails to read an index of kernels whose types no longer exist. So each
state of `kernels/` has a folder of its own, and no number comes from old code.

On a read-only installation without a home, as in containers, kernels go to a temporary folder that
is removed when the process ends. If no folder is writable, each process compiles again. Kernels of
other packages are cached as numba does by default.
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
# the variable that tells child processes where this process has its temporary folder
FOR_PROCESSES = "ZOEXPLORE_CACHE_DIR"
KERNELS = Path(__file__).with_name("kernels")
OF_STATE = "kernels-"  # the start of each folder's name; a folder holds one state of the kernels
ROOM = 16 << 20  # bytes, twice what all kernels take
_UNKNOWN = (None, errno.EOPNOTSUPP, errno.ENOSYS, errno.EINVAL)


class Locator:
    """Locates and validates cached kernels. numba asks this class first, and then its own locators
    for functions that are not kernels.
    """

    def __init__(self, function: Callable[..., Any], file: str):
        self._py_file = file  # numba names this file in its warnings
        self._line = function.__code__.co_firstlineno

    @classmethod
    def from_function(cls, function: Callable[..., Any], file: str) -> "Locator | None":
        """Return a locator for a kernel, or None for any other function."""
        return cls(function, file) if Path(file).parent == KERNELS else None

    def get_cache_path(self) -> str:
        """Return the folder of the kernels in their present state."""
        return str(_folder() / f"{OF_STATE}{_stamp()[:12]}")  # type: ignore[operator]

    def ensure_cache_path(self) -> None:
        """Make the folder if it is missing, and remove the folders of earlier states."""
        folder = Path(self.get_cache_path())
        if not folder.is_dir():
            for earlier in folder.parent.glob(f"{OF_STATE}*"):
                shutil.rmtree(earlier, ignore_errors=True)
            folder.mkdir(parents=True, exist_ok=True)

    def get_source_stamp(self) -> str:
        """Return one stamp for all kernels, which changes with any of their files."""
        return _stamp()

    def get_disambiguator(self) -> str:
        """Distinguish functions of the same name."""
        return str(self._line)


def install() -> None:
    """Make numba ask `Locator` first, through a setting of numba. Call this before importing a
    kernel.
    """
    from numba.core import caching, config

    others = config.CACHE_LOCATOR_CLASSES or ",".join(
        locator.__name__ for locator in caching.CacheImpl._locator_classes
    )
    config.CACHE_LOCATOR_CLASSES = f"{__name__}.{Locator.__name__},{others}"


def kept() -> bool:
    """Say whether kernels can be cached. If not, numba must not try, because it raises an error
    when it cannot save.
    """
    return _folder() is not None


@cache
def _folder() -> Path | None:
    """Return the first folder with room: the one in NUMBA_CACHE_DIR, the one beside the code, the
    user's, or a temporary one; None if there is none.
    """
    # the name of this installation's folder
    ours = f"zoexplore-{hashlib.sha256(str(KERNELS).encode()).hexdigest()[:12]}"
    of_user = (
        Path(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")) / "numba" / ours
    )
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
    _LOG.warning(
        "compiled code is not kept, and the next process compiles again: no folder has %d MB of room",
        ROOM >> 20,
    )
    return None


@cache
def _stamp() -> str:
    """Return a digest of all kernel files."""
    files = sorted(KERNELS.glob("*.py"))
    return hashlib.sha256(
        b"".join(file.name.encode() + file.read_bytes() for file in files)
    ).hexdigest()


def _has_room(folder: Path) -> bool:
    """Say whether the folder has room for `ROOM` bytes, by reserving them for a moment. Where that
    is not possible, ask for the disk's free space.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder) as file:
            try:
                os.posix_fallocate(file.fileno(), 0, ROOM)
            # the platform lacks this function, or the disk does not allow it
            except (AttributeError, OSError) as error:
                return (
                    getattr(error, "errno", None) in _UNKNOWN
                    and shutil.disk_usage(folder).free >= ROOM
                )
        return True
    except OSError:
        return False
