"""Headers: what a browser is told about the answers it gets, first of all which scripts may run."""

import secrets
from typing import Any

from tornado.httputil import HTTPHeaders
from tornado.web import OutputTransform

FRAMES = "ZOEXPLORE_FRAMES"  # the sites that may show the page in a frame, as in "https://example.org"; none where unset
ALWAYS = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
}
# For answers that are no page of ours: pictures, scripts, the sign-in form. Nothing in them runs a script.
INERT = (
    "default-src 'none'; style-src 'self' 'unsafe-inline'; img-src 'self'; form-action 'self'; base-uri 'none'; "
    "frame-ancestors {frames}"
)
# BokehJS makes functions out of text ('unsafe-eval') and Panel imports its components from memory (blob:). What a page must never
# do is run a script that stands in its markup without this answer's own nonce.
PAGE = (
    "default-src 'none'; script-src 'self' 'nonce-{nonce}' 'unsafe-eval' blob:; style-src 'self' 'unsafe-inline'; "
    "img-src 'self' data: blob:; font-src 'self' data:; connect-src 'self' blob:; manifest-src 'self'; worker-src 'self' blob:; "
    "form-action 'self'; base-uri 'none'; frame-ancestors {frames}"
)


def nonce() -> str:
    """A number used once, which marks the scripts of one answer as the server's."""
    return secrets.token_urlsafe(18)


def marked(html: str, number: str) -> str:
    """A page that the server has written, with all its scripts marked. It holds nothing that a visitor has given."""
    return html.replace("<script", f'<script nonce="{number}"')


def policy(number: str, frames: str) -> str:
    """The Content-Security-Policy of the page."""
    return PAGE.format(nonce=number, frames=frames)


class Headers(OutputTransform):
    """Adds the headers that every answer carries, whichever handler has written it: files, errors and redirects too."""

    frames = "'none'"

    def transform_first_chunk(
        self, status_code: int, headers: HTTPHeaders, chunk: bytes, finishing: bool
    ) -> tuple[int, HTTPHeaders, bytes]:
        """Tornado's hook for what is sent first."""
        for name, value in ALWAYS.items():
            headers.setdefault(name, value)
        if self.frames == "'none'":
            headers.setdefault("X-Frame-Options", "DENY")
        headers.setdefault("Content-Security-Policy", INERT.format(frames=self.frames))
        headers.pop("Server", None)
        return super().transform_first_chunk(status_code, headers, chunk, finishing)


def framed_by(sites: str) -> type[Any]:
    """The transform that lets these sites, separated by blanks, show the page in a frame; nobody where the text is empty."""
    if any(character in sites for character in ";,\r\n"):
        raise ValueError(f"{FRAMES} = {sites!r} is not allowed: give sites separated by blanks, as in https://example.org")
    return type("Headers", (Headers,), {"frames": sites.strip() or "'none'"})
