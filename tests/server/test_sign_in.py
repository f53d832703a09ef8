"""A password before the page, and the page beneath a path: a server of its own, as docs/deploy.md has it."""

import urllib.request
from http.cookiejar import CookieJar
from urllib.parse import urlencode

import pytest

from benchmarks.serving import served

PATIENCE = 120  # seconds for an answer
PASSWORD, PATH = "lecture", "course"


@pytest.fixture(scope="module")
def page():
    """The address of the explorer, below which are its other ones."""
    environment = {"PANEL_BASIC_AUTH": PASSWORD, "PANEL_COOKIE_SECRET": "c" * 32}
    with served(options=["--prefix", PATH], environment=environment) as server:
        yield f"http://{server.origin}/{PATH}"


def signed_in(page, password):
    """What a reader sees who comes with that password: where, and what."""
    browser = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(CookieJar()))
    with browser.open(f"{page}/app", timeout=PATIENCE) as asked:
        assert "/login" in asked.url
    given = urlencode({"username": "ada", "password": password}).encode()
    with browser.open(f"{page}/login", given, timeout=PATIENCE) as answer:
        return answer.url, answer.read().decode()


def test_the_right_password_opens_the_page(page):
    url, html = signed_in(page, PASSWORD)
    assert url.endswith("/app") and '"token"' in html


def test_a_wrong_one_is_told_so(page):
    url, html = signed_in(page, "guess")
    assert "/login" in url and "Invalid" in html and '"token"' not in html


def test_the_sign_in_asks_no_other_site_for_anything(page):
    with urllib.request.urlopen(f"{page}/login", timeout=PATIENCE) as answer:
        assert "//" not in answer.read().decode().partition("<head>")[2]


def test_the_icon_is_there_beneath_the_path(page):
    with urllib.request.urlopen(f"{page}/favicon.ico", timeout=PATIENCE) as answer:
        assert answer.status == 200
