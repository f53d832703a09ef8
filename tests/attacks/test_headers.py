"""Every answer says who may show it in a frame and which scripts may run in it."""

import asyncio
import re

import pytest
from tornado.httputil import HTTPHeaders

from tests.attacks.attacker import asked
from zoexplore.server.page import FRAMES, Headers, framing


@pytest.mark.parametrize("path", ["/app", "/liveness", "/static/js/bokeh.min.js", "/nothing"])
def test_no_answer_is_framed_or_taken_for_another_kind(server, path):
    headers = asyncio.run(asked(server.origin, path)).headers
    assert "frame-ancestors 'none'" in headers["Content-Security-Policy"] and headers["X-Frame-Options"] == "DENY"
    assert headers["X-Content-Type-Options"] == "nosniff" and "Server" not in headers


def test_scripts_of_a_page_run_by_the_nonce_of_this_answer_alone(server):
    answers = [asyncio.run(asked(server.origin, "/app")) for _ in range(2)]
    nonces = [re.search(r"'nonce-([\w-]+)'", answer.headers["Content-Security-Policy"])[1] for answer in answers]
    assert nonces[0] != nonces[1]
    for answer, nonce in zip(answers, nonces, strict=True):
        marks = re.findall(r"<script([^>]*)>", answer.body.decode())
        assert marks and all(mark.startswith(f' nonce="{nonce}"') for mark in marks)


def test_the_sites_that_are_named_may_frame_the_page(monkeypatch):
    monkeypatch.setenv(FRAMES, " https://course.example.org https://example.com ")
    headers = HTTPHeaders()
    Headers(None).transform_first_chunk(200, headers, b"", True)
    assert "frame-ancestors https://course.example.org https://example.com" in headers["Content-Security-Policy"]
    assert "X-Frame-Options" not in headers


@pytest.mark.parametrize("sites", ["https://a.org; script-src *", "a.org,b.org", "a.org\r\nSet-Cookie: a=b"])
def test_what_is_no_list_of_sites_is_refused(monkeypatch, sites):
    monkeypatch.setenv(FRAMES, sites)
    with pytest.raises(ValueError, match=f"{FRAMES} = .* is not allowed"):
        framing()
