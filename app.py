"""What `panel serve app.py` serves: the explorer, for one's own machine."""

from zoexplore.server.unguarded import warn
from zoexplore.views import serve

warn()
serve()
