"""Draws the README's moving picture from the page: `python -m tools.moving` writes
docs/explorer.gif. It needs Chromium.
"""

from io import BytesIO
from pathlib import Path
from typing import Any

from PIL import Image
from playwright.sync_api import Page, ViewportSize, sync_playwright

from benchmarks.serving import served
from tools.chromium import find
from zoexplore import Accounting, guarantee
from zoexplore.questions.export import to_query
from zoexplore.run.formatting import format_number
from zoexplore.run.presets import DEMONSTRATION

FILE = Path(__file__).parents[1] / "docs" / "explorer.gif"
# The number of steps grows; then, for the longest run, the share of the noise along the directions.
STEPS, SHARES = (10, 30, 100, 300, 1000, 10_000), (0.8, 0.95, 0.99, 1.0)
FRAMES: list[dict[str, Any]] = [{"T": T} for T in STEPS] + [
    {"T": STEPS[-1], "beta": share} for share in SHARES
]
SIZE: ViewportSize = {"width": 1280, "height": 800}
WIDTH, COLOURS = 960, 64
MOMENT, LAST = 900, 2500  # milliseconds that a picture stays, and that the last one does
PATIENCE = 120.0  # seconds
IDLE = "() => window.Bokeh && Bokeh.documents.length > 0 && Bokeh.documents[0].is_idle"
VISIT = """search => {
  history.replaceState({}, '', location.pathname + search);
  dispatchEvent(new PopStateEvent('popstate'));
}"""


def picture(page: Page, given: dict[str, Any]) -> Image.Image:
    """Change these fields, and take a picture once the page's table shows the run's composition."""
    run = DEMONSTRATION.replace(**given)
    page.evaluate(VISIT, f"?tab=curves&{to_query(run, Accounting())}")
    shown = format_number(guarantee(run, "composition").epsilon)
    page.locator(".zx-table td.number", has_text=shown).first.wait_for()
    page.wait_for_timeout(1500)  # until the curves are drawn too
    whole = Image.open(BytesIO(page.screenshot()))
    small = whole.resize((WIDTH, WIDTH * whole.height // whole.width), Image.Resampling.LANCZOS)
    return small.convert("P", palette=Image.Palette.ADAPTIVE, colors=COLOURS)


def main() -> None:
    with served() as server, sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=find(), args=["--no-sandbox", "--disable-gpu"]
        )
        page = browser.new_page(viewport=SIZE)
        page.set_default_timeout(1000 * PATIENCE)
        page.goto(f"{server.page}?tab=curves")
        page.wait_for_function(IDLE, polling=100)
        page.locator(".zx-table td.number").first.wait_for()
        first, *others = [picture(page, given) for given in FRAMES]
        browser.close()
    stay = [MOMENT] * len(others) + [LAST]
    first.save(FILE, save_all=True, append_images=others, duration=stay, loop=0, optimize=True)
    print(f"{FILE}: {FILE.stat().st_size / 1e6:.2f} MB")


if __name__ == "__main__":
    main()
