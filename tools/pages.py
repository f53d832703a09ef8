"""Makes the site's pages that come from the package: the story on the home page, the public names,
the gallery, the published runs, and how to cite.
"""

import re
from collections.abc import Iterator
from functools import partial
from importlib import import_module
from math import ceil
from pathlib import Path
from typing import Any

import holoviews as hv
from bokeh.embed import components

from zoexplore import BOUNDS, Accounting, curve, guarantee, lesson, plots
from zoexplore.questions.export import to_python, to_query, to_yaml
from zoexplore.run.formatting import format_number
from zoexplore.run.presets import DEMONSTRATION, PRESETS
from zoexplore.run.published import RUNS, Published
from zoexplore.views.panels.story import STEPS
from zoexplore.views.training.tab import in_advance

MODULES = (
    "zoexplore",
    "zoexplore.questions",
    "zoexplore.questions.export",
    "zoexplore.questions.statement",
    "zoexplore.plots",
    "zoexplore.mechanism",
    "zoexplore.hf",
    "zoexplore.training",
)
_NAMES = """# Public names

From their docstrings. Symbols are the paper's; [concepts](concepts.md) says what they mean.
"""

FIGURES = "figures"
BOKEH = '<script src="{up}bokeh/bokeh.min.js"></script>'  # once a page, before its figures
_FRAME = '<iframe src="{file}" title="{title}" loading="lazy" style="width:100%;height:{height}px;border:0"></iframe>'
_GALLERY = """# Gallery

Drawn by `zoexplore.plots`, each by the line above it; they answer the mouse.
"""
_SCRIPTS = """
from zoexplore import plots
from zoexplore.run.presets import DEMONSTRATION

plots.use()
below = {"legend_position": "top", "legend_cols": 2, "height": 420}
"""
_LESSON = """One file, which moves without a server: `zoexplore lesson run.yaml --sliders sigma,T,K`, as
[teaching](docs/teaching.md#lessons) says. [Alone on a page](lesson.html)."""
BELOW = {"legend_position": "top", "legend_cols": 2, "height": 360}  # legends that cover no curve
PICTURES = {
    "curves": (
        "Every bound against the number of steps",
        'plots.curves(DEMONSTRATION, "T", range(1, 1001)).opts(**below)',
    ),
    "share": (
        "Where the noise goes, and what that changes",
        'plots.curves(DEMONSTRATION.replace(K=52), "beta", bounds=["composition", "theorem", "sharp"]).opts(**below)',
    ),
    "profile": ("The privacy profile", 'plots.curves(DEMONSTRATION, "delta").opts(**below)'),
    "tradeoff": ("What the best attacker misses", "plots.tradeoff(DEMONSTRATION).opts(**below)"),
    "grid": ("The sharper bound over K and σ", "plots.grid(DEMONSTRATION, points=31)"),
    "inside": ("Inside the sharper bound", "plots.inside(DEMONSTRATION)"),
}


def figure(folder: Path, name: str, element: Any, up: str = "") -> str:
    """Write an element as a script into the site's folder of figures, and return the lines of a
    page that show it. `up` leads from the page to the site's root.
    """
    script, place = components(hv.render(element, backend="bokeh"))
    (folder / FIGURES).mkdir(exist_ok=True)
    inner = re.sub(r"</?script[^>]*>", "", script)
    (folder / FIGURES / f"{name}.js").write_text(inner, encoding="utf-8")
    return f'\n<div class="figure">{place.strip()}</div>\n<script src="{up}{FIGURES}/{name}.js"></script>\n'


def home(folder: Path, readme: str) -> str:
    """Return the README with the explorer's story before "Start"."""
    intro, heading, rest = readme.partition("\n## Start\n")
    return f"{intro}\n{story(folder)}\n{heading}{rest}"


def story(folder: Path) -> str:
    """Tell the explorer's story. Each step has its text, a picture, and the folded answer to its
    question.
    """
    lesson(DEMONSTRATION, ("sigma", "beta", "T"), folder / "story.html")
    frame = partial(_FRAME.format, height=760)
    pictures = {
        "1": frame(file="story.html#tab=game&dials=sigma", title="a game"),
        "2": frame(file="story.html#publish=every&T=10&dials=T", title="every step published"),
        "3": frame(file="story.html#dials=T", title="only the last model published"),
        "4": frame(
            file="story.html#tab=curves&against=beta&beta=1&dials=beta", title="what β does"
        ),
        "5": figure(
            folder, "story-6", plots.frontier(in_advance(DEMONSTRATION.K)[1]).opts(**BELOW)
        ),
        "6": "",
    }
    text = f"## The story in six steps\n\nGuess before you look. `make app` tells it with sliders.\n\n{BOKEH.format(up='')}\n"
    for number, step in STEPS.items():
        text += f"\n### {number}. {step.title}\n\n{step.summary}\n\n{pictures[number]}\n"
        if not step.guesses:
            continue
        before, after = ({b: guarantee(run, b) for b in BOUNDS} for run in _runs(step))
        right, why = step.tells(before, after)
        asked = f"{step.question} <i>{' · '.join(step.guesses)}</i>"
        text += f"\n<details><summary>{asked}</summary><p><b>{step.guesses[right]}.</b> {why}</p></details>\n"
    return text


