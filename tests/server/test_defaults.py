"""What is kept of Bokeh's defaults is what Bokeh would find, and nobody can change it for others."""

import panel as pn
from bokeh.core.property.wrappers import PropertyValueContainer
from bokeh.document import Document
from bokeh.model import Model
from bokeh.models import Button, Line
from bokeh.plotting import figure
from panel.io.state import set_curdoc

from zoexplore.server import serving
from zoexplore.views import Explorer


def test_what_is_kept_is_what_bokeh_finds():
    serving.keep_defaults()
    document = Document()
    with set_curdoc(document):
        pn.panel(Explorer(search="")).server_doc(document)
    models = {type(model): model for model in document.models}
    document.to_json()
    assert len({kind for kind, _ in serving.kept} & set(models)) > len(models) / 2
    for (kind, name), value in serving.kept.items():
        assert not isinstance(value, (Model, PropertyValueContainer))
        if kind in models:
            found = models[kind].lookup(name).instance_default(models[kind])
            assert found == value or found != found, (kind, name)


def test_a_model_changes_no_other():
    serving.keep_defaults()
    first, second = Button(), Button()
    first.tags.append("mine")
    first.disabled = True
    assert not second.tags and not second.disabled and not Button().disabled
    figures = [figure(), figure()]
    figures[0].xaxis.ticker.desired_num_ticks += 1
    assert figures[0].xaxis.ticker.desired_num_ticks == figures[1].xaxis.ticker.desired_num_ticks + 1


def test_a_theme_goes_before_what_is_kept():
    serving.keep_defaults()
    assert Line().line_width == 1
    themed = Line()
    themed.apply_theme({"line_width": 3})
    assert themed.line_width == 3 and Line().line_width == 1
    themed.unapply_theme()
    assert themed.line_width == 1
