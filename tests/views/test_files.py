"""What is exported is what is shown, and what is loaded is checked."""

import pytest

from zoexplore import Accounting, Setting
from zoexplore.export import LARGEST_FILE, from_yaml, to_csv, to_python, to_yaml
from zoexplore.views.curves import Curves
from zoexplore.views.files import Files
from zoexplore.views.state import State


def load(files, content, name="mine.yaml"):
    files.upload.param.update(filename=name, value=content)


def test_downloads_are_the_exports():
    files = Files(Curves(State(Setting(T=9), Accounting("cks"))))
    made = {download.filename: download.callback().read() for download in files.downloads}
    values = files.curves.source.data["value"]
    assert made["zoexplore.csv"] == to_csv(Setting(T=9), Accounting("cks"), "T", values)
    assert made["zoexplore.yaml"] == to_yaml(Setting(T=9), Accounting("cks"))


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
