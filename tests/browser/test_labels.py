"""No two labels of a figure overlap, and none lies on a line, whatever the run."""

import numpy as np
import pytest

from tests.browser.acts import ANSWERED, FIGURE, VISIT, becomes, opened, show
from tests.effort import proof
from zoexplore.questions.export import to_query
from zoexplore.run.presets import DEMONSTRATION
from zoexplore.run.setting import Accounting

# Every text of the figure that is shown, with its box on the screen.
SHOWN = """figure => [...figure.querySelectorAll("text")].map((text) => {
  const {left, top, right, bottom} = text.getBoundingClientRect(), high = (bottom - top) / 5; // above and below the letters
  return {text: text.textContent, box: [left, top + high, right, bottom - high]};
})"""
# Every curve and every line of the figure, as places on the screen.
LINES = """figure => [...figure.querySelectorAll("[clip-path] path, .now")].filter((l) => l.getTotalLength()).map((line) => {
  const {left, top} = figure.getBoundingClientRect(), long = line.getTotalLength(), frame = figure.querySelector("#frame rect");
  const [x, y, w, h] = ["x", "y", "width", "height"].map((name) => Number(frame.getAttribute(name)));
  const at = Array.from({length: Math.ceil(long / 3) + 1}, (_, i) => line.getPointAtLength(Math.min(3 * i, long)));
  return {frame: [left + x, top + y, left + x + w, top + y + h], x: at.map((p) => left + p.x), y: at.map((p) => top + p.y)};
})"""
SEEN = 1.0  # pixels by which boxes may touch
# on a plan and on the map names stand beside lines, with a rim of their own
TABS = ("publish", "curves", "attack")


def settings(count):
    """Random runs, unusual ones among them."""
    rng = np.random.default_rng(11)
    for _ in range(count):
        d = int(10 ** rng.uniform(0, 6))
        yield DEMONSTRATION.replace(
            d=d,
            K=max(1, min(d, int(d * rng.choice([1.0, 0.5, 0.01])))),
            n=int(10 ** rng.uniform(1, 7)),
            T=int(10 ** rng.uniform(0, 6)),
            sigma=10 ** rng.uniform(-9, 2),
            beta=float(rng.choice([0.0, 0.5, 0.99, 1.0])),
        )


def overlapping(texts):
    """Pairs of texts whose boxes meet."""
    found = []
    for i, one in enumerate(texts):
        for other in texts[i + 1 :]:
            a, b = one["box"], other["box"]
            across, down = min(a[2], b[2]) - max(a[0], b[0]), min(a[3], b[3]) - max(a[1], b[1])
            if across > SEEN and down > SEEN:
                found.append((one["text"], other["text"]))
    return found


def places(line):
    """A line's places a pixel apart, as far as its frame shows them."""
    x, y = (np.array([np.nan if at is None else at for at in line[axis]], float) for axis in "xy")
    steps = np.hypot(np.diff(x), np.diff(y)).clip(0, 10_000)
    found = [np.empty((0, 2))]
    for i in np.flatnonzero(np.isfinite(steps)):
        along = np.linspace(0, 1, int(steps[i]) + 2)
        found.append(
            np.column_stack([x[i] + along * (x[i + 1] - x[i]), y[i] + along * (y[i + 1] - y[i])])
        )
    at, (left, top, right, bottom) = np.concatenate(found), line["frame"]
    seen = (at[:, 0] >= left) & (at[:, 0] <= right) & (at[:, 1] >= top) & (at[:, 1] <= bottom)
    return at[seen]


def on_lines(texts, lines):
    """Texts through whose boxes a line goes."""
    at = np.concatenate([np.empty((0, 2)), *map(places, lines)])
    boxes = {
        text["text"]: np.array(text["box"]) + SEEN * np.array([1, 1, -1, -1]) for text in texts
    }
    return [
        text
        for text, (x0, y0, x1, y1) in boxes.items()
        if ((at > [x0, y0]) & (at < [x1, y1])).all(axis=1).any()
    ]


def wrong(page):
    """What overlaps, and what lies on a line."""
    figure = page.locator(FIGURE).first
    texts, lines = figure.evaluate(SHOWN), figure.evaluate(LINES)
    return {"overlapping": overlapping(texts), "on lines": on_lines(texts, lines)}


@pytest.mark.parametrize("count", [proof(3), proof(100)])
def test_no_label_lies_on_another_or_on_a_line(page, app_url, count):
    opened(page, app_url)
    for run in settings(count):
        for tab in TABS:
            query = f"tab={tab}&{to_query(run, Accounting())}"
            page.evaluate(VISIT, f"?{query}")
            page.wait_for_function(ANSWERED, polling=50)
            page.locator(f".zx-{tab}:visible").wait_for()
            assert page.locator(FIGURE).first.evaluate(SHOWN), query
            becomes(page, lambda: wrong(page), {"overlapping": [], "on lines": []})


# How many points of a figure's curves lie on its names.
ON_NAMES = """figure => {
  const {left, top} = figure.getBoundingClientRect(), boxes = [...figure.querySelectorAll("text.name")].map((each) => each.getBoundingClientRect());
  const at = (path) => Array.from({length: Math.ceil(path.getTotalLength() / 3)}, (_, i) => path.getPointAtLength(3 * i));
  const on = ({x, y}) => boxes.some((box) => left + x > box.left && left + x < box.right && top + y > box.top + 3 && top + y < box.bottom - 3);
  return boxes.length < 4 ? null : [...figure.querySelectorAll("[clip-path] path")].flatMap(at).filter(on).length;
}"""


def test_no_curve_of_a_plan_crosses_a_name(explorer):
    explorer.set_viewport_size({"width": 834, "height": 1112})
    show(explorer, "plan")
    becomes(explorer, lambda: explorer.locator(FIGURE).first.evaluate(ON_NAMES), 0)
