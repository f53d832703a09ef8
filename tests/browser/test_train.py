"""The Train tab in a real browser: a run from its start to its results, and what becomes of its
processes.
"""

import os
import re
import signal
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

from tests.browser.acts import (
    narrow_enough,
    opened,
    show,
    type_in,
    until,
)
from tests.browser.axe import DESK, PHONE, look, serious
from tests.browser.conftest import served
from zoexplore.run.formatting import THIN

BUTTON, STOP = "Train 35 models", "Stop, keep these"


def ready(page):
    """The tab of a fresh page, set to small data and a long run."""
    show(page, "train")
    button(page, BUTTON).wait_for()
    for field, text in {"n": "400", "K": "15", "d": "30", "T": "100000"}.items():
        type_in(page, field, text)
        until(page, lambda field=field, text=text: f"{field}={text}&" in f"{page.url}&")
    return page


def button(page, name):
    return page.get_by_role("button", name=name, exact=True)


def begun(page, server):
    """Press the button and wait for the first of its results; the processes."""
    button(page, BUTTON).click()
    page.locator("text.now").wait_for()
    return workers(server)


def workers(server):
    """The processes that train, by their ids: those that have loaded torch."""
    found = []
    for process in server.computing():
        with suppress(psutil.NoSuchProcess, psutil.AccessDenied):  # which has ended meanwhile
            if any("libtorch" in each.path for each in process.memory_maps()):
                found.append(process.pid)
    return found


# where addresses are restored, a page just opened hears its first click; the tab trains in its own
# tests
@pytest.mark.proof
def test_the_first_click_of_a_page_just_opened_is_heard_and_a_button_trains(page, usual):
    run = show(opened(page, usual.url), "train")
    button(run, BUTTON).click()
    until(run, lambda: workers(usual))
    button(run, STOP).click()  # before it would end
    until(run, lambda: not workers(usual))


def test_before_a_press_seven_pairs_are_drawn_and_what_cannot_be_trained_is_said(explorer):
    """The figure is the browser's own: its dots lie in the frame, and the reader's pair is ringed."""
    tab = show(explorer, "train")
    until(tab, lambda: tab.locator("circle.dot").count() == 14)
    frame = tab.locator(".zx-frontier svg[role=img]").bounding_box()
    for dot in tab.locator("circle.dot").all():
        box = dot.bounding_box()
        assert (
            frame["x"] < box["x"] < frame["x"] + frame["width"]
            and frame["y"] < box["y"] < frame["y"] + frame["height"]
        )
    assert (
        tab.locator("circle.ring").count() == 2
        and tab.locator("text", has_text="your σ").is_visible()
    )
    saved = {}
    for kind in ("SVG", "CSV"):
        tab.get_by_role("button", name="Save this figure").locator("visible=true").click()
        with tab.expect_download() as download:
            tab.get_by_role("menuitem", name=kind).locator("visible=true").click()
        saved[kind] = Path(download.value.path()).read_text(encoding="utf-8")
    places = re.findall(r"<circle[^>]* cx=\"([\d.]+)", saved["SVG"])
    assert len(places) == 14 + 2 + 14 and len(set(places)) > 20, (
        "the earlier frontier's too, each in its place"
    )
    assert len(saved["CSV"].splitlines()) == 3 + 7
    type_in(tab, "n", "200000")
    tab.get_by_role("alert").get_by_text("at most 57").wait_for()
    button(tab, f"Train with n = 57{THIN}692").wait_for()


@pytest.fixture
def hasty(tmp_path):
    """A server that soon gives up a page that is closed."""
    with served(tmp_path / "panel.log", linger=20) as server:
        yield server


@pytest.mark.proof  # the minute that a run takes
def test_a_run_from_start_to_results_and_to_the_end_of_its_processes(page, hasty, axe_if_any):
    run = ready(opened(page, hasty.url))
    type_in(run, "n", "100000000")
    until(run, lambda: "n=100000000&" in run.url)
    run.get_by_role("alert").get_by_text("Too many to train here").wait_for()
    button(run, f"Train with n = 1{THIN}000{THIN}000").wait_for()
    type_in(run, "n", "400")
    until(run, lambda: "n=400&" in run.url)
    assert begun(run, hasty)
    button(run, STOP).click()
    run.get_by_text("Stopped at step").wait_for(timeout=2000)
    until(run, lambda: not workers(hasty))
    assert (
        run.locator(".dot").count() == 14
        and run.get_by_text("ε is of each model on its own").is_visible()
    )
    nothing_is_serious_or_too_wide(run, axe_if_any)
    closed_while_it_trains(run, hasty)


def nothing_is_serious_or_too_wide(run, axe_if_any):
    for width, scheme in (DESK, PHONE):
        look(run, width, scheme)
        assert not axe_if_any or serious(run, axe_if_any, ".zx-train") == "[]"
        narrow_enough(run, width)


def closed_while_it_trains(page, server):
    """The processes of a run end with its page."""
    button(page, "Train again").click()
    until(page, lambda: workers(server))
    training = [psutil.Process(pid) for pid in workers(server)]
    for process in training:
        # until the page is given up: what is trained by then is nothing to this test
        process.suspend()
    page.goto("about:blank")
    assert psutil.wait_procs(training, timeout=90)[1] == []


# the tab's own tests kill the process each time, and a sweep's tests its workers
@pytest.mark.proof
def test_a_killed_worker_is_said_and_the_page_stays_usable(page, usual):
    tab = ready(opened(page, usual.url))
    found = begun(tab, usual)
    os.kill(found[0], signal.SIGKILL)
    tab.get_by_role("alert").get_by_text("ended unexpectedly").wait_for()
    assert tab.locator(".dot").count() == 14
    until(tab, lambda: not workers(usual))
    type_in(tab, "T", "90000")
    until(tab, lambda: "T=90000&" in f"{tab.url}&")
    button(tab, BUTTON).click()
    until(tab, lambda: workers(usual))
    button(tab, STOP).click()
    until(tab, lambda: not workers(usual))


@pytest.mark.proof  # with results the same is looked at each time
def test_nothing_serious_while_training(page, usual, axe):
    tab = ready(opened(page, usual.url))
    begun(tab, usual)
    assert serious(tab, axe) == "[]"
    button(tab, STOP).click()
    tab.get_by_text("Stopped at step").wait_for()
