"""The Train tab in a real browser: a run from its start to its results, and what becomes of its processes."""

import os
import signal
from contextlib import suppress

import numpy as np
import psutil
import pytest

from tests.browser.acts import (
    becomes,
    data,
    idle,
    narrow_enough,
    opened,
    readouts,
    reads,
    settled,
    show,
    steady,
    type_in,
    until,
)
from tests.browser.axe import DESK, PHONE, look, serious
from tests.effort import proof
from zoexplore.columns import name_of
from zoexplore.training import NOT_COVERED, TASKS, load
from zoexplore.training.finished import load as finished

# Where the marks are on the page, the figure being scrolled into it.
PLACES = """() => {
  const data = Bokeh.documents[0].get_model_by_name("frontier").data;
  const plot = Bokeh.index.find_one(Bokeh.documents[0].get_model_by_name("utility-against-epsilon"));
  plot.el.scrollIntoView({block: "center"});
  const box = plot.el.getBoundingClientRect(), column = name => Array.from(data.get ? data.get(name) : data[name]);
  const ys = column("y").map(y => box.top + plot.frame.y_scale.compute(y));
  return column("x").map((x, i) => [box.left + plot.frame.x_scale.compute(x), ys[i]]);
}"""


@pytest.fixture(scope="module")
def tab(pages, app_url, request):
    """The tab of the page that tests share, for all of them here: each sets what it looks at."""
    with pages.lent(app_url, request.session) as page:
        yield show(page, "train")


@pytest.fixture(scope="module")
def results(tab):
    """The tab with results that did not take any training: those that the page comes with."""
    button(tab, "Look at it under all bounds").click()
    until(tab, lambda: data(tab, "frontier", "x"))
    idle(tab)
    return tab


def ready(page):
    """The tab of a fresh page, set to a small task and a long run."""
    show(page, "train")
    task = TASKS["breast-cancer"]
    page.get_by_label("task", exact=True).select_option(task.title)
    until(page, lambda: page.get_by_label("K directions", exact=True).input_value() == str(task.K))
    fill(page, "σ noise scales", "0.1")
    fill(page, "T steps to train", "100000")
    until(page, lambda: "T=100000" in page.url and "sigma=0.1" in page.url)  # the sliders have followed, and move no more
    return page


def fill(page, label, text):
    box = page.get_by_label(label, exact=True)
    box.fill(text)
    box.press("Tab")


def button(page, name):
    return page.get_by_role("button", name=name, exact=True)


def begun(page, server):
    """Press the button and wait for the first marks; the processes."""
    button(page, "Train").click()
    until(page, lambda: data(page, "frontier", "x"))
    return workers(server)


def workers(server):
    """The processes that train, and the one of which they are forked, by their ids, each with that of the one that began it."""
    found = {}
    for process in server.computing():
        with suppress(psutil.NoSuchProcess):  # which has ended meanwhile
            if "multiprocessing" in " ".join(process.cmdline()):
                found[process.pid] = process.ppid()
    return found


def lonely(places, bounds):
    """Of the marks with noise, the one that is furthest from all others: its number and where it is."""
    at = np.array(places)
    away = np.hypot(*(at[:, None, :] - at[None, :, :]).T) + np.diag(np.full(len(at), np.inf))
    best = max((i for i, bound in enumerate(bounds) if bound), key=lambda i: away[i].min())
    return best, places[best]


def test_a_run_from_start_to_results_and_to_the_end_of_its_processes(page, usual, tmp_path):
    run = ready(opened(page, usual.url))
    assert begun(run, usual)
    button(run, "Cancel").click()
    run.get_by_text("Cancelled. What was done by then is kept.").wait_for()
    until(run, lambda: not workers(usual))
    run.get_by_text("Breast cancer, n = 455:").wait_for()
    assert run.get_by_text(NOT_COVERED).is_visible()
    marks = data(run, "frontier", "x")
    assert len(marks) == 4 * 3 + 1

    with run.expect_download() as download:
        button(run, "JSON").click()
    download.value.save_as(tmp_path / "kept.json")
    found = load(tmp_path / "kept.json")
    assert found.task == "breast-cancer" and len(found.points) == 4

    i, (x, y) = lonely(run.evaluate(PLACES), data(run, "frontier", "bound"))
    before, clicked = run.url, found.points[int(data(run, "frontier", "point")[i])]
    settled(run, lambda: run.mouse.click(x, y), lambda: run.url)
    until(run, lambda: f"K={clicked.setting.K}" in run.url and f"T={clicked.setting.T}" in run.url)
    reads(run, "Composition", clicked.epsilon["composition"])
    settled(run, run.go_back, lambda: run.url)
    becomes(run, lambda: run.url, before)

    closed_while_it_trains(run, usual)


