"""What is made later: the parts of what is closed or out of sight when a page opens, and that most readers never look at."""

from typing import Any

import panel as pn


def later(holder: pn.layout.ListLike) -> None:
    """Have a holder's parts rendered when they are first looked at: a card's when it is opened, others' when they are visible.

    They exist, keep up with the state and can be asked; it is their models that a page opens sooner without.
    """
    switch = "collapsed" if isinstance(holder, pn.Card) else "visible"
    closed = switch == "collapsed"
    if getattr(holder, switch) != closed:
        return
    parts, holder.objects = list(holder), []

    def open_(*_: Any) -> None:
        holder.param.unwatch(watcher)
        holder.objects = parts

    watcher = holder.param.watch(open_, switch)
