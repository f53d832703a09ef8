"""A password before the page, and the page beneath a path: a server of its own, as docs/deploy.md has it."""

import time
import urllib.error
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from http.cookiejar import CookieJar
from types import SimpleNamespace
from urllib.parse import urlencode

import panel as pn
import pytest
from tornado.httputil import HTTPHeaders

from benchmarks.serving import served
from zoexplore.server.page import Headers
from zoexplore.server.sign_in import known

PATIENCE = 120  # seconds for an answer
PASSWORD, PATH = "lecture", "course"


@pytest.fixture(scope="module")
def page():
    """The address of the explorer, below which are its other ones."""
    environment = {"PANEL_BASIC_AUTH": PASSWORD, "PANEL_COOKIE_SECRET": "c" * 32}
    with served(options=["--prefix", PATH], environment=environment) as server:
        yield f"http://{server.origin}/{PATH}"


@pytest.fixture
def browser():
    """Keeps cookies, and takes whatever status an answer has."""

    class Answers(urllib.request.BaseHandler):
        def http_error_403(self, request, answer, *_):
            return answer

    return urllib.request.build_opener(urllib.request.HTTPCookieProcessor(CookieJar()), Answers())


def signed_in(browser, page, password, query=""):
    """What a reader sees who comes with that password: where, and what."""
    with browser.open(f"{page}/app{query}", timeout=PATIENCE) as asked:
        assert "/login" in asked.url
        form = asked.url
    given = urlencode({"username": "ada", "password": password}).encode()
    with browser.open(form, given, timeout=PATIENCE) as answer:
        return answer.url, answer.read().decode()


def test_the_right_password_opens_the_page_that_was_asked_for(page, browser):
    url, html = signed_in(browser, page, PASSWORD, "?T=77&beta=0.25")
    assert url.endswith("/app?T=77&beta=0.25") and '"token"' in html


def test_a_wrong_one_is_told_so(page, browser):
    url, html = signed_in(browser, page, "guess")
    assert "/login" in url and "this password is wrong" in html and '"token"' not in html


def answered(url, data=None):
    """An answer as it is, redirects too."""

    class Stay(urllib.request.HTTPRedirectHandler):
        def redirect_request(self, *_):
            return None

    try:
        return urllib.request.build_opener(Stay()).open(url, data, timeout=PATIENCE)
    except urllib.error.HTTPError as error:
        return error


GIVEN = urlencode({"username": "ada", "password": PASSWORD}).encode()


@pytest.mark.parametrize(
    "target", ["///evil.org", "//evil.org/app", "https://evil.org/app?a=b", "/\\evil.org", "/app?a\r\nSet-Cookie: b=c"]
)
def test_no_link_to_the_form_leads_elsewhere(page, target):
    answer = answered(f"{page}/login?{urlencode({'next': target})}", GIVEN)
    assert (
        answer.code == 302 and answer.headers["Location"].startswith(f"/{PATH}/app") and "evil" not in answer.headers["Location"]
    )
    assert "b=c" not in str(answer.headers.get_all("Set-Cookie"))


def test_the_cookie_is_this_sites_alone_and_by_https_alone_where_the_reader_comes_so():
    for scheme, marks in (("http", {"SameSite=Lax"}), ("https", {"SameSite=Lax", "Secure"})):
        headers = HTTPHeaders({"Set-Cookie": "user=x; HttpOnly"})
        headers.add("Set-Cookie", "other=y; SameSite=Lax")
        Headers(SimpleNamespace(protocol=scheme, supports_http_1_1=lambda: True)).transform_first_chunk(200, headers, b"", True)
        for cookie in headers.get_list("Set-Cookie"):
            assert (
                marks <= set(cookie.split("; ")) and cookie.count("SameSite") == 1 and ("Secure" in cookie) == (scheme == "https")
            )


def test_guesses_from_one_address_are_looked_at_one_a_second(page):
    """446 a second were."""
    wrong, began = urlencode({"username": "ada", "password": "guess"}).encode(), time.monotonic()
    with ThreadPoolExecutor(4) as guessers:
        codes = {answer.code for answer in guessers.map(lambda _: answered(f"{page}/login", wrong), range(4))}
    assert codes == {403} and time.monotonic() - began > 3.5


def test_nobody_is_signed_out_by_a_link(page, browser):
    signed_in(browser, page, PASSWORD)
    with browser.open(f"{page}/logout", timeout=PATIENCE) as asked:
        assert 'method="post"' in asked.read().decode() and not asked.headers.get_all("Set-Cookie")
    with browser.open(f"{page}/app", timeout=PATIENCE) as still:
        assert still.url.endswith("/app")
    with browser.open(f"{page}/logout", b"", timeout=PATIENCE) as left:
        assert left.url.endswith("/login")
    with browser.open(f"{page}/app", timeout=PATIENCE) as asked:
        assert "/login" in asked.url


@pytest.mark.parametrize("given, name, password, right", [
    ("lecture", "anybody", "lecture", True), ("lecture", "", "Lecture", False), ("lecture", "", "", False),
    ('{"ada": "a", "bob": ""}', "ada", "a", True), ('{"ada": "a"}', "bob", "a", False), ('{"ada": 7}', "ada", "7", False),
])  # fmt: skip
def test_who_is_known(tmp_path, given, name, password, right):
    if given.startswith("{"):
        (tmp_path / "names.json").write_text(given)
        given = str(tmp_path / "names.json")
    with pn.config.set(basic_auth=given):
        assert known(name, password) is right


def test_the_sign_in_asks_no_other_site_for_anything(page):
    with urllib.request.urlopen(f"{page}/login", timeout=PATIENCE) as answer:
        assert "//" not in answer.read().decode().partition("<head>")[2]


def test_the_icon_is_there_beneath_the_path(page):
    with urllib.request.urlopen(f"{page}/favicon.ico", timeout=PATIENCE) as answer:
        assert answer.status == 200
