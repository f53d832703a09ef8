"""Nobody gets into another's session or frames it, and nobody takes all the seats."""

import asyncio
import re
from urllib.parse import quote

import pytest
from bokeh.util.token import generate_jwt_token, generate_session_id
from tornado.httpclient import HTTPClientError

from benchmarks.client import token_of
from tests.attacks.attacker import Attacker, asked

LITTLE = "?show=sigma"  # a page where it does not matter what is on it
ENCODED = "".join(f"%{ord(character):02X}" for character in "bokeh-session-id")


@pytest.mark.parametrize(
    "query",
    [
        f"{name}={value}"
        for name in (
            "bokeh-session-id",
            ENCODED,
            "bokeh%2dsession-id",
            "Bokeh-Session-Id",
            "bokeh-token",
        )
        for value in ("abc",)
    ]
    + ["T=9&bokeh-session-id=", "bokeh-session-id=a&bokeh-session-id=b"],
)
def test_no_link_leads_into_a_session(server, query):
    answer = asyncio.run(asked(server.origin, f"/app?{query}"))
    assert answer.code == 403 and b"not yours" in answer.body and b"token" not in answer.body


def test_no_header_and_no_form_leads_into_a_session(server):
    async def answers():
        form = {"Content-Type": "application/x-www-form-urlencoded"}
        return [
            await asked(server.origin, headers={"Bokeh-Session-Id": "abc"}),
            await asked(server.origin, headers={"bokeh-session-id": "abc"}),
            await asked(
                server.origin,
                method="GET",
                body="bokeh-session-id=abc",
                headers=form,
                allow_nonstandard_methods=True,
            ),
            await asked(server.origin, method="POST", body="bokeh-session-id=abc", headers=form),
        ]

    assert [answer.code for answer in asyncio.run(answers())] == [403, 403, 403, 403]


@pytest.mark.parametrize(
    "path", ["/app/metadata", "/app/autoload.js?bokeh-autoload-element=x", "/components/this/a/b/c"]
)
def test_what_the_page_does_not_need_is_not_there(server, path):
    assert asyncio.run(asked(server.origin, path)).code == 404


@pytest.mark.parametrize(
    "path",
    [
        "/login",
        "/login?next=///elsewhere.org",
        "/logout",
        "///elsewhere.org/app/",
        "//elsewhere.org/app",
    ],
)
@pytest.mark.parametrize("method", ["GET", "POST"])
def test_there_is_no_sign_in_to_guess_at_or_to_be_led_away_by(server, path, method):
    options = {"method": "POST", "body": "password=guess"} if method == "POST" else {}
    answer = asyncio.run(asked(server.origin, path, **options))
    assert answer.code == 404
    assert not {"Location", "Set-Cookie"} & set(answer.headers)


def test_nobody_connects_to_a_session_that_has_a_reader_until_that_reader_has_gone(server):
    async def connect():
        token = await token_of(server.origin, LITTLE)
        first = await Attacker.connect(server.origin, token)
        with pytest.raises(ConnectionError, match="in use"):
            await Attacker.connect(server.origin, token)
        await first.look()
        first.close()
        await first.closed()
        second = await Attacker.again(server.origin, token)
        await second.look()
        second.close()

    asyncio.run(connect())


def test_who_is_cut_off_in_the_middle_of_a_drag_comes_back_to_it(server):
    """And nothing of what was on its way hurts the session."""

    async def run():
        token = await token_of(server.origin)
        reader = await Attacker.connect(server.origin, token)
        await reader.look()
        reader._event("document_ready", [])
        slider = reader.find("Slider", "σ noise scale")
        value = slider["attributes"]["value"]
        for i in range(20):
            reader.set(slider, "value", value + i % 10)
        reader.socket.write_message('{"msgid": "1", "msgty')  # and half a message
        reader.close()
        again = await Attacker.again(server.origin, token)
        await again.look()
        assert value <= again.find("Slider", "σ noise scale")["attributes"]["value"] <= value + 9
        await again.move(slider, value - 5)
        again.close()

    asyncio.run(run())


def test_no_token_begins_a_session(server):
    """Neither one that nobody has signed, nor one that is signed with another key."""
    unsigned = generate_jwt_token(generate_session_id(signed=False), signed=False)
    foreign = generate_jwt_token(generate_session_id(b"x" * 32, True), b"x" * 32, True)
    for token in (unsigned, foreign, "", "abc", "a.b", "ä"):
        with pytest.raises((ConnectionError, HTTPClientError, ValueError)):
            asyncio.run(Attacker.connect(server.origin, quote(token)))


def test_another_origin_does_not_connect(server):
    async def connect():
        token = await token_of(server.origin, LITTLE)
        with pytest.raises(HTTPClientError, match="403"):
            await Elsewhere.connect(server.origin, token)

    asyncio.run(connect())


class Elsewhere(Attacker):
    """A page of another site, in the reader's browser."""

    @classmethod
    async def connect(cls, origin, token):
        from tornado.httpclient import HTTPRequest
        from tornado.websocket import websocket_connect

        request = HTTPRequest(f"ws://{origin}/app/ws", headers={"Origin": "http://example.org"})
        return cls(await websocket_connect(request, subprotocols=["bokeh", token]))


@pytest.mark.parametrize("path", ["/app", "/liveness", "/static/js/bokeh.min.js", "/nothing"])
def test_no_answer_is_framed_or_taken_for_another_kind(server, path):
    headers = asyncio.run(asked(server.origin, path)).headers
    assert "frame-ancestors 'none'" in headers["Content-Security-Policy"]
    assert headers["X-Content-Type-Options"] == "nosniff" and "Server" not in headers


def test_scripts_of_a_page_run_by_the_nonce_of_this_answer_alone(server):
    answers = [asyncio.run(asked(server.origin, f"/app{LITTLE}")) for _ in range(2)]
    nonces = [
        re.search(r"'nonce-([\w-]+)'", answer.headers["Content-Security-Policy"])[1]
        for answer in answers
    ]
    assert nonces[0] != nonces[1]
    for answer, nonce in zip(answers, nonces, strict=True):
        marks = re.findall(r"<script([^>]*)>", answer.body.decode())
        assert marks and all(mark.startswith(f' nonce="{nonce}"') for mark in marks)
