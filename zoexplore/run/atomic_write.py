"""Atomic writes: a failure, such as a full disk, leaves the old file as it was."""

import os
from contextlib import suppress
from glob import escape
from pathlib import Path
from time import time
from uuid import uuid4

# seconds after which a temporary file counts as abandoned: writing it takes far less
ABANDONED = 3600.0


def write(path: str | Path, content: bytes) -> None:
    """Write a temporary file beside the path, then rename it. Temporary files that killed processes
    left are removed; a device or pipe is written directly.

    Raises:
        OSError: writing failed; the message says which file, why, and what to do. The old file is
            unchanged.
    """
    place = Path(os.path.realpath(path))  # follow symbolic links
    start = f".{place.name[:40]}."
    beside = place.with_name(f"{start}{uuid4().hex[:8]}.part")
    try:
        if place.exists() and not place.is_file() and not place.is_dir():
            place.write_bytes(content)
            return
        _remove_abandoned(place.parent, start)
        with beside.open("xb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())  # some file systems report a full disk only here
        os.replace(beside, place)
    except BaseException as error:
        with suppress(OSError):
            beside.unlink(missing_ok=True)
        if not isinstance(error, OSError):
            raise
        why = f"{os.fspath(path)!r} was not written: {error.strerror or error}"
        raise OSError(
            error.errno, f"{why}. Make room or give another folder, and save again"
        ) from error


def _remove_abandoned(folder: Path, start: str) -> None:
    for left in folder.glob(f"{escape(start)}????????.part"):
        with suppress(OSError):  # another process may have removed it
            if time() - left.stat().st_mtime > ABANDONED:
                left.unlink()
