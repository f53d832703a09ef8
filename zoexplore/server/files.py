"""Serves static files packed, and packs each file once. Scripts are four fifths of what a page
sends, and a browser keeps them.
"""

import asyncio
import gzip
from functools import cache
from pathlib import Path
from typing import Any

from bokeh.server.views.multi_root_static_handler import MultiRootStaticHandler
from bokeh.server.views.static_handler import StaticHandler
from tornado.web import StaticFileHandler

# seconds that a browser keeps a file whose address names no version; it keeps other files for good
DAY = 86_400
PACKED = (".js", ".css", ".svg", ".json")


@cache
def packed(path: str) -> bytes:
    """Return a file's contents packed by gzip, and keep them; all files take a few megabytes."""
    return gzip.compress(Path(path).read_bytes(), 9, mtime=0)


class Packing(StaticFileHandler):
    """Serves packed files to browsers that take them."""

    root: Any

    async def get(self, path: str, include_body: bool = True) -> None:
        """Tornado's hook for a request. A thread packs a file when it is first requested."""
        self.path = self.parse_url_path(path)
        found = self.validate_absolute_path(self.root, self.get_absolute_path(self.root, self.path))
        if not (
            found
            and found.endswith(PACKED)
            and "gzip" in self.request.headers.get("Accept-Encoding", "")
        ):
            return await super().get(path, include_body)
        self.absolute_path, content = found, await asyncio.to_thread(packed, found)
        self.modified = self.get_modified_time()
        self.set_headers()
        # Tornado's own packing adds the header Vary
        self.set_header("Content-Encoding", "gzip")
        if self.should_return_304():
            self.set_status(304)
        elif include_body:
            self.write(content)

    def get_cache_time(self, path: str, modified: Any, mime_type: str) -> int:
        """Tornado's hook for how long a browser may keep a file."""
        return super().get_cache_time(path, modified, mime_type) or DAY


class Scripts(Packing, StaticHandler):
    """Serves BokehJS."""


class Extensions(Packing, MultiRootStaticHandler):
    """Serves the files of Bokeh's extensions, such as Panel's script."""
