"""What a browser may change of its session's document, by Bokeh's patches: what widgets need and nothing else.

Bokeh's server applies whatever patch it gets, to any property of any model, and unpacks what is packed before it looks at it.
Here every event of a patch is looked at first. Only plain values pass, to the properties in `SETTABLE`; no text that is shown as
HTML is among those. A patch is looked at again when it is applied, since a model that it names may be gone by then.
"""

import logging
import sys
from typing import Any

from bokeh.document import Document
from bokeh.model import DataModel, Model
from bokeh.protocol.messages.patch_doc import patch_doc

from zoexplore.limits import EVENTS, TEXT

_LOG = logging.getLogger("zoexplore")

# By the name of a Bokeh or Panel model, or of one that it derives from.
SETTABLE: dict[str, frozenset[str]] = {
    name: frozenset(properties.split())
    for name, properties in {
        "UIElement": "visible",
        "AbstractSlider": "value value_throttled",
        "NumericInput": "value",
        "TextLikeInput": "value value_input",
        "Select": "value",
        "MultiSelect": "value",
        "AbstractButton": "active",
        "ToggleInput": "active",
        "ToggleInputGroup": "active",
        "ToggleButtonGroup": "active",
        "Tabs": "active",
        "Card": "collapsed",
        "Range1d": "start end",
        "Span": "location",
        "Selection": "indices",
        "Player": "value value_throttled direction",
        "FileDownload": "clicks _transfers",
        "BrowserInfo": "dark_mode",
    }.items()
}
EVENTS_OF_PAGES = frozenset(
    "document_ready button_click tap panstart pan panend reset dom_event value_submit menu_item_click".split()
)
BOKEH = "bokeh_event"
DEPTH = 4  # lists within lists
LARGEST = int(sys.float_info.max)
KEYS = 10  # that may be held


class Malformed(ValueError):
    """What no browser of ours sends."""


def accepted(content: Any, document: Document) -> list[dict[str, Any]]:
    """The events of a PATCH-DOC message that the document may take; the others are dropped.

    Raises:
        Malformed: it is no list of events, or too long.
    """
    events = content.get("events") if isinstance(content, dict) else None
    if not isinstance(events, list) or not all(isinstance(event, dict) for event in events):
        raise Malformed("a patch is a list of events")
    if len(events) > EVENTS.value:
        raise Malformed(f"{len(events)} events in one message: at most {EVENTS.value} are allowed")
    passed = [event for event in map(_referring, events) if _passes(event, document)]
    if len(passed) < len(events):
        _LOG.debug("%d of %d events of a browser dropped", len(events) - len(passed), len(events))
    return passed


def _referring(event: dict[str, Any]) -> dict[str, Any]:
    """An event whose model is named by its id alone.

    BokehJS writes out the whole of a model that has come since it last sent anything, as where the first thing that a reader does
    with a new button is to click it. Of that nothing but the id is looked at.
    """
    data = event.get("msg_data")
    for entry in _mapped(data.get("values"), EVENTS.value) or () if isinstance(data, dict) else ():
        if isinstance(entry, list) and entry[:1] == ["model"] and isinstance(entry[-1], dict) and "id" in entry[-1]:
            entry[-1] = {"id": entry[-1]["id"]}
    return event


class Patch(patch_doc):
    """A message whose events are `accepted` once more when it is applied: where one names a lost model, Bokeh applies none."""

    def apply_to_document(self, doc: Document, setter: Any = None) -> None:
        """Bokeh's hook, called under the session's lock."""
        left = {"events": accepted(self.payload.content, doc)}
        patch_doc(self.header, self.metadata, left).apply_to_document(doc, setter)


def _passes(event: dict[str, Any], document: Document) -> bool:
    kind = event.get("kind")
    if kind == "ModelChanged":
        return event.keys() == {"kind", "model", "attr", "new"} and _settable(event, document)
    if kind == "MessageSent":
        named = event.keys() == {"kind", "msg_type", "msg_data"} and event["msg_type"] == BOKEH
        return named and _event(event["msg_data"], document)
    return False


def _settable(event: dict[str, Any], document: Document) -> bool:
    model = _model(event["model"], document)
    attribute = event["attr"]
    if model is None or not isinstance(attribute, str) or attribute not in properties(model):
        return False
    return plain(event["new"], TEXT.value)


def properties(model: Model) -> frozenset[str]:
    """The properties of a model that a browser may set. Those of a component of our own are all there to be set by it."""
    if isinstance(model, DataModel):
        return frozenset(model.properties()) - frozenset(DataModel.properties())
    return frozenset().union(*(SETTABLE.get(name, ()) for name in _names(model)))


def _names(model: Model) -> list[str]:
    return [kind.__name__ for kind in type(model).__mro__]


def _model(reference: Any, document: Document) -> Model | None:
    if not isinstance(reference, dict) or reference.keys() != {"id"} or not isinstance(reference["id"], str):
        return None
    return document.get_model_by_id(reference["id"])


def plain(value: Any, longest: int = 1000, depth: int = DEPTH) -> bool:
    """Whether a value is a number, a truth value, a text of at most `longest` characters, or a list of such.

    JSON may have a whole number of any size. A browser writes none that is larger than its largest float, and a document that
    holds one can no longer be sent.
    """
    if value is None or isinstance(value, (bool, float)):
        return True
    if isinstance(value, int):
        return abs(value) <= LARGEST
    if isinstance(value, str):
        return len(value) <= longest
    if isinstance(value, list):
        return depth > 0 and len(value) <= EVENTS.value and all(plain(item, longest, depth - 1) for item in value)
    if isinstance(value, dict):  # how a number is written that JSON has not
        return value.keys() == {"type", "value"} and value["type"] == "number" and value["value"] in ("nan", "+inf", "-inf")
    return False


def _event(data: Any, document: Document) -> bool:
    """Whether it is a click or the like: a name that pages use, and plain values by name."""
    if not isinstance(data, dict) or data.get("type") != "event" or data.get("name") not in EVENTS_OF_PAGES:
        return False
    entries = _mapped(data.get("values"), EVENTS.value)
    return entries is not None and all(_entry(entry, document) for entry in entries)


def _entry(entry: Any, document: Document) -> bool:
    if not (isinstance(entry, list) and len(entry) == 2 and isinstance(entry[0], str)):
        return False
    key, value = entry
    if key == "model":
        return value is None or _model(value, document) is not None
    if key == "modifiers":
        held = _mapped(value, KEYS)  # the keys held during a tap, by name
        return held is not None and all(plain(entry) for entry in held)
    return plain(value)


def _mapped(value: Any, most: int) -> list | None:
    """The entries of what is written as a map; None where it is none, or has more than `most`."""
    if not isinstance(value, dict) or value.get("type") != "map" or not value.keys() <= {"type", "entries"}:
        return None
    entries = value.get("entries", [])
    return entries if isinstance(entries, list) and len(entries) <= most else None
