"""Builds the static site: `python -m tools.site` writes build/site, without a network; `--quick`
leaves the notebooks unexecuted.

Pages keep the places that they have in the project, so that their links hold; the README is the
home page. `tools.pages` makes the pages that come from the package, and `tools.executed` runs the
notebooks.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
from hashlib import sha256
from html import unescape
from importlib.metadata import distribution
from pathlib import Path

import nbformat
from panel.io.resources import CDN_DIST, DIST_DIR

from benchmarks.comparison.kept import load
from tools import comparison, pages
from tools.executed import ROOT, as_written, executed, paths
from zoexplore import plots

PAGES, SITE = ROOT / "build" / "pages", ROOT / "build" / "site"
_BOKEH, _PANEL, _MARIMO = (
    Path(str(distribution(package).locate_file(package)))
    for package in ("bokeh", "panel", "marimo")
)
COPIED = ("CHANGELOG.md", "CONTRIBUTING.md", "CITATION.cff", "LICENSE", "app.py", "Containerfile")
_DELIMITERS = """[{left: "\\\\(", right: "\\\\)", display: false}, {left: "\\\\[", right: "\\\\]", display: true},
  {left: "$$", right: "$$", display: true}, {left: "$", right: "$", display: false}]"""
DRAWN = f"renderMathInElement(document.body, {{delimiters: {_DELIMITERS}, throwOnError: false}})"
RENDER = f"document$.subscribe(() => {DRAWN});\n"
# The page has room for code cells of 88 characters. On a phone a wide formula scrolls by itself.
LOOK = """
.md-grid { max-width: 76rem; }
.md-typeset__scrollwrap { position: relative; }
.katex-display { position: relative; overflow-x: auto; overflow-y: hidden; }
@media (max-width: 45em) { .md-typeset p:has(.katex) { position: relative; overflow-x: auto; overflow-y: hidden; } }
"""
_LINKED = re.compile(re.escape(CDN_DIST) + r"([\w./-]+\.\w+)(?:\?v=[\w.]+)?")


def slug(text: str, separator: str) -> str:
    """Return a heading's anchor as GitHub makes it, which the pages' links use."""
    return re.sub(r"[^\w\- ]", "", unescape(text).lower()).strip().replace(" ", separator)


def assemble(execute: bool = True) -> None:
    """Put the site's pages together in build/pages."""
    shutil.rmtree(PAGES, ignore_errors=True)
    shutil.copytree(ROOT / "docs", PAGES / "docs")
    for name in COPIED:
        shutil.copy(ROOT / name, PAGES / name)
    plots.use()
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    made = {
        "index": pages.home(PAGES, readme),
        "gallery": pages.gallery(PAGES),
        "citing": pages.citing(readme),
    }
    for name, text in made.items():
        (PAGES / f"{name}.md").write_text(text, encoding="utf-8")
    (PAGES / "docs" / "api.md").write_text(pages.names(), encoding="utf-8")
    (PAGES / "docs" / "comparison.md").write_text(comparison.written(load()), encoding="utf-8")
    with (PAGES / "docs" / "published.md").open("a", encoding="utf-8") as table:
        table.write(pages.published(PAGES))
    (PAGES / "bokeh").mkdir()
    shutil.copy(_BOKEH / "server" / "static" / "js" / "bokeh.min.js", PAGES / "bokeh")
    for page in PAGES.rglob("*.md"):
        page.write_text(
            page.read_text(encoding="utf-8").replace("../README.md", "../index.md"),
            encoding="utf-8",
        )
    katex(PAGES / "katex")
    (PAGES / "katex" / "render.js").write_text(RENDER, encoding="utf-8")
    (PAGES / "katex" / "look.css").write_text(LOOK, encoding="utf-8")
    (PAGES / "notebooks").mkdir()
    for path in paths():
        _notebook(path, execute)


def katex(folder: Path) -> None:
    """Copy KaTeX, which draws formulas, into a folder. Its scripts come from Panel and its fonts
    from marimo, so that no network is needed. The style sheet then names one file of each font,
    since marimo does not have all.
    """
    fonts = folder / "fonts"
    fonts.mkdir(parents=True)
    for name in ("katex.min.css", "katex.min.js", "auto-render.min.js"):
        (file,) = (_PANEL / "dist" / "bundled" / "katex").rglob(name)
        shutil.copy(file, folder / name)
    for file in (_MARIMO / "_static" / "assets").glob("KaTeX_*.woff*"):
        # a hash follows
        face = re.match(r"KaTeX_\w+?-(BoldItalic|Bold|Italic|Regular)", file.stem)
        shutil.copy(file, fonts / f"{face[0] if face else file.stem}{file.suffix}")
    sheet = folder / "katex.min.css"
    sheet.write_text(
        re.sub(r"src:([^}]*)", lambda found: _font(folder, found[1]), sheet.read_text("utf-8")),
        encoding="utf-8",
    )


def _font(folder: Path, sources: str) -> str:
    """Return the first of a font's sources whose file exists."""
    return "src:" + next(
        source for source in sources.split(",") if (folder / source[4 : source.index(")")]).exists()
    )


def _notebook(path: Path, execute: bool) -> None:
    """Write a notebook with its outputs, and with links to pages in place of their sources."""
    notebook = as_written(executed(path)) if execute else nbformat.read(path, as_version=4)
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            cell.source = re.sub(
                r"\]\(((?!https?:)[^)#]+)\.(?:ipynb|md)", r"](\1.html", cell.source
            )
        for output in cell.get("outputs", ()):
            _shared(output)
            if "text/html" in output.get("data", {}):
                output.data["text/html"] = _brought(output.data["text/html"])
    nbformat.write(notebook, PAGES / "notebooks" / path.name)


def _shared(output: nbformat.NotebookNode) -> None:
    """Put the scripts that a notebook loads into a file of their own. They are some megabytes, and
    the same in all notebooks.
    """
    if "application/vnd.holoviews_load.v0+json" in output.get("data", {}):
        script = _brought(output.data["application/javascript"]).encode()
        name = f"load-{sha256(script).hexdigest()[:16]}.js"
        (PAGES / "bokeh" / name).write_bytes(script)
        output.data = {"text/html": f'<script src="../bokeh/{name}"></script>'}


def _brought(text: str) -> str:
    """Make an output load Panel's style sheets from the site, not from Panel's server."""

    def bring(found: re.Match[str]) -> str:
        file = PAGES / "panel" / found[1]
        if not (DIST_DIR / found[1]).is_file():
            return found[0]
        file.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(DIST_DIR / found[1], file)
        return f"../panel/{found[1]}"

    return _LINKED.sub(bring, text)


def build(folder: Path = SITE) -> None:
    """Write the pages as HTML."""
    command = [
        sys.executable,
        "-m",
        "mkdocs",
        "build",
        "--quiet",
        "--clean",
        "-f",
        str(ROOT / "mkdocs.yml"),
        "-d",
        str(folder),
    ]
    subprocess.run(
        command,
        cwd=ROOT,
        check=True,
        env=os.environ | {"PYTHONPATH": str(ROOT), "NO_MKDOCS_2_WARNING": "1"},
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--quick", action="store_true", help="leave the notebooks as they are, without outputs"
    )
    given = parser.parse_args()
    assemble(execute=not given.quick)
    build()
    print(f"{SITE / 'index.html'}: python -m http.server -d build/site serves it with its search")


if __name__ == "__main__":
    main()
