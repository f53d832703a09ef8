"""A warning for `panel serve` beyond this machine: it has Panel's handlers, and none of this package's guards."""

import argparse
import logging
import sys
from collections.abc import Sequence
from functools import cache
from html import escape

import panel as pn

SAID = (
    "This process may be reached from elsewhere, and has no guards against others. "
    "To serve others: zoexplore serve --address 0.0.0.0 --origin HOST; "
    "for this machine alone: panel serve app.py --address 127.0.0.1"
)


def warn() -> None:
    """Say so on the current document, and once in the log."""
    if pn.state.curdoc and listens_beyond(sys.orig_argv):
        _log()
        alert = f'<p role="alert" style="margin:0;padding:.5rem 1rem;background:#8b0000;color:#fff">{escape(SAID)}</p>'
        pn.pane.HTML(alert, sizing_mode="stretch_width").servable()


@cache  # once a process
def _log() -> None:
    logging.getLogger("zoexplore").warning(SAID)


def listens_beyond(arguments: Sequence[str]) -> bool:
    """Whether `panel serve` with these arguments listens beyond this machine, as it does by default."""
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    parser.add_argument("--address")
    return parser.parse_known_args(arguments)[0].address not in ("127.0.0.1", "::1", "localhost")
