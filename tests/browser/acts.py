"""What a visitor does and sees, each act waiting until the page has answered: no test reads a page
that is still being drawn.
"""

import re
import time
from functools import cache
from urllib.parse import parse_qsl

import pytest

from tests.waiting import PATIENCE
from zoexplore import BOUNDS, curve, guarantee
from zoexplore.questions.export import from_fields
from zoexplore.run.axes import T_VALUES
from zoexplore.run.fields import FIELDS
from zoexplore.run.formatting import format_number
from zoexplore.run.presets import DEMONSTRATION
from zoexplore.views.tabs import TABS, VIEWS

IDLE = "() => window.Bokeh && Bokeh.documents.length > 0 && Bokeh.documents[0].is_idle"
HTML = "<img src=x onerror=window.hacked=1>"
VIEWPORT = {"width": 1280, "height": 900}
VISIT = "search => { history.replaceState({}, '', location.pathname + search); dispatchEvent(new PopStateEvent('popstate')); }"
# a reader who knows the page
KNOWN = "try { localStorage.setItem('zoexplore-met', '1'); } catch {}"
CLOSE = """() => {
  scrollTo(0, 0);
  for (const model of Bokeh.documents[0].all_models) if (/Card$/.test(model.type)) model.collapsed = true;
}"""
DARK = "matchMedia('(prefers-color-scheme: dark)').matches"
CHART = "[...Bokeh.documents[0].all_models].find((each) => each.data?.view == view).data"
DATA = f"""([view, key]) => {{
  const chart = {CHART}, values = key == "value" ? chart.given.values : chart.lines.find((line) => line.key == key)?.y;
  return values && Array.from(values, x => isFinite(x) ? x : null);
}}"""
FIGURE = ".frame > svg >> visible=true"  # of the view that is shown
# Whether anything in a view is still computed.
LATE = """
  const late = (view) => /zx-(veiled|waiting)/.test(view.el?.getAttribute("style") ?? "")
    || [...(view.child_views ?? [])].some(late);
"""
# Whether the server has heard of the last step back or forth, and what it computes of it is there.
ANSWERED = f"""() => {{
{LATE}  const bridge = [...Bokeh.documents[0].all_models].find((model) => model.class_name == "Bridge").data;
  return Bokeh.documents[0].is_idle && bridge.heard == bridge.visits && !Bokeh.index.roots.some(late);
}}"""
RESTED = f"""() => {{
{LATE}  if (Bokeh.index.roots.some(late)) window.restless = performance.now();
  return performance.now() - window.restless > 1000;
}}"""
# Elements that none of the page's own parts has, in any shadow root.
FOUND = """() => { const out = []; const walk = r => { for (const e of r.querySelectorAll("*")) {
  if (e.matches("img, iframe, object") || (e.matches("script") && e.textContent.includes("hacked"))) out.push(e.outerHTML);
  if (e.shadowRoot) walk(e.shadowRoot); } }; walk(document.body); return out }"""
# What reaches beyond the window, except for what scrolls in a box of its own, as the tabs do on a
# phone.
WIDER = """w => { const out = []; const walk = r => { for (const e of r.querySelectorAll('*')) {
  const b = e.getBoundingClientRect();
  if (e.closest("[role=tablist]") != e && e.closest("[role=tablist]")?.getBoundingClientRect().right <= w + 1) continue;
  const seen = b.width > 0 && b.height > 0 && !/GlyphRenderer|noUi-connect/.test(e.className);
  if (seen && b.right > w + 1) out.push(e.className + ' ' + b.right);
  if (e.shadowRoot) walk(e.shadowRoot); } }; walk(document.body); return out }"""
# In one go, so that no row is of another moment; what is not shown yet has no text.
ROWS = """rows => rows.map((row) => {
  const title = row.querySelector("th span") ?? row.querySelector("th");
  return [title.innerText, row.querySelector("td.number").innerText];
})"""


def idle(page):
    """Wait until the page has no more to do. To ask at every frame, as is usual, would have every
    frame drawn.
    """
    page.wait_for_function(IDLE, polling=50)


