"""Limits: how much of anything one visitor may have of the server. Each has a default and a
variable that changes it.

A variable also names the sites that may frame the page.
"""

import os
from dataclasses import dataclass

PREFIX = "ZOEXPLORE_"
# the sites that may show the page in a frame, as in "https://example.org"; none where unset
FRAMES = PREFIX + "FRAMES"


@dataclass(frozen=True)
class Limit:
    """One limit: its environment variable's name after `ZOEXPLORE_`, which each use reads anew, its
    default, and its unit and meaning as in the table of docs/deploy.md.
    """

    name: str
    default: int
    unit: str
    meaning: str

    @property
    def variable(self) -> str:
        """The environment variable that sets it."""
        return PREFIX + self.name

    @property
    def value(self) -> int:
        """The limit that holds now.

        Raises:
            ValueError: the variable is set to something else than a whole number above 0.
        """
        given = os.environ.get(self.variable, str(self.default))
        if not (given.isascii() and given.isdigit() and int(given)):
            raise ValueError(
                f"{self.variable} = {given!r} is not allowed: give a whole number above 0"
            )
        return int(given)


READERS = Limit("READERS", 35, "readers", "sessions of one process at a time")
IDLE_SECONDS = Limit(
    "IDLE_SECONDS",
    120,
    "s",
    "without a move after which a session ends where another waits for its seat",
)
CONNECTIONS = Limit(
    "CONNECTIONS",
    4000,
    "connections",
    "at a time, and fewer where the system allows fewer open files",
)
LINGER_SECONDS = Limit(
    "LINGER_SECONDS", 60, "s", "that a session outlives its closed page or lost connection"
)
RUN_STEPS = Limit("RUN_STEPS", 5_000_000, "steps", "of one training: points times seeds times T")
RUN_SECONDS = Limit("RUN_SECONDS", 300, "s", "that one training may take")
TRAININGS = Limit(
    "TRAININGS", 2, "trainings", "at a time, of all readers of a process; others wait in order"
)
WORKERS = Limit("WORKERS", 3, "processes", "that compute for all readers of a process")
WORKER_MEGABYTES = Limit(
    "WORKER_MEGABYTES", 4096, "MB", "of memory that one computing process may take (Linux)"
)

# read by the test of docs/deploy.md's table
ALL = tuple(limit for limit in list(globals().values()) if isinstance(limit, Limit))
