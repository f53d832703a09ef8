"""What `panel serve app.py` serves: the explorer."""

from zoexplore.views import serve

serve()
