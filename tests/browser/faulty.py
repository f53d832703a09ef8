"""The explorer with a callback that fails at T = 13 and holds up all others for seconds at T = 15;
it has no room for files.
"""

import errno
import os
import time
from unittest.mock import patch

from zoexplore.views import Explorer, app


class Faulty(Explorer):
    def make(self):
        yield from super().make()
        self.state.param.watch(fail, "setting")
        self.files.yaml.callback = full


def fail(event):
    if event.new.T == event.old.T:
        return
    if event.new.T == 13:
        raise RuntimeError("thirteen <img src=x onerror='window.hacked=1'> is one too many")
    if event.new.T == 15:
        time.sleep(3)


def full():
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def begin():
    with patch.object(app, "Explorer", Faulty):
        stages = app.begin()
        next(stages)
    yield
    yield from stages


MARK, opening, prime, ready, serve = app.MARK, app.opening, app.prime, app.ready, app.serve