def closed_while_it_trains(page, server):
    """The processes of a run end with its page."""
    before = server.computing()
    button(page, "Train").click()
    until(page, lambda: len(server.computing()) > len(before))
    training = [process for process in server.computing() if process not in before]
    for process in training:
        process.suspend()  # until the page is given up: what is trained by then is nothing to this test
    page.goto("about:blank")
    assert psutil.wait_procs(training[:1], timeout=90)[1] == []  # it has begun the others, which end with it
    for process in training[1:]:
        process.resume()
    assert psutil.wait_procs(training, timeout=60)[1] == []


@pytest.mark.proof  # the tab's own tests kill the process each time, and a sweep's tests its workers
def test_a_killed_worker_is_said_and_the_page_stays_usable(page, usual):
    tab = ready(opened(page, usual.url))
    found = begun(tab, usual)
    (forked_for_it,) = set(found.values()) - set(found)
    os.kill(forked_for_it, signal.SIGKILL)
    tab.get_by_role("alert").get_by_text("ended unexpectedly").wait_for()
    assert data(tab, "frontier", "x")
    until(tab, lambda: not workers(usual))
    settled(tab, lambda: type_in(tab, "T", "50"), lambda: readouts(tab))
    button(tab, "Train").click()
    until(tab, lambda: workers(usual))  # the marks of before stay until there are new ones
    button(tab, "Cancel").click()
    tab.get_by_text("Cancelled. What was done by then is kept.").wait_for()


def test_what_is_wrong_is_said(tab):
    fill(tab, "K directions", "many")
    button(tab, "Train").click()
    tab.get_by_role("alert").get_by_text("K directions: 'many' is not allowed").wait_for()
    fill(tab, "K directions", "15")


def test_form_and_sliders_move_together(tab):
    settled(tab, lambda: type_in(tab, "T", "50"), lambda: readouts(tab))
    until(tab, lambda: tab.get_by_label("T steps to train", exact=True).input_value() == "50")
    fill(tab, "T steps to train", "60")
    until(tab, lambda: "T=60" in tab.url)


def test_a_mark_says_what_it_is(results):
    i, (x, y) = lonely(steady(results, lambda: results.evaluate(PLACES)), data(results, "frontier", "bound"))
    results.mouse.move(x, y)
    tip = results.locator(".bk-Tooltip .tip")
    tip.wait_for()
    point = next(iter(finished().frontiers.values())).points[int(data(results, "frontier", "point")[i])]
    until(results, lambda: name_of(point) in tip.inner_text() and f"seeds: {len(point.seeds)}" in tip.inner_text())


@pytest.mark.parametrize(("width", "scheme"), [PHONE, proof(*DESK)])
def test_nothing_serious_with_results(results, axe, width, scheme):
    results.locator(".zx-train details").evaluate_all("all => all.forEach((one) => { one.open = true; })")
    look(results, width, scheme)
    assert serious(results, axe, ".zx-train") == "[]"
    for width in (390, 1440):
        results.set_viewport_size({"width": width, "height": 900})
        narrow_enough(results, width)


@pytest.mark.proof  # with results the same is looked at each time
def test_nothing_serious_while_training(page, usual, axe):
    tab = ready(opened(page, usual.url))
    begun(tab, usual)
    assert serious(tab, axe) == "[]"
    button(tab, "Cancel").click()
    tab.get_by_text("Cancelled.").wait_for()