def _runs(step: Any) -> Iterator[Any]:
    """Return the run before a step's question and the run after it."""
    before = DEMONSTRATION.replace(**step.run)
    return iter((before, before.replace(**step.then)))


def gallery(folder: Path) -> str:
    """Return the gallery: pictures with the code that draws them, a lesson, and the presets."""
    text = f"{_GALLERY}\n{BOKEH.format(up='')}\n\n```python{_SCRIPTS}```\n"
    names: dict[str, Any] = {}
    exec(_SCRIPTS, names)
    for name, (title, code) in PICTURES.items():
        text += f"\n## {title}\n\n```python\n{code}\n```\n{figure(folder, name, eval(code, names))}"
    lesson(DEMONSTRATION, ("sigma", "T", "K"), folder / "lesson.html")
    text += f"\n## A lesson\n\n{_LESSON}\n\n{_FRAME.format(file='lesson.html', title='a lesson', height=900)}\n"
    text += "\n## Presets\n\n| run | what it is | ε, every iterate public | ε, the last one alone |\n|---|---|---|---|\n"
    for key, preset in PRESETS.items():
        if preset.setting == DEMONSTRATION:
            continue
        found = curve(preset.setting, "T", [preset.setting.T], ["composition", "sharp"])
        public, hidden = (
            format_number(float(found[bound][0])) for bound in ("composition", "sharp")
        )
        name = f"[{preset.name}](published/{key}.md)" if key in RUNS else preset.name
        text += f"| {name} | {preset.summary} | {public} | {hidden} |\n"
    return text


def published(folder: Path) -> str:
    """Write a page for every published run, and return the links to these pages."""
    (folder / "published").mkdir()
    links = ""
    for key, run in RUNS.items():
        (folder / "published" / f"{key}.md").write_text(
            _published(folder, key, run), encoding="utf-8"
        )
        links += f"- [{run.name}, K = {run.K}](../published/{key}.md)\n"
    return f"\n## The runs one by one\n\n{links}"


def _published(folder: Path, key: str, run: Published) -> str:
    """Return a run's page: its numbers, the claimed ε and ours, and the setting to go on from."""
    rows = {
        "records n": run.n,
        "parameters d": f"{run.d:,}",
        "directions a step K": run.K,
        "records a step b": run.batch,
        "steps T": f"{run.T:,}",
        "epochs": ceil(run.T * run.batch / run.n),
        "clip C, of a record's K quotients together": f"{run.C:g}",
        "δ": f"{run.delta:.3g}",
        "noise multiplier z": f"{run.z:g}",
    }
    counts = {
        "claimed": run.claimed,
        "Poisson, add or remove": run.trained,
        "fresh batches, replace one": run.fresh,
    }
    if run.shuffled:
        counts["shuffled, replace one"] = run.ours
    picture = figure(folder, f"published-{key}", _bars(counts), up="../")
    setting, accounting = PRESETS[key].setting, Accounting()
    table = "".join(f"| {name} | {value} |\n" for name, value in rows.items())
    return f"""# {run.name}

{run.summary}

| as its script has it | |
|---|---|
{table}
## ε, by how it is counted

{BOKEH.format(up="../")}
{picture}

| counted as | ε |
|---|---|
{"".join(f"| {name} | {format_number(value)} |{chr(10)}" for name, value in counts.items())}
[All published runs, and how to read these numbers](../docs/published.md).

## To go on from

In the explorer: the preset of that name, or `/app?{to_query(setting, accounting)}`. As a file for `zoexplore epsilon`:

```yaml
{to_yaml(setting, accounting).strip()}
```

From Python:

```python
{to_python(setting, accounting).strip()}
```
"""


def _bars(counts: dict[str, float]) -> hv.Bars:
    """Draw a bar for each way to count, with the first on top."""
    return hv.Bars(list(counts.items())[::-1], "counted as", "ε").opts(
        invert_axes=True,
        ylim=(0, None),
        color=plots.style("theorem")["color"],
        line_alpha=0,
        bar_width=0.6,
        xlabel="",
        height=220,
    )


def citing(readme: str) -> str:
    """Return the README's chapter on the paper as a page."""
    _, _, text = readme.partition("## The paper, and how to cite\n")
    return f"# The paper, and how to cite\n{text}"


def public(module: str) -> list[tuple[str, Any]]:
    """List the classes and functions in a module's `__all__`, or else its own public ones."""
    home = import_module(module)
    own = [
        name
        for name, thing in vars(home).items()
        if getattr(thing, "__module__", "") == module and name[0] != "_"
    ]
    return [
        (name, thing)
        for name in getattr(home, "__all__", own)
        if callable(thing := getattr(home, name))
    ]


def names() -> str:
    """Return the page of public names. It has each name once, with the module from which
    mkdocstrings takes the signature and docstring.
    """
    seen: set[int] = set()
    lines = [_NAMES]
    for module in MODULES:
        here = [(name, thing) for name, thing in public(module) if id(thing) not in seen]
        seen.update(id(thing) for _, thing in here)
        if here:
            lines += [f"## `{module}`", "", (import_module(module).__doc__ or "").strip(), ""]
        for _, thing in here:
            lines += [f"::: {thing.__module__}.{thing.__qualname__}", ""]
    return "\n".join(lines)
