"""Addresses, presets, and what a browser remembers, in a real browser."""

from urllib.parse import parse_qsl, quote

import pytest

from tests.browser.acts import (
    FIGURE,
    HTML,
    background,
    becomes,
    box_of,
    column,
    handle_of,
    harmless,
    lightness,
    open_export,
    opened,
    press,
    readouts,
    reads,
    settled,
    steady,
    type_in,
    until,
    visit,
)
from tests.browser.axe import serious
from tests.effort import usually
from zoexplore import Accounting, curve, guarantee
from zoexplore.palette import PINS, colour
from zoexplore.questions.export import from_fields, to_yaml
from zoexplore.run.axes import AXES
from zoexplore.run.presets import DEMONSTRATION, PRESETS

STROKE = "line => getComputedStyle(line).stroke"
# Within one task of the browser, so that however busy the machine is, they are one movement.
FIVE_KEYS = """handle => {
  for (let i = 0; i < 5; i++) handle.dispatchEvent(new KeyboardEvent("keydown", {key: "ArrowRight", bubbles: true}));
}"""


def rgb(colour):
    """A colour as a browser says it."""
    return f"rgb({', '.join(str(int(colour[place : place + 2], 16)) for place in (1, 3, 5))})"


def query(page):
    """What the address says beside the view."""
    parts = page.url.partition("?")[2].split("&")
    return "&".join(part for part in parts if part and part != "tab=curves")


def test_an_address_opens_in_the_preferred_scheme_one_for_teaching_in_the_chosen(
    page, app_url, axe_if_any
):
    page.emulate_media(color_scheme="dark")
    opened(
        page,
        f"{app_url}?tab=curves&K=52&sigma=0.01&schedule=optimal&against=beta&pin=K:20~few+directions",
    )
    setting, accounting = DEMONSTRATION.replace(K=52, sigma=0.01), Accounting(schedule="optimal")
    for bound in ("composition", "sharp"):
        reads(page, guarantee(setting, bound).title, guarantee(setting, bound, accounting).epsilon)
    values = AXES["beta"].values(setting)
    expected = curve(setting, "beta", values, ["composition"], accounting)["composition"]
    finite = pytest.approx([x if x < float("inf") else None for x in expected], rel=1e-9)
    becomes(page, lambda: column(page, "composition"), finite)

    until(page, lambda: lightness(background(page)) < 60)
    page.get_by_role("button", name="Use few directions").wait_for()
    pinned, axis = page.locator('path[data-key="pin 0"]'), page.locator(f"{FIGURE} >> .axis").first
    becomes(page, lambda: pinned.evaluate(STROKE), rgb(PINS[0][1]))
    becomes(page, lambda: axis.evaluate(STROKE), rgb(colour("edge", dark=True)))
    settled(page, page.locator(".zx-scheme button").click, lambda: background(page))

    taught = "show=curves,K,T&lock=K&say=Look.&say=Guess."
    opened(page, f"{app_url}?{taught}")
    until(page, lambda: lightness(background(page)) > 200)
    becomes(page, lambda: axis.evaluate(STROKE), rgb(colour("edge")))
    assert page.locator(".noUi-handle:visible").count() == 2
    assert (
        page.locator("h1:visible, table:visible, .zx-tools:visible, .zx-fold:visible").count() == 0
    )
    assert not axe_if_any or serious(page, axe_if_any) == "[]"
    box = box_of(page, "K")
    becomes(page, box.is_disabled, True)
    before = column(page, "composition")
    press(page, "K", "ArrowLeft")
    page.wait_for_timeout(400)
    assert column(page, "composition") == before
    settled(page, lambda: press(page, "T", "ArrowLeft"), lambda: query(page))
    assert query(page).startswith(f"{taught}&T=")


def test_bad_values_are_said_one_by_one(explorer):
    visit(explorer, "K=0&T=9&colour=red")
    explorer.get_by_text("K = 0 is not allowed").wait_for()
    explorer.get_by_text("'colour' is an unknown setting").wait_for()
    reads(explorer, "Composition", guarantee(DEMONSTRATION.replace(T=9), "composition").epsilon)


def test_back_steps_through_what_was_meant(explorer):
    settled(explorer, lambda: type_in(explorer, "T", "50"), lambda: query(explorer))
    explorer.wait_for_timeout(1000)  # what follows sooner is the same step
    settled(explorer, lambda: handle_of(explorer, "T").evaluate(FIVE_KEYS), lambda: query(explorer))
    steady(explorer, lambda: query(explorer))
    settled(explorer, explorer.go_back, lambda: readouts(explorer))
    becomes(explorer, lambda: query(explorer), "T=50")
    reads(explorer, "Composition", guarantee(DEMONSTRATION.replace(T=50), "composition").epsilon)
    settled(explorer, explorer.go_back, lambda: readouts(explorer))
    becomes(explorer, lambda: query(explorer), "")
    reads(explorer, "Composition", guarantee(DEMONSTRATION, "composition").epsilon)
    settled(explorer, explorer.go_forward, lambda: readouts(explorer))
    becomes(explorer, lambda: query(explorer), "T=50")
    reads(explorer, "Composition", guarantee(DEMONSTRATION.replace(T=50), "composition").epsilon)
    settled(explorer, explorer.go_forward, lambda: readouts(explorer))


