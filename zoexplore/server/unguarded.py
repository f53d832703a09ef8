"""What `panel serve` says where it listens beyond this machine: it has Panel's handlers, and none of this package's guards."""

import logging
import os
import socket
import stat
from contextlib import suppress
from functools import cache
from html import escape
from ipaddress import ip_address

import panel as pn

INSTEAD = "zoexplore serve --address 0.0.0.0 --origin HOST"
OWN = "panel serve app.py --address 127.0.0.1"
MOST_FILES = 1024  # open files that are looked at


def warn() -> None:
    """Say so on the current document, and once in the log."""
    if pn.state.curdoc and (hosts := listening_beyond()):
        said = (
            f"This process listens on {', '.join(hosts)}, where others reach it, and has no guards against them. "
            f"To serve others: {INSTEAD}; for this machine alone: {OWN}"
        )
        _log(said)
        alert = f'<p role="alert" style="margin:0;padding:.5rem 1rem;background:#8b0000;color:#fff">{escape(said)}</p>'
        pn.pane.HTML(alert, sizing_mode="stretch_width").servable()


@cache  # once a process
def _log(said: str) -> None:
    logging.getLogger("zoexplore").warning(said)


def listening_beyond() -> list[str]:
    """The addresses, other than this machine's own, on which this process listens; none where that cannot be found out."""
    found: set[str] = set()
    for file in range(MOST_FILES):
        with suppress(OSError):
            if stat.S_ISSOCK(os.fstat(file).st_mode):
                with socket.socket(fileno=os.dup(file)) as each:
                    internet = each.family in (socket.AF_INET, socket.AF_INET6)
                    if internet and each.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN):
                        found.add(each.getsockname()[0])
    return sorted(host for host in found if not ip_address(host.partition("%")[0]).is_loopback)
