"""What travels: packed, kept by browsers, and nothing that no page needs."""

import gzip
import re
import urllib.error
import urllib.request
from pathlib import Path

import bokeh.server
import pytest

from tests.server.visits import PATIENCE, served

SCRIPT = Path(bokeh.server.__file__).parent / "static" / "js" / "bokeh.min.js"


@pytest.fixture(scope="module")
def origin():
    with served() as origin:
        yield origin


def asked(origin, path, **headers):
    request = urllib.request.Request(
        f"http://{origin}/{path}", headers={"Accept-Encoding": "gzip", **headers}
    )
    with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
        return answer.headers, answer.read()


def test_files_are_packed_for_whoever_takes_them_so(origin):
    headers, body = asked(origin, "static/js/bokeh.min.js")
    assert headers["Content-Encoding"] == "gzip" and gzip.decompress(body) == SCRIPT.read_bytes()
    assert len(body) < 0.35 * SCRIPT.stat().st_size and headers["Vary"] == "Accept-Encoding"
    headers, body = asked(origin, "static/js/bokeh.min.js", **{"Accept-Encoding": "identity"})
    assert headers["Content-Encoding"] is None and body == SCRIPT.read_bytes()
    with pytest.raises(urllib.error.HTTPError, match="304"):
        asked(origin, "static/js/bokeh.min.js", **{"If-None-Match": headers["Etag"]})


def test_a_page_is_packed_and_whatever_it_asks_for_is_kept(origin):
    headers, body = asked(origin, "app")
    page = gzip.decompress(body).decode()
    assert headers["Content-Encoding"] == "gzip"
    files = {*re.findall(r'(?:src|href)="((?:\./)?(?:static/|favicon)[^"]*)"', page)}
    assert len(files) > 5 and not any("bokeh-gl" in file for file in files)
    for file in files:
        age = re.search(
            r"max-age=(\d+)", asked(origin, file.removeprefix("./"))[0]["Cache-Control"]
        )
        assert int(age[1]) >= 86_400, file
    assert "max-age=315360000" in asked(origin, "static/js/bokeh.min.js?v=1")[0]["Cache-Control"]


@pytest.mark.parametrize(
    "path",
    ["static/../serving.py", "static/js/nothing.js", "static/extensions/nobody/x.js", "static/js"],
)
def test_nothing_else_is_served(origin, path):
    with pytest.raises(urllib.error.HTTPError, match=r"40[34]"):
        asked(origin, path)
