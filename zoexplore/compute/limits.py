"""Limits on how much of the server visitors may use. Each `Limit` has a default, and an
environment variable that replaces the default.

Another variable names the sites that may frame the page.
"""

import os
from dataclasses import dataclass

PREFIX = "ZOEXPLORE_"
# the sites that may show the page in a frame, as in "https://example.org"; none if unset
FRAMES = PREFIX + "FRAMES"


@dataclass(frozen=True)
class Limit:
    """One limit: the name of its environment variable after `ZOEXPLORE_`, and its default. Each use
    reads the variable anew; docs/deploy.md says what each limit is for.
    """

    name: str
    default: int

    @property
    def variable(self) -> str:
        """The environment variable that sets this limit."""
        return PREFIX + self.name

    @property
    def value(self) -> int:
        """The limit that holds now.

        Raises:
            ValueError: the variable is set to something other than a whole number above 0.
        """
        given = os.environ.get(self.variable, str(self.default))
        if not (given.isascii() and given.isdigit() and int(given)):
            raise ValueError(
                f"{self.variable} = {given!r} is not allowed: give a whole number above 0"
            )
        return int(given)


READERS = Limit("READERS", 35)
IDLE_SECONDS = Limit("IDLE_SECONDS", 120)
CONNECTIONS = Limit("CONNECTIONS", 4000)
LINGER_SECONDS = Limit("LINGER_SECONDS", 60)
RUN_STEPS = Limit("RUN_STEPS", 5_000_000)
RUN_SECONDS = Limit("RUN_SECONDS", 300)
TRAININGS = Limit("TRAININGS", 2)
WORKERS = Limit("WORKERS", 3)
WORKER_MEGABYTES = Limit("WORKER_MEGABYTES", 4096)

# seconds that a call may take, even on a machine that is busy with other things
LONGEST_CALL = 180.0
GRACE = 10.0  # seconds that a call may go on after its callers have gone
