"""Draws the pictures of docs/hidden_states.md anew: `python -m tools.pictures`. It needs Chromium,
as the tests of pages do.
"""

from pathlib import Path
from tempfile import TemporaryDirectory

import holoviews as hv
import numpy as np
from playwright.sync_api import sync_playwright

from tools.chromium import find
from zoexplore import guarantee, plots
from zoexplore.run.presets import DEMONSTRATION

FOLDER = Path(__file__).parents[1] / "docs"
RUN = DEMONSTRATION.replace(T=40)
WIDE = {"width": 640, "height": 320, "responsive": False}


def two_runs(steps: int = 25, pairs: int = 150) -> hv.Layout:
    """Draw where runs in the plane end on two neighbouring data sets: without noise, with the same
    noise for both, and with noise of their own.
    """
    rng = np.random.default_rng(3)
    c, push = 0.85, np.array([0.35, 0.1])
    one, other = (plots.style(bound)["color"] for bound in ("theorem", "composition"))
    pictures = []
    for title, noise, shared in (
        ("no noise", 0.0, True),
        ("noise, the same for both", 0.5, True),
        ("noise, each its own", 0.5, False),
    ):
        w, v = np.zeros((pairs, 2)), np.zeros((pairs, 2))
        for _ in range(steps):
            a, b = rng.standard_normal((2, pairs, 2)) * noise
            w, v = c * w + push / 2 + a, c * v - push / 2 + (a if shared else b)
        frame = {
            "width": 300,
            "height": 300,
            "responsive": False,
            "xlim": (-4.5, 4.5),
            "ylim": (-4.5, 4.5),
            "xlabel": "",
            "ylabel": "",
        }
        dots = [
            hv.Scatter(x).opts(color=colour, size=5, alpha=0.5)
            for x, colour in ((w, one), (v, other))
        ]
        pictures.append((dots[0] * dots[1]).opts(title=title, toolbar=None, **frame))
    return hv.Layout(pictures).opts(toolbar=None)


def distances() -> hv.Overlay:
    """Draw the distance that is left to hide in the sharper bound's proof, and what it would be if
    nothing were hidden, or nothing contracted either.
    """
    plan = guarantee(RUN, "sharp").trajectory
    assert plan is not None
    assert RUN.lipschitz is not None
    B = 2 * RUN.eta * RUN.lipschitz / (RUN.n * RUN.K)  # at most what replacing a record changes
    time, pull = np.arange(RUN.T + 1), [0.0]
    inside, across = RUN.K / RUN.d, 1 - RUN.K / RUN.d
    c = 1 - RUN.eta * RUN.m / RUN.K
    for _ in range(RUN.T):
        pull.append(np.hypot(np.sqrt(across) * pull[-1], c * np.sqrt(inside) * pull[-1] + B))
    lines = {
        "pushes alone": (B * time, "composition", "dashed"),
        "push and pull": (pull, "theorem", "solid"),
        "push, pull and shift": (plan.z, "sharp", "solid"),
    }
    drawn = [
        hv.Curve((time, values), "step", "distance of the runs", label=name).opts(
            color=plots.style(bound)["color"], line_dash=dash, line_width=3
        )
        for name, (values, bound, dash) in lines.items()
    ]
    return hv.Overlay(drawn).opts(
        ylim=(0, 0.0008), legend_position="top_left", toolbar=None, **WIDE
    )


def costs() -> hv.Overlay:
    """Draw the budget spent up to each step: if every push is hidden at once, and by the sharper
    bound.
    """
    plan, public = guarantee(RUN, "sharp").trajectory, guarantee(RUN, "composition")
    assert plan is not None
    time = np.arange(1, RUN.T + 1)
    lines = {
        "every push hidden at once": (public.rho / RUN.T * time, "composition"),
        "hidden late": (np.cumsum(plan.rho), "sharp"),
    }
    drawn = [
        hv.Curve((time, values), "step", "budget spent, ρ", label=name).opts(
            color=plots.style(bound)["color"], line_width=3
        )
        for name, (values, bound) in lines.items()
    ]
    return hv.Overlay(drawn).opts(legend_position="top_left", toolbar=None, **WIDE)


def main() -> None:
    hv.extension("bokeh")
    plots.use()
    made = {
        "two-runs": (two_runs(), 920, 320),
        "distances": (distances(), 650, 330),
        "costs": (costs(), 650, 330),
    }
    with sync_playwright() as playwright, TemporaryDirectory() as folder:
        browser = playwright.chromium.launch(
            executable_path=find(), args=["--no-sandbox", "--disable-gpu"]
        )
        for name, (element, width, height) in made.items():
            file = Path(folder) / f"{name}.html"
            hv.save(element, file, resources="inline")
            page = browser.new_page(viewport={"width": width, "height": height})
            page.goto(file.as_uri())
            page.locator("canvas").first.wait_for()
            page.wait_for_timeout(500)  # until the figure is drawn
            page.screenshot(path=FOLDER / f"hidden-{name}.png")
        browser.close()


if __name__ == "__main__":
    main()