def opened(page, url):
    """The page, drawn and ready to be used; with all bounds where its address names no view."""
    page.set_default_timeout(1000 * PATIENCE)
    if not any(part in url for part in ("tab=", "show=", "story=")):
        url = f"{url}{'&' if '?' in url else '?'}tab=curves"
    page.add_init_script(KNOWN)
    page.goto(url, wait_until="commit")  # what the page loads is waited for below
    return drawn(page)


def drawn(page):
    """The page, once what is being loaded is drawn and ready to be used."""
    idle(page)
    for part in (".frame > svg >> visible=true", ".noUi-handle[aria-label] >> visible=true"):
        page.locator(part).first.wait_for()  # of a story, the first one may be hidden
    # a link for teaching may do without the table
    if not any(part in page.url for part in ("show=", "story=")):
        page.locator(".zx-table td.number").first.wait_for()
    return page


def visit(page, query=""):
    """Have a page that is loaded show another address, as going back does, and wait until it shows
    it.
    """
    loaded = from_fields(dict(parse_qsl(query)))
    if not any(f"{name}=" in query for name in ("tab", "story", "show")):
        query = f"tab=curves&{query}" if query else "tab=curves"
    page.evaluate(VISIT, f"?{query}" if query else "")
    g = guarantee(loaded.setting, "composition", loaded.accounting)
    reads(page, g.title, g.epsilon)
    idle(page)
    return page


def rested(page):
    """Wait until nothing on the page has been of an earlier state for a second."""
    page.evaluate("void (window.restless = performance.now())")
    page.wait_for_function(RESTED, polling=50)


def anew(page):
    """Take a page that has been used back to where it began: all that its address does not say is
    closed.
    """
    page.mouse.move(0, 0)
    if page.viewport_size != VIEWPORT:
        page.set_viewport_size(VIEWPORT)
    if page.evaluate(DARK):  # to say that it is light where it is works out all styles anew
        page.emulate_media(color_scheme="light")
    if (code := page.get_by_label("Python code")).is_visible():  # Export is open
        page.get_by_role("button", name="Export").click()
        code.wait_for(state="hidden")
    page.evaluate(CLOSE)
    if "tab=curves" not in page.url:  # of the runs below no other view is to draw anything
        page.evaluate(VISIT, "?tab=curves")
        page.wait_for_function(ANSWERED, polling=50)
    page.evaluate(VISIT, "?tab=curves")
    page.wait_for_function(ANSWERED, polling=50)
    table, curves = demonstration()
    becomes(page, lambda: table.items() <= readouts(page).items(), True)
    becomes(page, lambda: {name: column(page, name) for name in curves}, curves)
    # what is typed from now on is not written over
    becomes(page, box_of(page, "T").input_value, str(DEMONSTRATION.T))
    return page


@cache
def demonstration():
    """What the table gives for each bound of the run that the page begins with, and its curves."""
    found = [guarantee(DEMONSTRATION, bound) for bound in BOUNDS]
    curves = {
        bound: pytest.approx(list(values))
        for bound, values in curve(DEMONSTRATION, "T", T_VALUES).items()
    }
    return {g.title: format_number(g.epsilon) for g in found}, {
        "value": pytest.approx(list(T_VALUES)),
        **curves,
    }


def looks(page):
    """Once now, and then again and again after pauses that grow to a quarter of a second: to look
    costs the page some work.
    """
    end, pause = time.monotonic() + PATIENCE, 20
    while time.monotonic() < end:
        yield
        page.wait_for_timeout(pause)
        pause = min(1.5 * pause, 250)
    yield


def until(page, what, name="what was waited for"):
    """Wait until a thing is so."""
    if not any(what() for _ in looks(page)):
        pytest.fail(f"{name} never came about")


def becomes(page, what, expected):
    """Wait until what is seen is what is expected; say both if it never is."""
    seen = None
    for _ in looks(page):
        if (seen := what()) == expected:
            return
    pytest.fail(f"seen at the end: {seen!r}\nexpected: {expected!r}")


