"""Turns a notebook into slides: decides where they break, and adds scripts that lay them out."""

import re
from pathlib import Path

import nbformat
import panel
from nbconvert import SlidesExporter
from nbformat import NotebookNode

HERE = Path(__file__).parent
LINE, LINES = 85, 18  # characters of a line, lines of a slide
FIGURE = 12  # lines that a figure takes
LONGEST = LINE * LINES
BREAK = re.compile(r"\n(?=## |\*\*(?!1\.)\d\. )")  # the first exercise stays with the heading
# the script that would load Reveal from another site
REQUIRED = re.compile(r"<script>\s*require\(.*?</script>", re.DOTALL)
(_REVEAL,) = (Path(panel.__file__ or "").parent / "dist" / "bundled").glob("reveal.js@*/dist")


def page(notebook: NotebookNode) -> str:
    """Return a notebook without solutions as a page of slides, which needs `scripts` at its end."""
    exporter = SlidesExporter(reveal_scroll=True, exclude_input=True, exclude_output_prompt=True)
    text, _ = exporter.from_notebook_node(cut(notebook))
    return REQUIRED.sub("", text)


def scripts() -> str:
    """Return Reveal with its style sheets, which Panel brings, and this project's own."""
    looks = [_REVEAL / "reveal.css", _REVEAL / "theme" / "white.css", HERE / "slides.css"]
    programs = [_REVEAL / "reveal.min.js", HERE / "slides.js"]
    styled = "".join(f"<style>{read(file)}</style>" for file in looks)
    return styled + "".join(f"<script>{read(file)}</script>" for file in programs)


def read(file: Path) -> str:
    """Return a file's text, without the imports of a style sheet from other sites."""
    return re.sub(r"@import [^;]*;", "", file.read_text(encoding="utf-8"))


def cut(notebook: NotebookNode) -> NotebookNode:
    """Make a slide of each heading and of each text below it, with the outputs of the cells that
    follow.
    """
    cells, taken = [], 0.0  # the cells so far; the lines taken of the current slide
    for cell in notebook.cells:
        if cell.cell_type == "code":
            kind = "subslide" if taken and taken + _lines(cell) > LINES else "-"
            cell.metadata["slideshow"] = {"slide_type": kind if cell.outputs else "skip"}
            cells.append(cell)
            taken = _lines(cell) + (taken if kind == "-" else 0)
            continue
        for part in BREAK.split(cell.source.strip()):
            kind = "slide" if part.startswith(("# ", "## ")) else "subslide"
            for piece in _pieces(part):
                cells.append(
                    nbformat.v4.new_markdown_cell(
                        piece, metadata={"slideshow": {"slide_type": kind}}
                    )
                )
                kind, taken = "subslide", len(piece) / LINE
    notebook.cells = cells
    return notebook


def _lines(cell: NotebookNode) -> int:
    """Estimate the height of a cell's output, in lines."""
    printed = sum(o.text.count("\n") for o in cell.outputs if o.output_type == "stream")
    return int(printed) + FIGURE * any("text/html" in o.get("data", {}) for o in cell.outputs)


def _pieces(text: str) -> list[str]:
    """Cut a text into pieces of whole paragraphs, each of which fits on a slide. A folded part
    stays whole.
    """
    pieces = [""]
    for paragraph in re.split(r"\n\n(?![^<]*</details>)", text):
        if pieces[-1] and len(pieces[-1]) + len(paragraph) > LONGEST:
            pieces.append("")
        pieces[-1] += f"{paragraph}\n\n"
    return [piece.strip() for piece in pieces]
