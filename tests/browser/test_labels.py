"""No two labels of a figure overlap, and names stand where no curve can be, whatever the run."""

import numpy as np
import pytest

from tests.browser.acts import VISIT, idle, opened, until
from tests.effort import proof
from zoexplore.export import to_query
from zoexplore.presets import DEMONSTRATION
from zoexplore.setting import Accounting

# Every text that the canvases draw, with its box on the screen; a repaint of a canvas begins anew.
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
      const place = this.canvas.getBoundingClientRect();
      window.texts.get(this.canvas)?.push({text, box: [
        Math.min(corner.x, end.x) / ratio + place.left, Math.min(corner.y, end.y) / ratio + place.top,
        Math.max(corner.x, end.x) / ratio + place.left, Math.max(corner.y, end.y) / ratio + place.top,
      ]});
    }
    return fillText.call(this, text, x, y, ...more);
  };
}"""
SHOWN = "() => [...window.texts.entries()].filter(([canvas]) => canvas.offsetParent).flatMap(([, texts]) => texts)"
SEEN = 1.0  # pixels by which boxes may touch


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


@pytest.mark.parametrize("count", [3, proof(100)])
@pytest.mark.parametrize("tab", ["curves", "publish"])
def test_no_two_labels_overlap(page, app_url, tab, count):
    opened(page, app_url)
    page.evaluate(WATCH)
    for run in settings(count):
        query = f"tab={tab}&{to_query(run, Accounting())}"
        page.evaluate(VISIT, f"?{query}")
        until(page, lambda run=run: f"T={run.T}" in page.url)
        idle(page)
        page.wait_for_timeout(600)
        assert not overlapping(page.evaluate(SHOWN)), query
