"""What goes wrong is logged, on lines of its own, and of readers nothing."""

import io
import logging
from types import SimpleNamespace

import pytest
from tornado.httputil import HTTPHeaders, HTTPServerRequest, RequestStartLine
from tornado.web import HTTPError, RequestHandler
from tornado.websocket import WebSocketClosedError

from zoexplore.server import monitoring

ASKED = RequestStartLine("GET", "/app?secret=1", "HTTP/1.1")
NOBODY = SimpleNamespace(
    context=SimpleNamespace(remote_ip="198.51.100.7", protocol="http"),
    set_close_callback=lambda _: None,
)


@pytest.fixture
def log():
    """A logger, and what it has written; what Tornado logs is there, too."""
    written, logger = io.StringIO(), logging.getLogger("tests.logs")
    handler = logging.StreamHandler(written)
    handler.setFormatter(monitoring.Harmless(monitoring.FORMAT))
    handler.addFilter(monitoring.discreet)
    logger.addHandler(handler)
    logger.propagate = False
    logging.getLogger("tornado").addHandler(handler)
    yield logger, written.getvalue
    logger.removeHandler(handler)
    logging.getLogger("tornado").removeHandler(handler)


def fail(kind, said):
    raise kind(said) if said else kind()


def failed(logger, kind=ValueError, said=""):
    try:
        fail(kind, said)
    except kind:
        logger.exception("a callback failed")


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r", "\u2028", "\x85"])
def test_nobody_writes_a_line_of_the_log_or_commands_its_terminal(log, end):
    logger, written = log
    forged = f"nothing{end}2026-01-01 00:00:00,000 ERROR zoexplore: forged \x1b[2J\x9b2J\x00\b"
    logger.error("given: %s", forged)
    failed(logger, said=forged)
    lines = written().splitlines()
    assert (
        not any(line.startswith("2026-01-01") for line in lines)
        and sum("forged" in line for line in lines) >= 2
    )
    assert all(character == "\n" or character.isprintable() for character in written())


def test_that_a_reader_leaves_while_something_is_on_its_way_is_not_logged(log):
    logger, written = log
    failed(logger, WebSocketClosedError)
    assert not written()


@pytest.mark.parametrize("error", [ValueError("too small"), HTTPError(400, "too %s", "small")])
def test_no_request_is_logged(log, error):
    """Neither whose it was nor what it asked for."""
    headers = HTTPHeaders({"Host": "zo.example.org"})
    handler = SimpleNamespace(
        request=HTTPServerRequest(headers=headers, connection=NOBODY, start_line=ASKED)
    )
    handler._request_summary = lambda: f"GET {handler.request.uri} ({handler.request.remote_ip})"
    RequestHandler.log_exception(handler, type(error), error, error.__traceback__)
    written = log[1]()
    assert written.startswith("20") and "secret" not in written and "198.51" not in written
