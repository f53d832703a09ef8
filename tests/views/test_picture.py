"""A picture has what its figure shows: axes, legend, setting, in light colours and within its frame."""

import asyncio
import re
from xml.etree import ElementTree

import pytest

from zoexplore.presets import DEMONSTRATION
from zoexplore.views import Curves, Explorer, Inside, Map, Profile
from zoexplore.views.state import State
from zoexplore.views.style import theme

SVG = "{http://www.w3.org/2000/svg}"


def texts(picture):
    return [element.text for element in ElementTree.fromstring(picture).iter(f"{SVG}text")]


def places(picture):
    """Every coordinate of the paths."""
    paths = [element.get("d") for element in ElementTree.fromstring(picture).iter(f"{SVG}path")]
    return [float(number) for path in paths for number in re.findall(r"-?\d+\.?\d*", path)]


@pytest.mark.parametrize("along", ["T", "beta", "sigma", "K", "m", "ridge"])
def test_curves_have_axes_legend_and_setting(along):
    view = Curves(State(DEMONSTRATION.replace(K=52)), along=along)
    picture = asyncio.run(view.picture())
    said = texts(picture)
    assert view.abscissa.title in said and view.figure.yaxis.axis_label in said
    assert "Composition" in said and "Sharper bound" in said
    assert any("n = 20000" in text for text in said)
    assert not any(text.startswith(f"{view.abscissa.symbol} = ") for text in " ".join(said[-2:]).split(", "))
    assert places(picture) and max(map(abs, places(picture))) < 20_000


def test_pins_are_named_and_what_is_no_guarantee_is_said():
    explorer = Explorer()
    explorer.tools.apply("figure-1a")
    explorer.pins.rename(0, "<few> & others")
    said = texts(asyncio.run(explorer.curves.picture()))
    assert "A: <few> & others" in said and {"A", "B", "C", "D"} <= set(said)
    assert any("as printed: not a guarantee" in text for text in said)


def test_a_run_without_any_bound_is_still_a_picture():
    run = DEMONSTRATION.replace(R=float("inf"), beta=0.0, regime="non-convex", batch=10, K=520)
    assert texts(asyncio.run(Curves(State(run)).picture()))


def test_a_picture_is_light_whatever_the_page_is():
    light, dark = Curves(), Curves(dark=True)
    drawn = asyncio.run(dark.picture())
    assert drawn == asyncio.run(light.picture())
    dark_only = {pair[theme.DARK] for pair in theme.COLOURS.values()} - {pair[theme.LIGHT] for pair in theme.COLOURS.values()}
    assert not any(colour in drawn for colour in dark_only)


def test_the_profile():
    profile = Profile(State(DEMONSTRATION.replace(K=300)))
    said = texts(asyncio.run(profile.picture()))
    assert {"ε", "δ", "Sharper bound", "10⁻⁶"} <= set(said)
    assert "Hidden-state theorem" not in said  # 2K > d
    assert places(asyncio.run(profile.picture()))


def test_every_panel_inside_the_bound_and_the_factors():
    inside = Inside(active=False)
    for name in inside.figures:
        said = texts(asyncio.run(inside.picture(name)))
        assert "steps left" in said and {"1", "10", "100"} <= set(said)
        assert any(title.endswith("(Sharper bound)") for title in said)
        start, end = inside.figures[name].y_range.start, inside.figures[name].y_range.end
        for column in {"distance": "z", "shifts": "p", "budget": "rho", "shares": "pi"}[name].split():
            assert (inside.source.data[column] <= end).all() and start == 0
    inside.active = True
    assert {"orthonormal", "independent"} <= set(texts(asyncio.run(inside.factors.picture())))


def test_the_map_has_its_colours_lines_and_mark(small):
    picture = asyncio.run(Map(bound="composition").picture())
    said = texts(picture)
    assert {"ε by Composition", "K, directions per step", "σ, noise scale", "ε = 1", "10⁻⁶", "10⁴"} <= set(said)
    tree = ElementTree.fromstring(picture)
    assert len({path.get("fill") for path in tree.iter(f"{SVG}path")}) > 15
    assert len(list(tree.iter(f"{SVG}circle"))) == 1
