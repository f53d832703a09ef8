"""Defaults: looked up once for a class of models, and not again for each of its models.

Whenever a property is read that nobody has set, Bokeh 3.9 goes through the ancestors of its model's class, copies the default and
validates it. A page has hundreds of models with dozens of properties, and reads them all when it is made and again when it is
sent: two fifths of what a page costs. What Bokeh calls a stable default is immutable and the same every time, so it is kept here.
"""

from functools import cache
from typing import Any

from bokeh.core.has_props import HasProps
from bokeh.core.property.descriptors import PropertyDescriptor

THEME = "__themed_values__"  # where Bokeh keeps what a theme puts in place of a model's defaults, if there is any

kept: dict[tuple[type[HasProps], str], Any] = {}
_unstable: dict[tuple[type[HasProps], str], bool] = {}


@cache
def keep() -> None:
    """Have Bokeh keep defaults from now on, in this process."""
    default_of, is_unstable = PropertyDescriptor._get_default, PropertyDescriptor.has_unstable_default

    def has_unstable_default(self: PropertyDescriptor, model: HasProps) -> bool:
        key = type(model), self.name
        if key not in _unstable:
            _unstable[key] = is_unstable(self, model)
        return _unstable[key]

    def get_default(self: PropertyDescriptor, model: HasProps) -> Any:
        if THEME in model.__dict__:
            return default_of(self, model)
        key = type(model), self.name
        if key in kept:
            return kept[key]
        default = default_of(self, model)
        if not has_unstable_default(self, model):
            kept[key] = default
        return default

    once: Any = cache(vars(HasProps)["_overridden_defaults"].__func__)
    for owner, name, instead in (
        (HasProps, "_overridden_defaults", classmethod(once)),
        (PropertyDescriptor, "has_unstable_default", has_unstable_default),
        (PropertyDescriptor, "_get_default", get_default),
    ):
        setattr(owner, name, instead)
