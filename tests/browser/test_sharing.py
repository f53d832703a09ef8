"""Addresses, presets, and what a browser remembers, in a real browser."""

import pytest

from tests.browser.acts import (
    background,
    becomes,
    box_of,
    column,
    handle_of,
    lightness,
    opened,
    press,
    readouts,
    reads,
    settled,
    type_in,
    until,
)
from zoexplore import Accounting, curve, guarantee
from zoexplore.export import to_csv, to_python, to_yaml
from zoexplore.presets import DEMONSTRATION, PRESETS
from zoexplore.views.figures.axes import AXES, T_VALUES
from zoexplore.views.style import theme


def query(page):
    return page.url.partition("?")[2]


def test_an_address_is_restored(page, app_url):
    opened(page, f"{app_url}?K=52&sigma=0.01&schedule=optimal&against=beta")
    setting, accounting = DEMONSTRATION.replace(K=52, sigma=0.01), Accounting(schedule="optimal")
    for bound in ("composition", "sharp"):
        reads(page, guarantee(setting, bound).title, guarantee(setting, bound, accounting).epsilon)
    values = AXES["beta"].values(setting)
    expected = curve(setting, "beta", values, ["composition"], accounting)["composition"]
    finite = pytest.approx([x if x < float("inf") else None for x in expected], rel=1e-9)
    becomes(page, lambda: column(page, "composition"), finite)


def test_bad_values_are_said_one_by_one(page, app_url):
    opened(page, f"{app_url}?K=0&T=9&colour=red")
    page.get_by_text("K = 0 is not allowed").wait_for()
    page.get_by_text("'colour' is not a field").wait_for()
    reads(page, "Composition", guarantee(DEMONSTRATION.replace(T=9), "composition").epsilon)


def test_back_steps_through_what_was_meant(page, app_url):
    opened(page, app_url)
    settled(page, lambda: type_in(page, "T", "50"), lambda: query(page))
    page.wait_for_timeout(1000)
    settled(page, lambda: press(page, "T", "ArrowRight", 5), lambda: query(page))
    page.wait_for_timeout(1000)
    until(page, lambda: query(page) not in ("", "T=50"), 10)
    settled(page, page.go_back, lambda: readouts(page))
    becomes(page, lambda: query(page), "T=50")
    reads(page, "Composition", guarantee(DEMONSTRATION.replace(T=50), "composition").epsilon)
    settled(page, page.go_back, lambda: readouts(page))
    becomes(page, lambda: query(page), "")
    reads(page, "Composition", guarantee(DEMONSTRATION, "composition").epsilon)
    settled(page, page.go_forward, lambda: readouts(page))
    becomes(page, lambda: query(page), "T=50")
    page.wait_for_timeout(500)
    settled(page, page.go_forward, lambda: readouts(page))


def test_a_drag_is_one_step(page, app_url):
    opened(page, app_url)
    before = page.evaluate("history.length")
    at = handle_of(page, "sigma").bounding_box()
    x, y = at["x"] + at["width"] / 2, at["y"] + at["height"] / 2
    page.mouse.move(x, y)
    page.mouse.down()
    settled(page, lambda: page.mouse.move(x + 30, y, steps=6), lambda: readouts(page))
    page.wait_for_timeout(900)
    becomes(page, lambda: query(page), "")
    settled(page, lambda: page.mouse.move(x + 50, y, steps=6), lambda: readouts(page))
    settled(page, page.mouse.up, lambda: query(page))
    assert query(page).startswith("sigma=")
    becomes(page, lambda: page.evaluate("history.length"), before + 1)


def test_the_link_is_copied(page, app_url):
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    opened(page, f"{app_url}?K=52")
    page.get_by_role("button", name="Copy link").click()
    page.get_by_role("button", name="Copied").wait_for()
    assert page.evaluate("navigator.clipboard.readText()") == page.url
    page.get_by_role("button", name="Copy link").wait_for()


def test_where_nothing_can_be_copied_the_link_is_shown(page, app_url):
    page.add_init_script("Object.defineProperty(navigator, 'clipboard', {value: undefined})")
    opened(page, f"{app_url}?K=52")
    told = []
    page.on("dialog", lambda dialog: (told.append(dialog.default_value), dialog.dismiss()))
    page.get_by_role("button", name="Copy link").click()
    becomes(page, lambda: told, [page.url])


def test_presets_and_reset(page, app_url):
    opened(page, app_url)
    menu = page.get_by_label("preset")
    settled(page, lambda: menu.select_option("Isotropic noise: β = 0"), lambda: readouts(page))
    isotropic = guarantee(PRESETS["isotropic"].setting, "composition")
    reads(page, "Composition", isotropic.epsilon)
    page.get_by_text(PRESETS["isotropic"].summary).wait_for()
    settled(page, page.get_by_role("button", name="Reset").click, lambda: readouts(page))
    reads(page, "Composition", guarantee(DEMONSTRATION, "composition").epsilon)


def test_printed_constants_are_said_to_be_no_guarantee(page, app_url):
    opened(page, app_url)
    page.get_by_text("Everything else").click()
    box = page.get_by_label("constants as printed: no guarantee")
    settled(page, box.check, lambda: readouts(page))
    page.get_by_text("As printed, where so marked").wait_for()
    becomes(page, lambda: query(page), "printed=1")


