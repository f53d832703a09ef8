"""What a view gives its chart to draw."""


def lines(view):
    """Key -> line."""
    return {each["key"]: each for each in view.chart.lines}


def y(view, key):
    return lines(view)[key]["y"]


def dots(view):
    """Key -> mark."""
    return {each["key"]: each for each in view.chart.given["dots"]}


def ends(view, axis):
    """The ends of an axis: "across" or "up"."""
    return view.chart.given[axis]["start"], view.chart.given[axis]["end"]


def at(view):
    """Where the handle is; None where there is none."""
    handle = view.chart.given["handle"]
    return handle and handle["at"]


def drag(view, place, held=True):
    """Drag the handle to a place, or set it there with a click."""
    view.chart.asked = [place, held, view.chart.asked[-1] + 1 if view.chart.asked else 1]
