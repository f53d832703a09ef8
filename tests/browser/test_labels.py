"""No two labels of a figure overlap, and none lies on a line, whatever the run."""

import numpy as np
import pytest

from tests.browser.acts import ANSWERED, VISIT, becomes, opened, steady
from tests.effort import proof
from zoexplore.questions.export import to_query
from zoexplore.run.presets import DEMONSTRATION
from zoexplore.run.setting import Accounting

# Every text that the canvases draw, with its box on its canvas; a repaint of a canvas begins anew.
WATCH = """() => {
  window.texts = new Map();
  const {fillText, clearRect} = CanvasRenderingContext2D.prototype;
  CanvasRenderingContext2D.prototype.clearRect = function(...given) {
    window.texts.set(this.canvas, []);
    return clearRect.apply(this, given);
  };
  CanvasRenderingContext2D.prototype.fillText = function(text, x, y, ...more) {
    if (String(text).trim()) {
      const m = this.measureText(text), at = this.getTransform(), ratio = devicePixelRatio;
      const corner = new DOMPoint(x - m.actualBoundingBoxLeft, y - m.actualBoundingBoxAscent).matrixTransform(at);
      const end = new DOMPoint(x + m.actualBoundingBoxRight, y + m.actualBoundingBoxDescent).matrixTransform(at);
      window.texts.get(this.canvas)?.push({text, box: [
        Math.min(corner.x, end.x) / ratio, Math.min(corner.y, end.y) / ratio,
        Math.max(corner.x, end.x) / ratio, Math.max(corner.y, end.y) / ratio,
      ]});
    }
    return fillText.call(this, text, x, y, ...more);
  };
}"""
# The same on the screen. A canvas that something above it moves is not painted again.
SHOWN = """() => [...window.texts.entries()].filter(([canvas]) => canvas.offsetParent).flatMap(([canvas, texts]) => {
  const {left, top} = canvas.getBoundingClientRect();
  return texts.map(({text, box: [x0, y0, x1, y1]}) => ({text, box: [x0 + left, y0 + top, x1 + left, y1 + top]}));
})"""
# Every line that the figures draw and every place that is marked, as places on the screen, with the frame that cuts it off.
LINES = """() => {
  const found = [], walk = (view) => {
    for (const child of view.children_views?.() ?? view.child_views ?? []) walk(child);
    if (view.model.type != "Figure" || !view.el.offsetParent) return;
    const {left, top} = view.canvas_view.el.getBoundingClientRect(), {x0, x1, y0, y1} = view.frame.bbox;
    const frame = [left + x0, top + y0, left + x1, top + y1];
    const add = (xs, ys) => found.push({frame, x: Array.from(xs, (x) => left + x), y: Array.from(ys, (y) => top + y)});
    for (const {model, glyph} of view.renderer_views.values()) {
      if (model.visible && glyph?.model.type == "Line" && glyph.model.line_alpha != 0) add(glyph.sx, glyph.sy);
      if (model.type == "Span" && model.visible && model.dimension == "height" && isFinite(model.location)) {
        const x = view.frame.x_scale.compute(model.location);
        add([x, x], [y0, y1]);
      }
    }
  };
  Bokeh.index.roots.forEach(walk);
  return found;
}"""
SEEN = 1.0  # pixels by which boxes may touch
TABS = ("publish", "curves", "attack", "helps", "plan")


def settings(count):
    """Random runs, unusual ones among them."""
    rng = np.random.default_rng(11)
    for _ in range(count):
        d = int(10 ** rng.uniform(0, 6))
        yield DEMONSTRATION.replace(
            d=d, K=max(1, min(d, int(d * rng.choice([1.0, 0.5, 0.01])))), n=int(10 ** rng.uniform(1, 7)),
            T=int(10 ** rng.uniform(0, 6)), sigma=10 ** rng.uniform(-9, 2),
            beta=float(rng.choice([0.0, 0.5, 0.99, 1.0])),
        )  # fmt: skip


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
        found.append(np.column_stack([x[i] + along * (x[i + 1] - x[i]), y[i] + along * (y[i + 1] - y[i])]))
    at, (left, top, right, bottom) = np.concatenate(found), line["frame"]
    seen = (at[:, 0] >= left) & (at[:, 0] <= right) & (at[:, 1] >= top) & (at[:, 1] <= bottom)
    return at[seen]


def on_lines(texts, lines):
    """Texts through whose boxes a line goes."""
    at = np.concatenate([np.empty((0, 2)), *map(places, lines)])
    boxes = {text["text"]: np.array(text["box"]) + SEEN * np.array([1, 1, -1, -1]) for text in texts}
    return [text for text, (x0, y0, x1, y1) in boxes.items() if ((at > [x0, y0]) & (at < [x1, y1])).all(axis=1).any()]


def wrong(page):
    """What overlaps, and what lies on a line."""
    texts, lines = page.evaluate(SHOWN), page.evaluate(LINES)
    return {"overlapping": overlapping(texts), "on lines": on_lines(texts, lines)}


@pytest.mark.parametrize("count", [proof(3), proof(100)])
def test_no_label_lies_on_another_or_on_a_line(page, app_url, count):
    opened(page, app_url)
    page.evaluate(WATCH)
    for run in settings(count):
        for tab in TABS:
            query = f"tab={tab}&{to_query(run, Accounting())}"
            page.evaluate(VISIT, f"?{query}")
            page.wait_for_function(ANSWERED, polling=50)
            page.locator(f".zx-{tab}:visible").wait_for()
            # What is drawn is named by its size, which the browser tells first.
            texts, lines = steady(page, lambda: [page.evaluate(SHOWN), page.evaluate(LINES)], 300)
            assert texts and lines, query
            becomes(page, lambda: wrong(page), {"overlapping": [], "on lines": []})
