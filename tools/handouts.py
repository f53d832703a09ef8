"""The notebooks as pages that need no kernel and no network: `python -m tools.handouts [handouts|answers|slides] [numbers]`.

Handouts leave out the solutions; answers hold only them, with what their code prints; slides break at headings and leave out
the code. Each page is one file in build/; the notebooks are run by `tools.executed`, once for all kinds of pages.
"""

import argparse
import re
from base64 import b64encode
from pathlib import Path

import nbformat
import panel
from nbconvert import HTMLExporter, SlidesExporter
from nbformat import NotebookNode

from tools.executed import HIDDEN, ROOT, as_written, executed, only_answers, paths
from tools.lesson import linked_as_data
from tools.site import DRAWN, katex
from zoexplore.writing import write

BUILD = ROOT / "build"
KINDS = ("handouts", "answers", "slides")
BESIDE = 420  # characters of text that leave room for a figure on a slide
LONGEST = 1300  # that fit on one without
LOOK = """
body:not(:has(.reveal)) { max-width: 980px; margin: 0 auto; padding: 0 16px; }
.reveal section { text-align: left; } .reveal :is(h1, h2, h3) { text-transform: none; }
.reveal .jp-OutputArea-output pre { font-size: 15px !important; width: auto; }
.reveal .slides section { max-height: 700px; overflow-x: hidden; overflow-y: auto; }
.jp-OutputArea-output pre { word-break: normal; overflow-wrap: anywhere; }
details { margin-bottom: 1em; }
@media print { details { display: block; } .jp-Cell { break-inside: avoid; } }
"""


def _read(file: Path) -> str:
    """A text of a page; what a style sheet would ask for elsewhere is left out."""
    return re.sub(r"@import [^;]*;", "", file.read_text(encoding="utf-8"))


(_REVEAL,) = (Path(panel.__file__ or "").parent / "dist" / "bundled").glob("reveal.js@*/dist")
_SLIDES = "".join(f"<style>{_read(_REVEAL / name)}</style>" for name in ("reveal.css", "theme/white.css")) + (
    f"<script>{_read(_REVEAL / 'reveal.min.js')}</script>"
    "<script>Reveal.initialize({history: true, width: 1100, height: 720, margin: 0.04})</script>"
)


def without_answers(notebook: NotebookNode) -> NotebookNode:
    """A notebook whose solutions are left out; hints stay."""
    for cell in as_written(notebook).cells:
        if cell.cell_type == "markdown":
            cell.source = HIDDEN.sub("", cell.source)
    return notebook


def cut(notebook: NotebookNode) -> NotebookNode:
    """A slide for each heading and each text below it, with what the cells after it show. Exercises have hints, no solutions."""
    cells, full = [], False
    for cell in without_answers(notebook).cells:
        if cell.cell_type == "code":
            tall = any(o.output_type == "execute_result" and "text/html" in o.data for o in cell.outputs)
            kind = "subslide" if tall and full else "-"
            cell.metadata["slideshow"] = {"slide_type": kind if cell.outputs else "skip"}
            cells.append(cell)
            full |= tall
            continue
        for part in re.split(r"\n(?=## |\*\*\d\. )", cell.source.strip()):
            kind = "slide" if part.startswith(("# ", "## ")) else "subslide"
            for piece in _pieces(part):
                cells.append(nbformat.v4.new_markdown_cell(piece, metadata={"slideshow": {"slide_type": kind}}))
                kind, full = "subslide", len(piece) > BESIDE
    notebook.cells = cells
    return notebook


def _pieces(text: str) -> list[str]:
    """A text in pieces of whole paragraphs that fit on a slide each. One that unfolds stays whole."""
    pieces = [""]
    for paragraph in re.split(r"\n\n(?![^<]*</details>)", text):
        if pieces[-1] and len(pieces[-1]) + len(paragraph) > LONGEST:
            pieces.append("")
        pieces[-1] += f"{paragraph}\n\n"
    return [piece.strip() for piece in pieces]


def page(notebook: NotebookNode, kind: str) -> str:
    """An executed notebook as one HTML page."""
    if kind == "slides":
        text, _ = SlidesExporter(reveal_scroll=True, exclude_input=True, exclude_output_prompt=True).from_notebook_node(
            cut(notebook)
        )
        text = re.sub(r"<script>\s*require\(.*?</script>", "", text, flags=re.DOTALL)
    else:
        notebook = only_answers(notebook) if kind == "answers" else without_answers(notebook)
        text, _ = HTMLExporter(template_name="lab").from_notebook_node(notebook)
    return offline(re.sub(r'href="([\w-]+)\.ipynb', r'href="\1.html', text), _SLIDES if kind == "slides" else "")


def offline(text: str, more: str = "") -> str:
    """A page that asks nobody for anything: its formulas are drawn by the KaTeX that comes along."""
    text = re.sub(r'<script[^>]*src="https?://[^"]*"[^>]*>\s*</script>', "", text)
    text = re.sub(r'<link[^>]*href="https?://(?!cdn\.holoviz)[^"]*"[^>]*>', "", text)
    text = re.sub(r'<script type="(?:text/x-mathjax-config|module)">.*?</script>', "", text, flags=re.DOTALL)
    folder = BUILD / "katex"
    if not folder.exists():
        katex(folder)
    style = _read(folder / "katex.min.css")
    style = re.sub(r"url\(fonts/([\w-]+\.\w+)\)", lambda found: _font(folder / "fonts" / found[1]), style)
    scripts = "".join(f"<script>{_read(folder / name)}</script>" for name in ("katex.min.js", "auto-render.min.js"))
    head, _, body = text.partition("</head>")
    body, _, _ = body.rpartition("</body>")
    body += f"{more}<style>{LOOK}</style><script>{DRAWN}</script></body></html>"
    return linked_as_data(f"{head}<style>{style}</style>{scripts}</head>{body}")


def _font(file: Path) -> str:
    return f"url(data:font/woff2;base64,{b64encode(file.read_bytes()).decode()})" if file.exists() else "url()"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kind", nargs="?", default="handouts", choices=KINDS)
    parser.add_argument("numbers", nargs="*", type=int, help="of the notebooks; all where none is given")
    given = parser.parse_args()
    folder = BUILD / given.kind
    folder.mkdir(parents=True, exist_ok=True)
    for path in paths(given.numbers):
        file = folder / f"{path.stem}.html"
        write(file, page(executed(path), given.kind).encode())
        print(f"{file}: open it in any browser")


if __name__ == "__main__":
    main()