def settled(page, change, what):
    """Do something, and wait until what it shows is another than before and stays as it is."""
    before = what()
    change()
    until(page, lambda: what() != before, f"another than {before!r}")
    return steady(page, what, 100)


def heard(page, act, what):
    """Do something again and again until it shows: what is done while a page still opens its
    channels is lost.
    """
    before = what()
    for _ in range(PATIENCE // 2):
        act()
        for _ in range(20):
            if what() != before:
                return
            page.wait_for_timeout(100)
    pytest.fail(f"nothing was heard: it shows {before!r} as before")


def steady(page, what, milliseconds=600):
    """What is seen once it has not changed for so long."""
    seen = what()
    for _ in range(PATIENCE):
        page.wait_for_timeout(milliseconds)
        last, seen = seen, what()
        if last == seen:
            return seen
    pytest.fail(f"it goes on changing: {seen!r}")


def data(page, view, key):
    """The values of a view's line, or those along its x axis as "value"; infinities are None."""
    return page.evaluate(DATA, [view, key])


def column(page, name):
    """A column of the curves."""
    return data(page, "curves", name)


def readouts(page):
    """Title -> number, as the table of all bounds shows them; those of other views have no numbers,
    or other runs'.
    """
    return dict(page.locator(".zx-curves table tr:has(td.number)").evaluate_all(ROWS))


def headline(page):
    """The large epsilon, which every view has above it."""
    return page.locator(".epsilon b").first.inner_text()


def reads(page, title, epsilon):
    """Wait until the table gives this number for this bound."""
    becomes(page, lambda: readouts(page).get(title), format_number(epsilon))


def handle_of(page, field):
    return page.locator(f'.noUi-handle[aria-label="{FIELDS[field].caption}"]')


def box_of(page, field):
    """The box beside a slider, where its number can be typed."""
    return page.get_by_label(FIELDS[field].caption, exact=True).and_(page.locator("input"))


def type_in(page, field, text):
    box = box_of(page, field)
    box.fill(text)
    box.press("Enter")
    return box


def press(page, field, key, times=1):
    """Move a slider by its keys."""
    handle = handle_of(page, field)
    handle.focus()
    for _ in range(times):
        handle.press(key)
    return handle


def show(page, name):
    """Select a view by the tab that it is under, and by its own title."""
    tab, views = next((tab, views) for tab, views in TABS.items() if name in views)
    page.get_by_role("tab", name=tab, exact=True).click()
    until(page, lambda: showing(page) in views)
    if showing(page) != name:
        kind = "button" if name in ("publish", "curves") else "tab"
        page.get_by_role(kind, name=VIEWS[name][0], exact=True).click()
        until(page, lambda: showing(page) == name)
    idle(page)
    return page


def showing(page):
    """The view that is shown, as the address has it."""
    return dict(parse_qsl(page.url.partition("?")[2])).get("tab", "publish")


def open_fold(page):
    """Open "More settings" where it is not."""
    first = page.get_by_label(FIELDS["delta"].caption, exact=True)
    if not first.is_visible():
        page.get_by_text("More settings", exact=True).click()
    first.wait_for()


def open_export(page):
    """Open what "Export" opens where it is not."""
    code = page.get_by_label("Python code")
    if not code.is_visible():
        page.get_by_role("button", name="Export").click()
    code.wait_for()


def background(page):
    return page.evaluate("getComputedStyle(document.body).backgroundColor")


def lightness(colour):
    return sum(map(int, re.findall(r"\d+", colour)[:3])) / 3


def narrow_enough(page, width):
    """Wait until the page does not scroll sideways; say what reaches beyond its edge if it always
    does.
    """
    if not any(page.evaluate("document.documentElement.scrollWidth") <= width for _ in looks(page)):
        pytest.fail(f"wider than {width}: {page.evaluate(WIDER, width)}")


def harmless(page):
    """Whether nothing of `HTML` has become a part of the page, or run."""
    page.wait_for_timeout(400)
    return page.evaluate("window.hacked") is None and page.evaluate(FOUND) == []
