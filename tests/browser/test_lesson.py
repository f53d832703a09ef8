"""A lesson, opened from disk: it asks nobody for anything, moves by keys, and never makes up a
number.
"""

import pytest

from tests.browser.acts import becomes, headline, narrow_enough
from tests.browser.conftest import new_page
from zoexplore import BOUNDS, epsilon, guarantee, lesson
from zoexplore.run.fields import FIELDS
from zoexplore.run.formatting import format_number, format_typed
from zoexplore.run.presets import DEMONSTRATION
from zoexplore.views.lesson import tables

RUN, LINK = DEMONSTRATION, "?say=Move%20K.&say=Then%20T."
VALUES = "() => Object.fromEntries(Object.entries(zoexplore.here).map(([field, i]) => [field, zoexplore.all[field].values[i]]))"
ROWS = "rows => rows.map(row => ['th span', '.number span'].map(part => row.querySelector(part).textContent))"
AXE = """async () => (await axe.run(document, {runOnly: ["wcag2a", "wcag2aa"]}))
  .violations.map((found) => [found.id, found.nodes.map((node) => node.html.slice(0, 120))])"""


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    whole = tables._values
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tables, "_values", lambda *given: whole(*given)[::20])
        return lesson(
            RUN,
            ("sigma", "T", "K"),
            tmp_path_factory.mktemp("lesson") / "lesson.html",
            link=LINK,
            live="https://x.org/app",
        )


@pytest.fixture
def taught(file, browser, console_errors):
    """The page without a network, and what it has asked for."""
    asked = []
    with new_page(browser, console_errors, viewport={"width": 1280, "height": 900}) as page:
        page.context.set_offline(True)
        page.on("request", lambda request: asked.append(request.url))
        page.goto(file.as_uri())
        page.wait_for_function("() => window.zoexplore")
        yield page
    assert [url for url in asked if not url.startswith(("file:", "data:", "blob:"))] == []


def dial(page, field):
    return page.get_by_role("slider", name=FIELDS[field].caption, exact=True)


def values(page):
    """The run's fields at the sliders' places."""
    return page.evaluate(VALUES)


def shows(page, **fields):
    """Wait until the large number is the package's."""
    best = min(
        epsilon(RUN.replace(**fields), bound) for bound in BOUNDS if BOUNDS[bound].of_this_run
    )
    becomes(page, lambda: headline(page), format_number(best))


def table(page):
    rows = page.locator(".zx-legend tr:has(td.number)")
    return dict(rows.evaluate_all(ROWS))


def test_its_numbers_are_the_packages_wherever_its_sliders_are(taught):
    shows(taught)
    taught.get_by_role("tab", name="All bounds").click()
    for field, key, times in (
        ("sigma", "ArrowRight", 2),
        ("T", "ArrowLeft", 2),
        ("T", "End", 1),
        ("K", "ArrowLeft", 1),
    ):
        dial(taught, field).focus()
        for _ in range(times):
            taught.keyboard.press(key)
        run = RUN.replace(**values(taught))
        expected = {
            g.title: format_number(g.epsilon) for g in (guarantee(run, bound) for bound in BOUNDS)
        }
        becomes(taught, lambda: table(taught), expected)
        assert "ε = " in dial(taught, field).get_attribute("aria-valuetext")


def test_what_is_not_tabled_together_returns_to_the_run_and_leads_to_a_live_page(taught):
    dial(taught, "sigma").press("End")
    dial(taught, "T").press("End")
    end = values(taught)
    assert end["sigma"] > RUN.sigma and end["T"] > RUN.T
    shows(taught, **end)
    # the odds of the pair are not in the file
    taught.get_by_text("where one slider is moved").wait_for()
    dial(taught, "K").press("ArrowLeft")
    now = values(taught)
    assert now["sigma"] == RUN.sigma and now["T"] == end["T"] and now["K"] < RUN.K
    shows(taught, **now)
    note = taught.get_by_role("status").filter(
        has_text=f"K is free now; σ is back at {format_typed(RUN.sigma)}."
    )
    dial(taught, "K").press("ArrowLeft")  # and while it is moved on
    becomes(
        taught,
        lambda: f"K={values(taught)['K']}" in note.get_by_role("link").get_attribute("href"),
        True,
    )
    now = values(taught)
    href = note.get_by_role("link").get_attribute("href")
    assert (
        href.startswith("https://x.org/app?")
        and f"K={now['K']}" in href
        and f"sigma={end['sigma']:g}" in href
    )
    taught.get_by_role("button", name="Back to the run").click()
    shows(taught)
    assert note.count() == 0


def test_a_curve_runs_over_a_slider_and_the_handle_moves_it(taught):
    taught.get_by_role("tab", name="All bounds").click()
    taught.get_by_label("ε against").select_option("K")
    handle = taught.locator(".zx-chart-all .pill")
    becomes(taught, handle.inner_text, f"K = {RUN.K}")
    handle.press("ArrowLeft")
    handle.press("PageDown")
    becomes(taught, lambda: values(taught)["K"] < RUN.K, True)
    shows(taught, **values(taught))
    dial(taught, "sigma").press("End")  # which is not tabled with K
    becomes(taught, taught.get_by_label("ε against").input_value, "T")
    assert values(taught)["K"] == RUN.K
    taught.get_by_label("ε against").select_option("K")
    taught.get_by_text("K is free now; σ is back at").wait_for()


def test_an_address_names_the_view_the_values_and_the_dials_and_follows_them(taught, file):
    sigma = values(taught)["sigma"]
    taught.goto("about:blank")
    taught.goto(f"{file.as_uri()}#tab=curves&against=K&K=1&T=1&dials=K")
    taught.wait_for_function("() => window.zoexplore")
    now = values(taught)
    assert now["T"] == 1 and now["K"] < RUN.K and now["sigma"] == sigma
    shows(taught, **now)
    assert (
        dial(taught, "sigma").count() == 0 and taught.get_by_label("ε against").input_value() == "K"
    )
    dial(taught, "K").press("ArrowRight")
    becomes(taught, lambda: f"K={values(taught)['K']}&" in f"{taught.url}&", True)


def test_the_game_is_played_and_its_ceiling_is_the_guarantees(taught):
    dial(taught, "sigma").press("End")
    dial(taught, "T").press("End")
    taught.get_by_role("tab", name="A game").click()
    taught.get_by_text(f"σ is free now; T is back at {RUN.T}.").wait_for()
    # the odds are tabled where one slider is moved
    becomes(taught, lambda: values(taught)["T"], RUN.T)
    most = 20 * (1 + guarantee(RUN.replace(**values(taught)), "sharp").advantage) / 2
    taught.locator(".score").get_by_text(f"{most:.1f} of 20").wait_for()
    taught.get_by_role("button", name="Without").click()
    taught.get_by_role("status").filter(has_text="Round 1:").wait_for()


def test_it_is_named_for_screen_readers_and_fits_a_phone(taught, axe_if_any):
    assert taught.get_by_text("Then T.").is_visible()
    named = {
        role: taught.get_by_role(role).count() for role in ("tab", "slider", "radio", "heading")
    }
    assert named["tab"] == 3 and named["slider"] >= 4 and named["radio"] == 2
    for view in ("Two curves", "All bounds", "A game"):
        taught.get_by_role("tab", name=view).click()
        taught.set_viewport_size({"width": 390, "height": 844})
        narrow_enough(taught, 390)
        if axe_if_any:
            taught.evaluate(axe_if_any)
            found = taught.evaluate(AXE)
            assert found == []
