"""What `panel serve app.py` serves: the explorer, for one's own machine."""

from zoexplore.views.app import serve, warn_others

serve()
warn_others()
