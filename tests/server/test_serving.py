"""What an operator sets: a path before the page's, the sites that may frame it; and what is left to
the proxy.
"""

import asyncio
import http.client
import re
import socket
import sys
import urllib.request
from types import SimpleNamespace

import pytest
from tornado.httputil import HTTPHeaders

from benchmarks.client import Reader
from tests.running import running, wait_until_served
from tests.server.visits import served
from tests.waiting import soon
from zoexplore.compute.limits import FRAMES
from zoexplore.server.headers import Headers, framing
from zoexplore.server.serving import SIGN_IN, serve

PATIENCE = 120  # seconds for an answer


def test_page_and_icon_are_there_beneath_a_path_and_say_at_once_what_they_are():
    with served(prefix="course") as origin:
        for path in ("app", "app/", "favicon.ico"):
            with urllib.request.urlopen(
                f"http://{origin}/course/{path}", timeout=PATIENCE
            ) as answer:
                assert answer.status == 200 and (
                    b"How private is a training run" in answer.read()
                ) is path.startswith("app")


def test_beneath_a_path_the_path_leads_to_the_page():
    with served(prefix="course") as origin:
        for path in ("/course", "/course/"):
            connection = http.client.HTTPConnection(origin, timeout=PATIENCE)
            connection.request("GET", f"{path}?T=9")
            answer = connection.getresponse()
            assert (answer.status, answer.headers["Location"]) == (302, "/course/app?T=9")


@pytest.mark.skipif(not socket.has_ipv6, reason="this machine has no IPv6")
def test_an_address_of_ipv6_is_served_and_named_as_a_browser_has_it(tmp_path):
    log = tmp_path / "log"
    with running(
        [sys.executable, "-m", "zoexplore", "serve", "--port", "0", "--address", "::1"],
        log,
        cwd=tmp_path,
    ) as process:
        soon(lambda: process.poll() is not None or "Serving" in log.read_text())
        (origin,) = re.findall(r"http://(\[::1\]:\d+)/app", log.read_text())
        wait_until_served(f"http://{origin}/liveness", process, log)
        reader = asyncio.run(Reader.open(origin, "?show=sigma"))
    assert reader.find("Slider", "noise scale")


@pytest.mark.parametrize("variable", SIGN_IN)
def test_a_sign_in_that_would_let_everybody_in_is_refused(monkeypatch, variable):
    """Whoever sets a password would otherwise believe that it is asked for."""
    monkeypatch.setenv(variable, "lecture")
    with pytest.raises(ValueError, match="the proxy asks for passwords"):
        serve({})


def test_the_sites_that_are_named_may_frame_the_page(monkeypatch):
    monkeypatch.setenv(FRAMES, " https://course.example.org https://example.com ")
    headers = HTTPHeaders()
    Headers(SimpleNamespace()).transform_first_chunk(200, headers, b"", True)
    assert (
        "frame-ancestors https://course.example.org https://example.com"
        in headers["Content-Security-Policy"]
    )


@pytest.mark.parametrize(
    "sites", ["https://a.org; script-src *", "a.org,b.org", "a.org\r\nSet-Cookie: a=b"]
)
def test_what_is_no_list_of_sites_is_refused(monkeypatch, sites):
    monkeypatch.setenv(FRAMES, sites)
    with pytest.raises(ValueError, match=f"{FRAMES} = .* is not allowed"):
        framing()
