"""Files are written whole or not at all: a full disk leaves the old file."""

import os
from contextlib import suppress
from pathlib import Path
from uuid import uuid4


def write(path: str | Path, content: bytes) -> None:
    """Write a file beside the one of that name, then put it in its place.

    Raises:
        OSError: it cannot be written; the message says which file, why, and what to do. What was there before still is.
    """
    place = Path(os.path.realpath(path))  # where the name is a link, what it links to
    beside = place.with_name(f".{place.name[:40]}.{uuid4().hex[:8]}.part")
    try:
        with beside.open("xb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())  # some file systems tell only now that there is no room
        os.replace(beside, place)
    except BaseException as error:
        with suppress(OSError):
            beside.unlink(missing_ok=True)
        if not isinstance(error, OSError):
            raise
        why = f"{os.fspath(path)!r} was not written: {error.strerror or error}"
        raise OSError(error.errno, f"{why}. Make room or give another folder, and save again") from error
