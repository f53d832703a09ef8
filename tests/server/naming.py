"""A page whose buttons bring a model and name it at once, as a view does that is shown for the
first time, and take one away.

With `?explorer` the explorer is in its place.
"""

import panel as pn
from bokeh.models import Button, Column, Div, Slider

from zoexplore.views import app

# for the explorer; the other page has no mark, and follows as a whole
MARK, opening, ready = app.MARK, app.opening, app.ready


def prime():
    yield


def begin():
    if "explorer" in pn.state.session_args:
        yield from app.begin()


def serve():
    if "explorer" in pn.state.session_args:
        return app.serve()
    brought, named, kept = (
        Column(name="brought"),
        Column(name="named"),
        Slider(start=0, end=9, value=0, name="kept"),
    )
    lost = Column(Slider(start=0, end=9, value=0, name="lost"), Button(label="lost"))
    bring, lose, fail = Button(label="bring"), Button(label="lose"), Button(label="fail")

    def do_bring():
        new = Div(text="new")
        brought.children = [*brought.children, new]  # which Bokeh sends when this has ended
        with pn.io.hold():  # and this Panel sends at once
            named.children = [new]

    def do_lose():
        lost.children = []

    bring.on_click(do_bring)

    def do_fail():
        open("/no/such/secret")

    lose.on_click(do_lose)
    fail.on_click(do_fail)
    pn.state.curdoc.add_root(Column(brought, named, kept, lost, bring, lose, fail))
