"""The headers of every answer: above all the content security policy, which says which scripts may
run.
"""

import os

from tornado.httputil import HTTPHeaders
from tornado.web import OutputTransform

from zoexplore.compute.limits import FRAMES

POLICY = "Content-Security-Policy"
NOBODY = "'none'"
ALWAYS = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
}
# For answers other than this package's pages, such as pictures and scripts: nothing in them may run
# a script.
INERT = (
    "default-src 'none'; style-src 'self' 'unsafe-inline'; img-src 'self'; form-action 'none'; base-uri 'none'; "
    "frame-ancestors {frames}"
)
# BokehJS makes functions out of text ('unsafe-eval') and Panel imports its components from memory
# (blob:). A page must never run a script that stands in its markup without this answer's own nonce.
PAGE = (
    "default-src 'none'; script-src 'self' 'nonce-{nonce}' 'unsafe-eval' blob:; style-src 'self' 'unsafe-inline'; "
    "img-src 'self' data: blob:; font-src 'self' data:; connect-src 'self' blob:; manifest-src 'self'; worker-src 'self' blob:; "
    "form-action 'self'; base-uri 'none'; frame-ancestors {frames}"
)


def framing() -> str:
    """Return the sites that may frame the page, as a content security policy lists them. Raise
    ValueError if the variable `FRAMES` is not a list of sites.
    """
    sites = os.environ.get(FRAMES, "").strip()
    if any(character in sites for character in ";,\r\n"):
        raise ValueError(
            f"{FRAMES} = {sites!r} is not allowed: give sites separated by blanks, as in https://example.org"
        )
    return sites or NOBODY


class Headers(OutputTransform):
    """Adds the headers that every answer carries, whichever handler has written it: files, errors
    and redirects too.
    """

    def transform_first_chunk(
        self, status_code: int, headers: HTTPHeaders, chunk: bytes, finishing: bool
    ) -> tuple[int, HTTPHeaders, bytes]:
        """Tornado's hook for the first part of an answer."""
        for name, value in ALWAYS.items():
            headers.setdefault(name, value)
        headers.setdefault(POLICY, INERT.format(frames=framing()))
        headers.pop("Server", None)
        return super().transform_first_chunk(status_code, headers, chunk, finishing)
