"""What is exported is what is shown, and what is loaded is checked."""

import re
from xml.etree import ElementTree

import pytest

from zoexplore import Accounting, Setting
from zoexplore.export import LARGEST_FILE, from_yaml, to_csv, to_python, to_yaml
from zoexplore.views import Explorer
from zoexplore.views.bridge import Bridge
from zoexplore.views.curves import Curves
from zoexplore.views.files import Files
from zoexplore.views.state import State

SVG = "{http://www.w3.org/2000/svg}"


def texts(picture):
    return [element.text for element in ElementTree.fromstring(picture).iter(f"{SVG}text")]


def load(files, content, name="mine.yaml"):
    files.upload.param.update(filename=name, value=content)


@pytest.mark.parametrize("along", ["T", "beta", "sigma", "K"])
def test_the_picture_has_axes_legend_and_setting(along):
    explorer = Explorer(Setting(K=52))
    explorer.curves.along = along
    said = texts(explorer.files.svg())
    assert explorer.curves.abscissa.label in said and explorer.curves.figure.yaxis.axis_label in said
    assert "Composition" in said and "Sharper bound" in said
    assert any("n = 20000" in text for text in said)
    numbers = re.findall(r'(?:x1|x2|y1|y2|cx|cy)="([^"]*)"', explorer.files.svg())
    assert numbers and all(abs(float(number)) < 2000 for number in numbers)


def test_the_picture_has_the_pins_and_says_when_it_is_no_guarantee():
    explorer = Explorer()
    explorer.tools.apply("figure-1a")
    explorer.pins.rename(0, "<few> & others")
    said = texts(explorer.files.svg())
    assert "A: <few> & others" in said and {"A", "B", "C", "D"} <= set(said)
    assert any("as printed: not a guarantee" in text for text in said)


def test_a_run_without_any_bound_is_still_a_picture():
    explorer = Explorer(Setting(R=float("inf"), beta=0.0, regime="non-convex", batch=10, K=520))
    assert texts(explorer.files.svg())


def test_downloads_are_the_exports():
    files = Files(Curves(State(Setting(T=9), Accounting("cks"))))
    made = {download.filename: download.callback().read() for download in files.downloads}
    values = files.curves.source.data["value"]
    assert made["zoexplore.csv"] == to_csv(Setting(T=9), Accounting("cks"), "T", values)
    assert made["zoexplore.yaml"] == to_yaml(Setting(T=9), Accounting("cks"))
    assert made["zoexplore.svg"] == files.svg()


def test_the_png_is_left_to_the_browser():
    files = Files(Curves(), bridge=Bridge())
    files.png.clicks += 1
    assert files.bridge.picture == (files.svg(), "zoexplore.png")


def test_a_file_is_loaded_and_its_errors_are_said():
    files = Files(Curves())
    load(files, to_yaml(Setting(K=9), Accounting(printed=True)).encode())
    assert (files.state.setting, files.state.accounting) == (Setting(K=9), Accounting(printed=True))
    assert files.state.note == "Loaded mine.yaml."
    load(files, b"K: 0\nT: 7\n")
    assert files.state.setting == Setting(T=7)
    assert "K = 0 is not allowed" in files.state.note


@pytest.mark.parametrize("content", [b"a: [", b"\xff\xfe\x00", b"x" * (LARGEST_FILE + 1), b"- 1"])
def test_a_file_that_is_no_setting_changes_nothing(content):
    files = Files(Curves(State(Setting(T=7))))
    load(files, content)
    assert files.state.setting == Setting(T=7)
    assert "nothing was read" in files.state.note


def test_the_code_follows_while_the_drawer_is_open():
    files = Files(Curves())
    assert files.code.object == "" and not files.drawer.visible
    files.toggle.value = True
    assert files.drawer.visible
    files.state.ask(T=7)
    assert files.copy.tags == [to_python(Setting(T=7), Accounting())]
    assert "T=7" in files.code.object
    assert from_yaml(files.yaml()).setting == Setting(T=7)
