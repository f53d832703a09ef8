"""What a page opens sooner without is there as soon as somebody looks."""

import panel as pn
import pytest
from bokeh.document import Document
from panel.io.state import set_curdoc

from zoexplore.views import Explorer
from zoexplore.views.style.widgets import later


@pytest.mark.parametrize(
    ("holder", "opened"),
    [
        (pn.Card("a", "b", collapsed=True), {"collapsed": False}),
        (pn.Row("a", "b", visible=False), {"visible": True}),
    ],
)
def test_parts_are_rendered_when_they_are_looked_at_and_stay(holder, opened):
    later(holder)
    model = holder.get_root()
    title = int(isinstance(holder, pn.Card))
    assert len(model.children) == title
    holder.param.update(**opened)
    assert len(model.children) == title + 2
    for name, value in opened.items():
        holder.param.update(**{name: not value})
        holder.param.update(**{name: value})
    assert len(model.children) == title + 2


@pytest.mark.parametrize("holder", [pn.Card("a", collapsed=False), pn.Row("a")])
def test_what_is_open_is_rendered_at_once(holder):
    later(holder)
    assert len(holder) == 1


def test_a_page_keeps_its_folds_for_later_and_a_notebook_does_not():
    folds = [len(card) for card in Explorer().__panel__().select(pn.Card)]
    document = Document()
    with set_curdoc(document):
        page = Explorer(search="")
        later_on = [len(card) for card in page.__panel__().select(pn.Card)]
    # nor are the folds within them there yet
    assert min(folds) >= 1 and later_on and not any(later_on)
    assert page.controls.fields["R"].value == "0.31"  # it can be set and asked, seen or not


def test_a_page_has_few_models():
    """What it costs to make a page goes with their number."""
    document = Document()
    with set_curdoc(document):
        pn.panel(Explorer(search="?T=300")).server_doc(document)
    assert len(document.models) < 130
