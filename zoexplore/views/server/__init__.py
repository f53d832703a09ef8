"""What a server does for its sessions: who gets one, what a browser may send, and giving back what they held."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from zoexplore.views.server.serving import serve

__all__ = ["serve"]


def __getattr__(name: str) -> Any:
    if name != "serve":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from zoexplore.views.server.serving import serve  # with Panel, which the computing processes do without

    return serve
