"""Who may show the page in a frame is what an operator says, or is told to be no list of sites."""

from types import SimpleNamespace

import pytest
from tornado.httputil import HTTPHeaders

from zoexplore.server.page import FRAMES, Headers, framing


def test_the_sites_that_are_named_may_frame_the_page(monkeypatch):
    monkeypatch.setenv(FRAMES, " https://course.example.org https://example.com ")
    headers = HTTPHeaders()
    Headers(SimpleNamespace(protocol="http")).transform_first_chunk(200, headers, b"", True)
    assert "frame-ancestors https://course.example.org https://example.com" in headers["Content-Security-Policy"]
    assert "X-Frame-Options" not in headers


@pytest.mark.parametrize("sites", ["https://a.org; script-src *", "a.org,b.org", "a.org\r\nSet-Cookie: a=b"])
def test_what_is_no_list_of_sites_is_refused(monkeypatch, sites):
    monkeypatch.setenv(FRAMES, sites)
    with pytest.raises(ValueError, match=f"{FRAMES} = .* is not allowed"):
        framing()
