"""The notebooks as slides: where they break, and what lays them out."""

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
BREAK = re.compile(r"\n(?=## |\*\*(?!1\.)\d\. )")  # the first exercise stands below their heading
# what asks for Reveal elsewhere
REQUIRED = re.compile(r"<script>\s*require\(.*?</script>", re.DOTALL)
(_REVEAL,) = (Path(panel.__file__ or "").parent / "dist" / "bundled").glob("reveal.js@*/dist")


def page(notebook: NotebookNode) -> str:
    """A notebook without solutions as a page that ends with `scripts`."""
    exporter = SlidesExporter(reveal_scroll=True, exclude_input=True, exclude_output_prompt=True)
    text, _ = exporter.from_notebook_node(cut(notebook))
    return REQUIRED.sub("", text)


def scripts() -> str:
    """Reveal with its style sheets, from Panel, and this package's script."""
    looks = [_REVEAL / "reveal.css", _REVEAL / "theme" / "white.css", HERE / "slides.css"]
    programs = [_REVEAL / "reveal.min.js", HERE / "slides.js"]
    styled = "".join(f"<style>{read(file)}</style>" for file in looks)
    return styled + "".join(f"<script>{read(file)}</script>" for file in programs)


def read(file: Path) -> str:
    """A page's text, without a style sheet's links to other sites."""
    return re.sub(r"@import [^;]*;", "", file.read_text(encoding="utf-8"))


def cut(notebook: NotebookNode) -> NotebookNode:
    """A slide for each heading and each text below it, with the outputs of the cells after it."""
    cells, taken = [], 0.0  # of a slide, in lines
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
    """The height of a cell's output, in lines."""
    printed = sum(o.text.count("\n") for o in cell.outputs if o.output_type == "stream")
    return int(printed) + FIGURE * any("text/html" in o.get("data", {}) for o in cell.outputs)


def _pieces(text: str) -> list[str]:
    """A text in pieces of whole paragraphs that fit on a slide each. A folded part stays whole."""
    pieces = [""]
    for paragraph in re.split(r"\n\n(?![^<]*</details>)", text):
        if pieces[-1] and len(pieces[-1]) + len(paragraph) > LONGEST:
            pieces.append("")
        pieces[-1] += f"{paragraph}\n\n"
    return [piece.strip() for piece in pieces]
