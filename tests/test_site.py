"""The site is built without a network, every link in it leads somewhere, and its formulas and
search work in a browser.
"""

import functools
import re
import threading
from html.parser import HTMLParser
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import unquote, urlsplit

import pytest
from panel.io.resources import CDN_DIST, DIST_DIR

from tests.browser.conftest import chromium_path, console_errors, launched, page  # noqa: F401  (fixtures)
from tools import pages as made
from tools import site

ELSEWHERE = ("http:", "https:", "data:", "mailto:", "javascript:", "blob:")
browser = pytest.fixture(launched, scope="module")


class Links(HTMLParser):
    """What a page links to, and what in it can be linked to."""

    def __init__(self):
        super().__init__()
        self.targets, self.anchors = [], set()

    def handle_starttag(self, tag, attributes):
        given = dict(attributes)
        self.anchors |= {given[name] for name in ("id", "name") if given.get(name)}
        self.targets += [given[name] for name in ("href", "src") if given.get(name)]


def links(file):
    found = Links()
    found.feed(file.read_text(encoding="utf-8"))
    return found


def test_every_font_of_the_formulas_is_there(tmp_path):
    """marimo leaves out one of the files of the large brackets' font."""
    site.katex(tmp_path)
    sheet = (tmp_path / "katex.min.css").read_text(encoding="utf-8")
    fonts = re.findall(r"@font-face\{font-family:\"?(\w+)\"?;[^}]*url\(([^)]+)\)", sheet)
    assert {"KaTeX_Main", "KaTeX_Math", *(f"KaTeX_Size{i}" for i in (1, 2, 3, 4))} <= {
        family for family, _ in fonts
    }
    assert len(fonts) == sheet.count("@font-face") == sheet.count("url(")
    assert all((tmp_path / file).is_file() for _, file in fonts)


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    folder = tmp_path_factory.mktemp("site")
    site.assemble(execute=False)
    site.build(folder)
    return folder


def pages(folder):
    """What mkdocs has written; the gallery's pictures and the lesson are pages of others."""
    return [
        file
        for file in folder.rglob("*.html")
        if file.name != "404.html" and not re.match("gallery-|lesson", file.name)
    ]


def test_an_output_finds_panels_style_sheets_in_the_site(tmp_path, monkeypatch):
    monkeypatch.setattr(site, "PAGES", tmp_path)
    brought = site._brought(
        f'{{"url": "{CDN_DIST}css/listpanel.css?v=1.2"}}, {{"url": "{CDN_DIST}css/none.css"}}'
    )
    assert (
        brought == f'{{"url": "../panel/css/listpanel.css"}}, {{"url": "{CDN_DIST}css/none.css"}}'
    )
    assert (tmp_path / "panel/css/listpanel.css").read_bytes() == (
        DIST_DIR / "css/listpanel.css"
    ).read_bytes()


def test_every_public_name_is_asked_for_where_it_is_defined_and_once():
    asked = re.findall(r"^::: (\S+)$", made.names(), re.M)
    assert len(asked) == len(set(asked)) > 60
    assert {"zoexplore.run.setting.Setting", "zoexplore.mechanism.optimiser.NoisyZOGD"} <= set(
        asked
    )


@pytest.mark.proof
def test_the_page_of_public_names_has_their_docstrings(built):
    shown = (built / "docs/api.html").read_text(encoding="utf-8")
    for name in re.findall(r"^::: (\S+)$", made.names(), re.M):
        assert f'id="{name}"' in shown, name
    assert ":::" not in shown and "the registry's id" in shown.replace("&#39;", "'")


@pytest.mark.proof
def test_every_link_leads_somewhere(built):
    known = {file: links(file) for file in pages(built)}
    lost = []
    for file, found in known.items():
        for target in found.targets:
            if target.startswith(ELSEWHERE):
                continue
            parts = urlsplit(target)
            there = (file.parent / unquote(parts.path)).resolve() if parts.path else file
            there = there / "index.html" if there.is_dir() else there
            # what a lesson opens with is no anchor
            anchor = "" if "=" in parts.fragment else unquote(parts.fragment)
            if not there.exists() or (
                anchor and there in known and anchor not in known[there].anchors
            ):
                lost.append(f"{file.relative_to(built)}: {target}")
    assert not lost


@pytest.mark.proof
def test_formulas_are_drawn_and_found_without_a_network(built, page):  # noqa: F811
    handler = functools.partial(SimpleHTTPRequestHandler, directory=str(built))
    asked = []
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        page.on("request", lambda request: asked.append(request.url))
        page.goto(f"http://127.0.0.1:{server.server_port}/docs/bounds.html")
        page.locator("article .katex").first.wait_for()
        page.set_viewport_size({"width": 390, "height": 800})
        # a wide formula scrolls, the page does not
        assert page.evaluate("document.documentElement.scrollWidth") == 390
        page.set_viewport_size({"width": 1440, "height": 900})
        page.keyboard.press("f")
        page.keyboard.type("contraction")
        page.locator(".md-search-result__item").first.wait_for()
        server.shutdown()
    assert [
        url for url in asked if not url.startswith(("http://127.0.0.1", "data:", "blob:"))
    ] == []
