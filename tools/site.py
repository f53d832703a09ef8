"""Builds the static site: `python -m tools.site` writes build/site, without a network; `--quick` leaves the notebooks unexecuted.

Pages keep the places that they have in the project, so that their links hold; the README is the home page.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
from html import unescape
from pathlib import Path

import holoviews as hv
import marimo
import nbformat
import panel
from nbclient import NotebookClient

from tools import lesson
from zoexplore import curve, plots
from zoexplore.presets import DEMONSTRATION, PRESETS

ROOT = Path(__file__).parents[1]
PAGES, SITE = ROOT / "build" / "pages", ROOT / "build" / "site"
_PANEL, _MARIMO = (Path(package.__file__ or "").parent for package in (panel, marimo))
COPIED = ("CHANGELOG.md", "CONTRIBUTING.md", "CITATION.cff", "LICENSE", "app.py", "Containerfile")
_DELIMITERS = """[{left: "\\\\(", right: "\\\\)", display: false}, {left: "\\\\[", right: "\\\\]", display: true},
  {left: "$$", right: "$$", display: true}, {left: "$", right: "$", display: false}]"""
DRAWN = f"renderMathInElement(document.body, {{delimiters: {_DELIMITERS}, throwOnError: false}})"
RENDER = f"document$.subscribe(() => {DRAWN});\n"
GALLERY = """# Gallery

Drawn by `zoexplore.plots` from the demonstration run; every picture is a HoloViews element and answers the mouse.

"""
_FRAME = '<iframe src="{name}.html" title="{title}" loading="lazy" style="width:100%;height:{height}px;border:0"></iframe>'


def slug(text: str, separator: str) -> str:
    """A heading's anchor as GitHub has it, which the pages' links use."""
    return re.sub(r"[^\w\- ]", "", unescape(text).lower()).strip().replace(" ", separator)


def assemble(execute: bool = True) -> None:
    """Put the site's pages together in build/pages."""
    shutil.rmtree(PAGES, ignore_errors=True)
    shutil.copytree(ROOT / "docs", PAGES / "docs")
    for name in COPIED:
        shutil.copy(ROOT / name, PAGES / name)
    shutil.copy(ROOT / "README.md", PAGES / "index.md")
    for page in PAGES.rglob("*.md"):
        page.write_text(page.read_text(encoding="utf-8").replace("../README.md", "../index.md"), encoding="utf-8")
    katex(PAGES / "katex")
    (PAGES / "katex" / "render.js").write_text(RENDER, encoding="utf-8")
    (PAGES / "notebooks").mkdir()
    for path in sorted((ROOT / "notebooks").glob("*.ipynb")):
        _notebook(path, execute)
    _gallery()


def katex(folder: Path) -> None:
    """What draws formulas, into a folder: Panel brings the scripts, marimo the fonts, so that nothing comes from elsewhere."""
    fonts = folder / "fonts"
    fonts.mkdir(parents=True)
    for name in ("katex.min.css", "katex.min.js", "auto-render.min.js"):
        (file,) = (_PANEL / "dist" / "bundled" / "katex").rglob(name)
        shutil.copy(file, fonts.parent / name)
    for file in (_MARIMO / "_static" / "assets").glob("KaTeX_*.woff2"):
        name = re.match(r"KaTeX_\w+?-(BoldItalic|Bold|Italic|Regular)", file.stem)  # what follows is a hash
        shutil.copy(file, fonts / f"{name[0] if name else file.stem}.woff2")


def _notebook(path: Path, execute: bool) -> None:
    """A notebook with what its cells show, and links to pages in place of those to their sources."""
    notebook = nbformat.read(path, as_version=4)
    if execute:
        print(f"site: running {path.name}", flush=True)
        os.environ.update(PANEL_INLINE="1", PYTHONPATH=str(ROOT))
        NotebookClient(notebook, timeout=600, resources={"metadata": {"path": str(path.parent)}}).execute()
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            cell.source = re.sub(r"\]\(((?!https?:)[^)#]+)\.(?:ipynb|md)", r"](\1.html", cell.source)
    nbformat.write(notebook, PAGES / "notebooks" / path.name)


def _gallery() -> None:
    """Pictures that need no server, and the lesson with its player."""
    plots.use()
    steps = range(1, 1001)
    published = {name: preset for name, preset in PRESETS.items() if preset.setting != DEMONSTRATION}
    shown = {
        "curves": ("Every bound against the number of steps", plots.curves(DEMONSTRATION, "T", steps), 360),
        "profile": ("The privacy profile", plots.profile(DEMONSTRATION), 360),
        "grid": ("The sharper bound over K and σ", plots.grid(DEMONSTRATION, points=31), 440),
        "inside": ("Inside the sharper bound", plots.inside(DEMONSTRATION), 540),
    }
    text = GALLERY
    for name, (title, element, height) in shown.items():
        hv.save(element, PAGES / f"gallery-{name}.html", resources="inline", title=title)
        text += f"## {title}\n\n{_FRAME.format(name=f'gallery-{name}', title=title, height=height)}\n\n"
    (PAGES / "lesson.html").write_text(lesson.html("sharp"), encoding="utf-8")
    text += f"## The bound, played step by step\n\n{_FRAME.format(name='lesson', title='a lesson with a player', height=900)}\n\n"
    text += "## Presets\n\n| run | what it is | ε, every iterate public | ε, the last one alone |\n|---|---|---|---|\n"
    for preset in published.values():
        found = curve(preset.setting, "T", [preset.setting.T], ["composition", "sharp"])
        public, hidden = (f"{float(found[bound][0]):.3g}" for bound in ("composition", "sharp"))
        text += f"| {preset.name} | {preset.summary} | {public} | {hidden} |\n"
    (PAGES / "gallery.md").write_text(text, encoding="utf-8")


def build(folder: Path = SITE) -> None:
    """The pages as HTML."""
    command = [sys.executable, "-m", "mkdocs", "build", "--quiet", "--clean", "-f", str(ROOT / "mkdocs.yml"), "-d", str(folder)]
    subprocess.run(command, cwd=ROOT, check=True, env=os.environ | {"PYTHONPATH": str(ROOT), "NO_MKDOCS_2_WARNING": "1"})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="leave the notebooks as they are, without outputs")
    given = parser.parse_args()
    assemble(execute=not given.quick)
    build()
    print(f"{SITE / 'index.html'}: python -m http.server -d build/site serves it with its search")


if __name__ == "__main__":
    main()