def test_the_scheme_that_was_chosen_is_remembered(page, app_url):
    page.emulate_media(color_scheme="dark")
    opened(page, app_url)
    settled(page, page.get_by_role("button", name="Light").click, lambda: background(page))
    page.reload()
    opened(page, app_url)
    page.get_by_role("button", name="Dark").wait_for()
    until(page, lambda: lightness(background(page)) > 200, 10)


def test_a_lesson_shows_one_figure_and_its_sliders(page, app_url):
    opened(page, f"{app_url}?show=curves,K,T&lock=K")
    assert page.locator(".noUi-handle").count() == 2
    assert page.locator("h1, table, .zx-tools, .zx-fold").count() == 0
    box = box_of(page, "K")
    becomes(page, box.is_disabled, True)
    before = column(page, "composition")
    press(page, "K", "ArrowLeft")
    page.wait_for_timeout(400)
    assert column(page, "composition") == before
    settled(page, lambda: press(page, "T", "ArrowLeft"), lambda: query(page))
    assert query(page).startswith("show=curves,K,T&lock=K&T=")


def test_pin_compare_rename_use_and_unpin(page, app_url):
    opened(page, f"{app_url}?K=52")
    page.get_by_role("button", name="Pin", exact=True).click()
    page.get_by_role("button", name="Use A").wait_for()
    settled(page, lambda: type_in(page, "K", "100"), lambda: readouts(page))
    page.wait_for_timeout(500)
    name = page.get_by_label("A", exact=True)
    name.fill("few directions")
    settled(page, lambda: name.press("Enter"), lambda: query(page))
    until(page, lambda: "pin=K:52~few+directions" in query(page), 10)
    row = page.get_by_role("region", name="differences").get_by_role("row").nth(1)
    becomes(page, lambda: row.inner_text().split(), ["K", "100", "52"])
    opened(page, page.url)
    becomes(page, page.get_by_label("A", exact=True).input_value, "few directions")
    settled(page, page.get_by_role("button", name="Use A").click, lambda: readouts(page))
    reads(page, "Composition", guarantee(DEMONSTRATION.replace(K=52), "composition").epsilon)
    settled(page, page.get_by_role("button", name="Unpin A").click, lambda: query(page))
    becomes(page, lambda: query(page), "K=52")


def exported(page, name):
    with page.expect_download() as download:
        page.get_by_role("button", name=name, exact=True).click()
    return download.value


def test_files_are_saved_and_a_setting_is_loaded_back(page, app_url, tmp_path):
    opened(page, f"{app_url}?K=52&pin=K:20~fewer")
    page.get_by_role("button", name="Export").click()
    page.locator("pre").get_by_text("K=52").wait_for()
    assert exported(page, "CSV").path().read_text() == to_csv(DEMONSTRATION.replace(K=52), Accounting(), "T", T_VALUES)
    kept = exported(page, "YAML").path().read_text()
    assert kept == to_yaml(DEMONSTRATION.replace(K=52), Accounting())
    (tmp_path / "kept.yaml").write_text(kept.replace("T: 200", "T: 9").replace("M: 0.75", "M: -1"))
    upload = page.get_by_label("load a setting from a YAML file")
    settled(page, lambda: upload.set_input_files(tmp_path / "kept.yaml"), lambda: readouts(page))
    reads(page, "Composition", guarantee(DEMONSTRATION.replace(K=52, T=9), "composition").epsilon)
    page.get_by_text("M = -1 is not allowed").wait_for()


def test_a_file_that_is_too_large_stays_in_the_browser(page, app_url, tmp_path):
    opened(page, app_url)
    page.get_by_role("button", name="Export").click()
    told = []
    page.on("dialog", lambda dialog: (told.append(dialog.message), dialog.dismiss()))
    (tmp_path / "large.yaml").write_text("T: 9\n" + "#" * 30_000_000)
    page.get_by_label("load a setting from a YAML file").set_input_files(tmp_path / "large.yaml")
    until(page, lambda: told, 20)
    page.wait_for_timeout(500)
    assert len(told) == 1 and "Nothing was read" in told[0]
    settled(page, lambda: type_in(page, "T", "9"), lambda: readouts(page))


def test_the_code_is_copied(page, app_url):
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    opened(page, f"{app_url}?K=52")
    page.get_by_role("button", name="Export").click()
    page.locator("pre").get_by_text("K=52").wait_for()
    page.get_by_role("button", name="Copy code").click()
    page.get_by_role("button", name="Copied").wait_for()
    assert page.evaluate("navigator.clipboard.readText()") == to_python(DEMONSTRATION.replace(K=52), Accounting())


def test_pins_are_drawn_in_the_scheme_that_the_page_opens_with(page, app_url):
    page.emulate_media(color_scheme="dark")
    opened(page, f"{app_url}?pin=K:20~fewer")
    data = "Bokeh.documents[0].get_model_by_name('pins').data"
    colour = f"({data}.get?.('colour') ?? {data}.colour)[0]"
    page.wait_for_function(f"{colour} == {theme.PINS[0][1]!r}")
