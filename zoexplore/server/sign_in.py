"""Who may come in by a name and a password: the form, one guess at a time from each address, and signing out."""

import asyncio
import json
from hmac import compare_digest
from pathlib import Path
from typing import ClassVar
from weakref import WeakValueDictionary

import panel as pn
from tornado.web import RequestHandler

from zoexplore.compute.address import address_of

GUESS = 1.0  # seconds after a wrong password, before the next one of the same address is looked at
LONGEST = 1000  # characters of a name or a password
WRONG = "This name or this password is wrong."
COOKIE = "user"  # by which Panel's provider of basic authentication knows a reader
OTHERS = ("id_token", "access_token", "refresh_token", "oauth_expiry", "is_guest")  # that its other providers set


def known(name: str, password: str) -> bool:
    """Whether this is the password for everybody, or that of this name in the JSON file that is given in its place."""
    given = pn.config.basic_auth
    if Path(given).is_file():
        given = json.loads(Path(given).read_text(encoding="utf-8")).get(name)
    return isinstance(given, str) and compare_digest(password.encode(), given.encode())


class _Form(RequestHandler):
    """A form that stands beside this module, and the page to which it leads."""

    path = ""

    def get_template_path(self) -> str:
        return str(Path(__file__).parent)

    def beside(self, path: str) -> str:
        """The path of something that stands beside this form, beneath the same prefix."""
        return self.request.path.removesuffix(self.path) + path


class SignIn(_Form):
    """Lets in whoever gives the right name and password, and leads back to the page, and nowhere else."""

    path = "/login"
    _guessing: ClassVar[WeakValueDictionary[str, asyncio.Lock]] = WeakValueDictionary()

    def get(self) -> None:
        self.render("sign_in.html", wrong="")

    async def post(self) -> None:
        name, password = (self.get_body_argument(field, "")[:LONGEST] for field in ("username", "password"))
        lock = self._guessing.setdefault(address_of(self.request), asyncio.Lock())
        async with lock:
            right = known(name, password)
            if not right:
                await asyncio.sleep(GUESS)
        if right:
            expires = pn.config.oauth_expiry
            self.set_signed_cookie(COOKIE, name, expires, httponly=True, path=pn.config.cookie_path)
            _, mark, query = self.get_query_argument("next", "").partition("?")
            self.redirect(self.beside("/app") + mark + "".join(query.splitlines()))
        else:
            self.set_status(403)
            self.render("sign_in.html", wrong=WRONG)


class SignOut(_Form):
    """Signs out whoever presses the button: a link or a picture of another site does not."""

    path = "/logout"

    def get(self) -> None:
        self.render("sign_out.html")

    def post(self) -> None:
        for name in (COOKIE, *OTHERS):
            self.clear_cookie(name, path=pn.config.cookie_path)
        self.redirect(self.beside("/login"))
