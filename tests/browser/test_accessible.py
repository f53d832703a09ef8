"""axe finds nothing serious on the page, light or dark, closed or open, wide or narrow."""

import json
import os
import shutil
import subprocess
import tarfile

import pytest

from tests.browser.acts import PATIENCE, VISIT, becomes, open_export, open_fold, opened, show, visit
from zoexplore.views.panels.story import STEPS
from zoexplore.views.tabs import VIEWS

AXE = "axe-core@4.14.1"
# Without `preload` it does not load every style sheet of every shadow root once more, of which no rule that is on has a use.
SERIOUS = """async () => (await axe.run(document, {resultTypes: ["violations"], preload: false})).violations
  .filter(v => ["serious", "critical"].includes(v.impact))
  .map(v => ({id: v.id, nodes: v.nodes.map(n => n.target.flat().join(" ") + ": " + n.html.slice(0, 160))}))"""


@pytest.fixture(scope="session")
def axe(tmp_path_factory):
    """axe-core's source, from the npm registry. In CI it must be there; elsewhere, without npm, the test is skipped."""
    folder = tmp_path_factory.mktemp("axe")
    npm = shutil.which("npm")
    command = [npm or "npm", "pack", AXE, "--silent", "--pack-destination", str(folder)]
    packed = npm and subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=120)
    if not packed or packed.returncode:
        why = f"NO AXE: `npm pack {AXE}` failed: {packed.stderr[-500:] if packed else 'npm is not installed'}"
        pytest.fail(why) if os.environ.get("CI") == "true" else pytest.skip(why)
    with tarfile.open(next(folder.glob("*.tgz"))) as archive:
        return archive.extractfile("package/axe.min.js").read().decode()


def serious(page, axe):
    """What axe finds once the page has had the time to name what it has just drawn."""
    page.evaluate(axe)
    for _ in range(PATIENCE * 2):
        found = page.evaluate(SERIOUS)
        if not found:
            break
        page.wait_for_timeout(500)
    return json.dumps(found, indent=1, ensure_ascii=False)


def test_nothing_serious_with_all_that_opens_wide_or_narrow_light_or_dark(explorer, axe):
    """Colours are the scheme's and places the width's: whatever is wrong with one of them is wrong in one of two pages."""
    visit(explorer, "K=300&pin=K:20~fewer&printed=1&T=x")
    open_export(explorer)
    open_fold(explorer)
    explorer.get_by_text("What is assumed").click()
    assert not explorer.get_by_role("button", name="Copy JSON").is_visible()
    explorer.get_by_text("Statement to copy").click()
    explorer.get_by_label("statement of the guarantee").wait_for()
    for width, scheme in ((1440, "light"), (390, "dark")):
        explorer.set_viewport_size({"width": width, "height": 900})
        explorer.emulate_media(color_scheme=scheme)
        assert serious(explorer, axe) == "[]", f"{width} wide, {scheme}"


def test_nothing_serious_in_any_view(explorer, axe):
    for tab in VIEWS:
        show(explorer, tab)
        assert serious(explorer, axe) == "[]", tab


def test_what_is_computed_is_told(explorer, usual, axe):
    visit(explorer, "delta=0.0003")  # whose map no other test has left behind
    told = explorer.locator(".zx-told[role=status]")
    with usual.held():
        show(explorer, "map")
        told.get_by_text("Computing …").wait_for()
        explorer.get_by_role("progressbar", name="how much of the map is computed").wait_for()
        explorer.locator("[aria-busy=true]").first.wait_for()
        assert serious(explorer, axe) == "[]"
        explorer.get_by_role("button", name="Cancel").click()
        told.get_by_text("No longer computing.").wait_for()
    becomes(explorer, explorer.locator("[aria-busy=true]").count, 0)
    assert serious(explorer, axe) == "[]"


def test_a_curve_that_is_waited_for_is_told(explorer, usual):
    told = explorer.locator(".zx-told[role=status]")
    with usual.held():
        explorer.evaluate(VISIT, "?batch=100")
        told.get_by_text("Computing …").wait_for()
    visit(explorer)
    told.get_by_text("No longer computing.").wait_for()


def test_nothing_serious_in_a_lesson_or_a_lecture_hall(page, app_url, axe):
    opened(page, f"{app_url}?show=curves,K,T&lock=K&say=Look.&say=Guess.&present=1")
    assert serious(page, axe) == "[]"


def test_nothing_serious_in_the_story(page, app_url, axe):
    page.set_viewport_size({"width": 390, "height": 844})
    opened(page, f"{app_url}?story=1")
    for number, step in STEPS.items():
        page.emulate_media(color_scheme="dark" if int(number) % 2 else "light")
        page.get_by_role("heading", name=step.title).wait_for()
        page.get_by_role("button", name=step.guesses[0]).click()
        page.get_by_text(f"You said: {step.guesses[0]}.").wait_for()
        assert serious(page, axe) == "[]", step.title
        page.get_by_role("button", name="Explore on your own" if number == "6" else "Next", exact=True).click()


def test_nothing_serious_in_any_view_on_a_phone_at_night(page, app_url, axe):
    page.set_viewport_size({"width": 390, "height": 844})
    page.emulate_media(color_scheme="dark")
    opened(page, app_url)
    for tab in VIEWS:
        show(page, tab)
        assert serious(page, axe) == "[]", tab
