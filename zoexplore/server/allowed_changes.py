"""Restricts the changes that a browser may make to its session's document by Bokeh's patches.

Bokeh's server applies any patch to any property of any model, and unpacks data before it checks
them. Here only plain values pass, and only for the properties of this package's own components and
for those in `SETTABLE`, none of which is shown as HTML.
"""

import logging
import sys
from typing import Any

from bokeh.core.serialization import DeserializationError, Deserializer
from bokeh.document import Document
from bokeh.model import DataModel, Model
from bokeh.protocol.messages.patch_doc import patch_doc

_LOG = logging.getLogger("zoexplore")
EVENTS = 200  # the most changes and clicks in one message
TEXT = 20_000  # the most characters of one text
DEPTH = 4  # the most levels of lists within lists
LARGEST = int(sys.float_info.max)  # a document that holds a larger whole number cannot be sent

# the properties that may be set, by the name of a model's class or of one of its base classes
SETTABLE = {
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
    "Plot": "inner_width inner_height outer_width",
    "Range1d": "start end",
    "Span": "location",
    "FileDownload": "clicks _transfers",
    "BrowserInfo": "dark_mode",
}
EVENTS_OF_PAGES = frozenset(
    "document_ready button_click tap panstart pan panend reset dom_event value_submit menu_item_click".split()
)


class Malformed(ValueError):
    """A message that this package's pages never send."""


def events_of(content: Any) -> list[dict[str, Any]]:
    """Return the events of a PATCH-DOC message. Raise Malformed if there are too many, or if they
    are not a list of dictionaries.
    """
    events = content.get("events") if isinstance(content, dict) else None
    if (
        not isinstance(events, list)
        or len(events) > EVENTS
        or not all(isinstance(event, dict) for event in events)
    ):
        raise Malformed(f"a patch is a list of at most {EVENTS} events")
    return events


class Patch(patch_doc):
    """A PATCH-DOC message of which only the allowed changes are applied."""

    def apply_to_document(self, doc: Document, setter: Any = None) -> None:
        """Apply the allowed changes. Bokeh calls this once it holds the session's lock; by then a
        model that the browser knew may be gone.
        """
        given = self.payload.content["events"]
        events = [event for event in (allowed(event, doc) for event in given) if event]
        if len(events) < len(given):
            _LOG.debug("%d of %d events of a browser dropped", len(given) - len(events), len(given))
        patch_doc(self.header, self.metadata, {"events": events}).apply_to_document(doc, setter)


def allowed(event: dict[str, Any], document: Document) -> dict[str, Any] | None:
    """Return the allowed part of an event; None if no part is allowed."""
    match event:
        case {"kind": "ModelChanged", "model": reference, "attr": str(attribute), "new": new}:
            model = _model(reference, document)
            if (
                model
                and attribute in properties(model)
                and plain(new, TEXT)
                and fits(model, attribute, new)
            ):
                return {
                    "kind": "ModelChanged",
                    "model": {"id": model.id},
                    "attr": attribute,
                    "new": new,
                }
        case {
            "kind": "MessageSent",
            "msg_type": "bokeh_event",
            "msg_data": {"name": str(name), "values": {**values}},
        } if name in EVENTS_OF_PAGES:
            sent = values.get("entries", [])
            if not isinstance(sent, list) or len(sent) > EVENTS:
                return None
            entries = [_entry(entry, document) for entry in sent]
            kept = {"type": "map", "entries": [each for each in entries if each]}
            data = {"type": "event", "name": name, "values": kept}
            if None not in entries and is_event(data, document):
                return {"kind": "MessageSent", "msg_type": "bokeh_event", "msg_data": data}
    return None


def properties(model: Model) -> frozenset[str]:
    """Return the properties of a model that a browser may set. For a component of this package
    these are all the properties that the component defines.
    """
    if isinstance(model, DataModel):
        return frozenset(model.properties()) - frozenset(DataModel.properties())
    return frozenset().union(
        *(SETTABLE.get(kind.__name__, "").split() for kind in type(model).__mro__)
    )


def plain(value: Any, longest: int = 1000, depth: int = DEPTH) -> bool:
    """Return whether a value is None, a number, a truth value, a text of at most `longest`
    characters, or a list of such values.
    """
    match value:
        case None | bool() | float():
            return True
        case int():
            return abs(value) <= LARGEST
        case str():
            return len(value) <= longest
        case list():
            return (
                depth > 0
                and len(value) <= EVENTS
                and all(plain(item, longest, depth - 1) for item in value)
            )
        case {"type": "number", "value": "nan" | "+inf" | "-inf"}:  # numbers that JSON lacks
            return len(value) == 2
    return False


def fits(model: Model, attribute: str, new: Any) -> bool:
    """Return whether a model's property may have a plain value."""
    return bool(model.lookup(attribute).property.is_valid(Deserializer().decode(new)))


def is_event(data: dict[str, Any], document: Document) -> bool:
    """Return whether an event has the values that events of its kind need."""
    try:
        Deserializer(list(document.models)).decode(data)
    # decoding calls the constructor of the event's class with whatever was sent
    except (DeserializationError, TypeError, ValueError):
        return False
    return True


def _model(reference: Any, document: Document) -> Model | None:
    """Return the model that an event names; None if there is none. BokehJS may send a whole model,
    of which only the id is read.
    """
    name = reference.get("id") if isinstance(reference, dict) else None
    return document.get_model_by_id(name) if isinstance(name, str) else None


def _entry(entry: Any, document: Document) -> Any:
    """Return the allowed form of an event's entry, a name and a value; [] if the event does not
    need the entry, None if the entry is not allowed.
    """
    match entry:
        case ["modifiers", _]:
            return []
        case ["model", None]:
            return entry
        case ["model", reference]:
            model = _model(reference, document)
            return ["model", {"id": model.id}] if model else None
        case [str(), value] if plain(value):
            return entry
    return None
