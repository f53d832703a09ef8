"""The series, and the browser that the tests of pages use."""

import os
from pathlib import Path

import nbformat
import pytest

from tests.browser.conftest import NO_CHROMIUM, chromium_path, console_errors, launched, page  # noqa: F401  (fixtures)
from tools import chromium

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "notebooks"
SERIES = sorted(FOLDER.glob("*.ipynb"), key=lambda path: int(path.name.partition("-")[0]))
browser = pytest.fixture(launched, scope="module")


def pytest_collection_modifyitems(items):
    """Mark what opens a page `browser`, and skip it where there is none. In CI a missing browser is
    a failure instead.
    """
    skip = chromium.find() is None and os.environ.get("CI") != "true"
    for item in items:
        if item.path.is_relative_to(Path(__file__).parent) and "page" in getattr(
            item, "fixturenames", ()
        ):
            item.add_marker(pytest.mark.browser)
            if skip:
                item.add_marker(pytest.mark.skip(reason=NO_CHROMIUM))


def pytest_generate_tests(metafunc):
    if "notebook_path" in metafunc.fixturenames:
        metafunc.parametrize("notebook_path", SERIES, ids=lambda path: path.stem)


@pytest.fixture
def notebook(notebook_path):
    return nbformat.read(notebook_path, as_version=4)
