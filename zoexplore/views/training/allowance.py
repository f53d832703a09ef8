"""Allowance: what one visitor of a server may train. In a notebook everything is allowed."""

from dataclasses import replace
from typing import Any
from weakref import WeakKeyDictionary

import panel as pn

from zoexplore.formatting import format_count
from zoexplore.views.server.limits import RUN_SECONDS, RUN_STEPS, RUNS_PER_ADDRESS
from zoexplore.views.server.visitors import address_of
from zoexplore.views.training.jobs import Asked

_begun: WeakKeyDictionary[Any, Any] = WeakKeyDictionary()  # who has begun a run, and in which session


def granted(asked: Asked, owner: Any) -> Asked:
    """What is asked for, with the time that it may take, if that is not more than a visitor may have.

    Args:
        asked: the run.
        owner: what runs it; its `busy` says whether it is at a run.

    Raises:
        ValueError: it takes too many steps, or this visitor has a run going on already.
    """
    context = pn.state.curdoc.session_context if pn.state.curdoc else None
    if context is None or context.request is None:
        return asked
    points = len(asked.methods) * max(len(asked.epsilons or asked.sigmas), 1)
    steps = points * asked.seeds * asked.T
    if steps > RUN_STEPS.value:
        said = f"{points} points with {asked.seeds} seeds and T = {format_count(asked.T)} take {format_count(steps)} steps"
        raise ValueError(
            f"{said}; this server allows at most {format_count(RUN_STEPS.value)}. Lower T, the seeds or the number of points"
        )
    if _going_on(address_of(context.request), owner) >= RUNS_PER_ADDRESS.value:
        said = "A run of yours, or of somebody at your address, is going on in another tab"
        raise ValueError(f"{said}: train again when it has ended")
    _begun[owner] = context
    return replace(asked, seconds=RUN_SECONDS.value)


def _going_on(address: str, owner: Any) -> int:
    """How many runs of this address go on, the owner's apart, which a new one replaces."""
    return sum(
        other is not owner and other.busy and not context.destroyed and address_of(context.request) == address
        for other, context in _begun.items()
    )
