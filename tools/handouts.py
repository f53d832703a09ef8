"""Turns the notebooks into pages that need no kernel and no network: `python -m tools.handouts
[handouts|answers|slides] [numbers]`.

Handouts leave out the solutions; answers hold only the solutions, with their outputs; slides
(`tools.slides`) leave out the code. Each page is one file in build/. `tools.executed` runs each
notebook once for all kinds of pages.
"""

import argparse
import re
from base64 import b64encode
from mimetypes import guess_type
from pathlib import Path

from nbconvert import HTMLExporter
from nbformat import NotebookNode
from panel.io.resources import CDN_DIST, DIST_DIR

from tools import slides
from tools.executed import HIDDEN, ROOT, as_written, executed, only_answers, paths
from tools.prepared import framed
from tools.site import DRAWN, katex
from zoexplore.run.atomic_write import write
from zoexplore.run.presets import DEMONSTRATION

BUILD = ROOT / "build"
MOVING = {  # by the number of the notebook: a heading, and the sliders and link of a lesson
    0: ("Move it: play the attacker", ("sigma",), "?tab=game"),
    2: ("Move it: what K costs", ("K", "T"), "?tab=curves&against=K"),
    4: ("Move it: how long, and with which noise", ("beta", "T"), ""),
    8: ("Move it: the ε of such runs", ("sigma", "T"), ""),
}
KINDS = ("handouts", "answers", "slides")
LOOK = """
iframe[srcdoc] { display: block; }
.moving { margin: 24px 0; } .moving h2 { font: 600 22px/1.4 system-ui, sans-serif; }
body:not(:has(.reveal)) { max-width: 980px; margin: 0 auto; padding: 0 16px; }
.jp-OutputArea-output pre { word-break: normal; overflow-wrap: anywhere; }
details { margin-bottom: 1em; }
@media print { details { display: block; } .jp-Cell { break-inside: avoid; } }
"""


def without_answers(notebook: NotebookNode) -> NotebookNode:
    """Return a notebook without solutions, but with hints."""
    for cell in as_written(notebook).cells:
        if cell.cell_type == "markdown":
            cell.source = HIDDEN.sub("", cell.source)
    return notebook


def page(notebook: NotebookNode, kind: str, number: int | None = None) -> str:
    """Return an executed notebook as one HTML page. `number` is the notebook's."""
    if kind == "slides":
        text, more = slides.page(without_answers(notebook)), slides.scripts()
    else:
        notebook = only_answers(notebook) if kind == "answers" else without_answers(notebook)
        text, _ = HTMLExporter(template_name="lab").from_notebook_node(notebook)
        more = _moving(number) if kind == "handouts" else ""
    return offline(re.sub(r'href="([\w-]+)\.ipynb', r'href="\1.html', text), more)


def _moving(number: int | None) -> str:
    """Return the lesson that ends a notebook's page; "" for a notebook that has components of its
    own.
    """
    if number not in MOVING:
        return ""
    title, sliders, link = MOVING[number]
    return (
        f'<section class="moving"><h2>{title}</h2>{framed(DEMONSTRATION, sliders, link)}</section>'
    )


def offline(text: str, more: str = "") -> str:
    """Make a page load nothing from elsewhere: KaTeX, which draws its formulas, is put into it."""
    text = re.sub(r'<script[^>]*src="https?://[^"]*"[^>]*>\s*</script>', "", text)
    text = re.sub(r'<link[^>]*href="https?://(?!cdn\.holoviz)[^"]*"[^>]*>', "", text)
    text = re.sub(
        r'<script type="(?:text/x-mathjax-config|module)">.*?</script>', "", text, flags=re.DOTALL
    )
    folder = BUILD / "katex"
    if not folder.exists():
        katex(folder)
    style = slides.read(folder / "katex.min.css")
    style = re.sub(
        r"url\(fonts/([\w-]+\.\w+)\)", lambda found: _font(folder / "fonts" / found[1]), style
    )
    scripts = "".join(
        f"<script>{slides.read(folder / name)}</script>"
        for name in ("katex.min.js", "auto-render.min.js")
    )
    head, _, body = text.partition("</head>")
    body, _, _ = body.rpartition("</body>")
    body += f"{more}<style>{LOOK}</style><script>{DRAWN}</script></body></html>"
    # Panel inlines its scripts, but not the other files that it links to
    linked = re.escape(CDN_DIST) + r"([\w./-]+\.(?:css|ico|png))(?:\?v=[\w.]+)?"
    return re.sub(
        linked,
        lambda found: _as_data(found[1]),
        f"{head}<style>{style}</style>{scripts}</head>{body}",
    )


def _as_data(name: str) -> str:
    kind = guess_type(name)[0] or "image/x-icon"
    return f"data:{kind};base64,{b64encode((DIST_DIR / name).read_bytes()).decode()}"


def _font(file: Path) -> str:
    return (
        f"url(data:font/{file.suffix[1:]};base64,{b64encode(file.read_bytes()).decode()})"
        if file.exists()
        else "url()"
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("kind", nargs="?", default="handouts", choices=KINDS)
    parser.add_argument(
        "numbers", nargs="*", type=int, help="of the notebooks; all where none is given"
    )
    given = parser.parse_args()
    folder = BUILD / given.kind
    folder.mkdir(parents=True, exist_ok=True)
    for path in paths(given.numbers):
        file = folder / f"{path.stem}.html"
        number = int(path.name.partition("-")[0])
        write(file, page(executed(path), given.kind, number).encode())
        print(f"{file}: open it in any browser")


if __name__ == "__main__":
    main()
