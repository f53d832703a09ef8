"""Handouts, answers and slides keep questions and answers apart."""

from html import unescape

import nbformat
import panel as pn
import pytest

from tests.notebooks.conftest import SERIES
from tools import executed, handouts, prepared, slides
from zoexplore.run.presets import DEMONSTRATION
from zoexplore.views import Curves, Dial, Planner, Readouts, State
from zoexplore.views.component import STILL

EXERCISES = SERIES[4]  # its figures are not needed here: nothing is run


@pytest.fixture
def notebook():
    return nbformat.read(EXERCISES, as_version=4)


def text(notebook):
    return "\n".join(cell.source for cell in notebook.cells)


def test_a_handout_has_the_questions_and_no_answers(notebook):
    shown = text(handouts.without_answers(notebook))
    assert "## Exercises" in shown and "<summary>Solution" not in shown and "```python" not in shown


def test_answers_are_text_and_code_to_run(notebook):
    solutions = text(notebook).count("<summary>Solution")
    kept = executed.only_answers(executed.with_answers(notebook)).cells
    assert solutions > 0 and sum(cell.cell_type == "code" for cell in kept) >= solutions
    for cell in kept:
        if cell.cell_type == "code":
            compile(cell.source, "answer", "exec")


def test_answers_have_their_questions_and_no_other_text(notebook):
    new = nbformat.v4.new_markdown_cell
    answer = "<details><summary>Answer</summary>\n\nYes.\n\n</details>"
    notebook.cells = [
        new("# Title"),
        new("## Before\n\nText.\n\n**First.** Is it so?"),
        nbformat.v4.new_code_cell("1"),
        new(f"{answer}\n\n**Then.** And this?"),
        new(f"{answer}\n\n## Another\n\nMore text."),
        new(f"Closing words.\n\n## Exercises\n\n**1.** Why?\n\n{answer}"),
    ]
    shown = text(executed.only_answers(executed.with_answers(notebook)))
    assert (
        shown.index("Is it so?") < shown.index("Yes.")
        and shown.count("And this?") == 1
        and "Why?" in shown
    )
    assert shown.count("**Answer.**") == 3 and not any(
        word in shown for word in ("Before", "Text", "Another", "More", "Closing")
    )


def test_a_slide_holds_no_more_than_fits(notebook):
    """Long texts are several slides, and a figure below a long one has a slide of its own."""
    figure = nbformat.v4.new_output("execute_result", {"text/html": "<div></div>"})
    paragraphs = "\n\n".join(f"{n} {'word ' * 60}" for n in range(8))
    unfolded = f"<details><summary>Hint</summary>\n\n{paragraphs}\n\n</details>"
    new = nbformat.v4
    notebook.cells = [
        new.new_markdown_cell(f"## Long\n\n{paragraphs}"),
        new.new_code_cell("a", outputs=[figure]),
        new.new_markdown_cell("## Short"),
        new.new_code_cell("b", outputs=[figure]),
        new.new_code_cell("c", outputs=[figure]),
        new.new_markdown_cell(f"**1. Check.** Why?\n\n{unfolded}"),
    ]
    cells = slides.cut(handouts.without_answers(notebook)).cells
    kinds = {cell.source: cell.metadata.slideshow.slide_type for cell in cells}
    assert (kinds["a"], kinds["b"], kinds["c"], kinds["## Short"]) == (
        "subslide",
        "-",
        "subslide",
        "slide",
    )
    long = [cell.source for cell in cells[: [cell.source for cell in cells].index("a")]]
    assert (
        len(long) > 1
        and max(map(len, long)) <= slides.LONGEST
        and "\n\n".join(long).count("word") == 480
    )
    assert cells[-1].source.endswith("</details>") and unfolded in "\n\n".join(
        cell.source for cell in cells
    )


def test_what_moves_is_a_lesson_on_a_page_and_the_rest_says_that_it_is_a_picture(monkeypatch):
    monkeypatch.setattr(
        prepared.page,
        "html",
        lambda setting, sliders, link: f"T={setting.T} {'|'.join(sliders)} {link}",
    )
    for kind in (Dial, Curves, Readouts):
        monkeypatch.setattr(kind, "__panel__", kind.__panel__)  # which is put back afterwards
    state, drawn = State(DEMONSTRATION.replace(T=77)), prepared.Drawn()

    def shown(*parts):
        return unescape(drawn.column(pn.Column(*parts))[0]["text/html"])

    assert 'srcdoc="T=77 T ?show=curves,table&against=T"' in shown(Dial(state, "T"), Curves(state))
    assert "K+beta|T ?show=curves,table&against=beta" in shown(
        Dial(state, "T"), Dial(state, "K"), Curves(state, along="beta")
    )
    assert "sigma ?show=publish,verdict" in shown(Dial(state, "sigma"), Readouts(state))
    monkeypatch.setattr(drawn, "live", lambda column: ({"text/html": column[0].object}, {}))
    assert shown(Planner(state)) == STILL