@pytest.mark.parametrize("milliseconds", usually([0], of=[0, 20, 40, 60, 90, 150, 300]))
def test_going_back_at_once_shows_the_run_of_the_address(explorer, milliseconds):
    """However long after turning to another view: the server has heard of it or not, and has
    answered or not.
    """
    settled(explorer, lambda: type_in(explorer, "T", "50"), lambda: query(explorer))
    turn = explorer.get_by_role("tab", name="Plan", exact=True)
    turn.evaluate(
        "(tab, wait) => { tab.click(); setTimeout(() => history.back(), wait); }", milliseconds
    )
    until(explorer, lambda: "tab=plan" not in steady(explorer, lambda: query(explorer)))
    loaded = from_fields(dict(parse_qsl(query(explorer))))
    assert loaded.setting.T in (50, DEMONSTRATION.T)
    reads(explorer, "Composition", guarantee(loaded.setting, "composition").epsilon)
    explorer.locator(".zx-table:visible").wait_for()


def test_a_drag_is_one_step(explorer):
    # what it passes where it was last let go counts as let go: that is here
    for key in ("ArrowRight", "ArrowLeft"):
        settled(explorer, lambda key=key: press(explorer, "sigma", key), lambda: query(explorer))
    explorer.evaluate("history.pushState({}, '', location)")  # nothing is ahead of it then
    before = explorer.evaluate("history.length")
    at = handle_of(explorer, "sigma").bounding_box()
    x, y = at["x"] + at["width"] / 2, at["y"] + at["height"] / 2
    explorer.mouse.move(x, y)
    explorer.mouse.down()
    settled(explorer, lambda: explorer.mouse.move(x + 30, y, steps=6), lambda: readouts(explorer))
    explorer.wait_for_timeout(900)
    becomes(explorer, lambda: query(explorer), "")
    settled(explorer, lambda: explorer.mouse.move(x + 50, y, steps=6), lambda: readouts(explorer))
    settled(explorer, explorer.mouse.up, lambda: query(explorer))
    assert query(explorer).startswith("sigma=")
    sigma = float(steady(explorer, box_of(explorer, "sigma").input_value))
    assert sigma > DEMONSTRATION.sigma
    reads(
        explorer,
        "Composition",
        guarantee(DEMONSTRATION.replace(sigma=sigma), "composition").epsilon,
    )
    becomes(explorer, lambda: explorer.evaluate("history.length"), before + 1)


def test_where_nothing_can_be_copied_the_link_is_shown(explorer):
    visit(explorer, "K=52")
    explorer.evaluate(
        "Object.defineProperty(navigator, 'clipboard', {value: undefined, configurable: true})"
    )
    offered = []
    explorer.once("dialog", lambda dialog: (offered.append(dialog.default_value), dialog.dismiss()))
    explorer.get_by_role("button", name="Copy link").click()
    becomes(explorer, lambda: offered, [explorer.url])
    explorer.evaluate("delete navigator.clipboard")


def test_presets_and_reset(explorer):
    menu = explorer.get_by_label("preset")
    settled(
        explorer, lambda: menu.select_option("Isotropic noise: β = 0"), lambda: readouts(explorer)
    )
    isotropic = guarantee(PRESETS["isotropic"].setting, "composition")
    reads(explorer, "Composition", isotropic.epsilon)
    explorer.get_by_text(PRESETS["isotropic"].summary).wait_for()
    settled(
        explorer, explorer.get_by_role("button", name="Reset").click, lambda: readouts(explorer)
    )
    reads(explorer, "Composition", guarantee(DEMONSTRATION, "composition").epsilon)


# both buttons are pressed where layouts are counted, and where an address is restored
@pytest.mark.proof
def test_dark_is_a_button_away_and_back(explorer):
    assert lightness(background(explorer)) > 200
    settled(explorer, explorer.locator(".zx-scheme button").click, lambda: background(explorer))
    until(explorer, lambda: lightness(background(explorer)) < 60)
    settled(explorer, explorer.locator(".zx-scheme button").click, lambda: background(explorer))
    until(explorer, lambda: lightness(background(explorer)) > 200)


def test_pin_use_and_unpin_and_a_name_that_is_not_run(explorer):
    visit(explorer, "K=52")
    explorer.get_by_role("button", name="Pin", exact=True).click()
    use = explorer.get_by_role("button", name="Use K = 52")
    use.wait_for()
    until(explorer, lambda: "pin=K:52~K+" in query(explorer))
    settled(explorer, lambda: type_in(explorer, "K", "100"), lambda: readouts(explorer))
    settled(explorer, use.click, lambda: readouts(explorer))
    reads(explorer, "Composition", guarantee(DEMONSTRATION.replace(K=52), "composition").epsilon)
    settled(
        explorer, explorer.get_by_role("button", name="Unpin K = 52").click, lambda: query(explorer)
    )
    becomes(explorer, lambda: query(explorer), "K=52")
    visit(explorer, f"K=52&pin={quote(f'K:52~{HTML}')}")
    explorer.get_by_role("button", name=f"Use {HTML}"[:30]).wait_for()
    assert harmless(explorer)


def exported(page, name):
    with page.expect_download() as download:
        page.get_by_role("button", name=name, exact=True).click()
    return download.value


def test_a_run_is_saved_and_its_drawer_closes(explorer):
    visit(explorer, "K=52&pin=K:20~fewer")
    open_export(explorer)
    for title in ("Plan", "Theory"):  # are not covered
        explorer.get_by_role("tab", name=title, exact=True).click(trial=True)
    explorer.locator("pre").get_by_text("K=52").wait_for()
    kept = exported(explorer, "YAML").path().read_text()
    assert kept == to_yaml(DEMONSTRATION.replace(K=52), Accounting())
    code = explorer.get_by_label("Python code")
    for close in (
        lambda: explorer.keyboard.press("Escape"),
        lambda: explorer.mouse.click(640, 880),
    ):
        open_export(explorer)
        close()
        code.wait_for(state="hidden")
