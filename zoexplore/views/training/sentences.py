"""What the Train tab says: its sentence, the line below it, the progress, and the table."""

from math import ceil, isfinite
from typing import TYPE_CHECKING

from zoexplore.run.fields import FIELDS
from zoexplore.run.formatting import format_count, format_exact, format_number, format_short
from zoexplore.run.setting import NUMERIC_FIELDS, Setting
from zoexplore.views.style.widgets import region
from zoexplore.views.training.figure import GUESSING, WAYS, Model, Picture
from zoexplore.views.training.jobs import SCALES, SEEDS, Asked, expected_seconds

if TYPE_CHECKING:
    from zoexplore.training import Update

COUNT = {5: "five", 7: "Seven"}
BEFORE = "How much accuracy does your privacy cost?"
DURING = "The same models, two prices: <b>every step</b> moves right as it trains, <i>only the last</i> stays."
FOOT = (
    "ε is of each model on its own. It does not cover choosing among them by these results, watching them train, or noise from a "
    "known seed."
)
TASK = "set by the task: logistic loss, a ridge, rows of length 1"
NAMED = 2  # fields, at most, by which an earlier frontier is named


def right(accuracy: float) -> str:
    """An accuracy as a count of a hundred."""
    return f"{round(100 * accuracy)} times in 100"


def sentence(picture: Picture) -> str:
    """The sentence above the figure, as HTML."""
    if picture.stage in ("before", "during"):
        return BEFORE if picture.stage == "before" else DURING
    at = min(
        max(round(picture.mine if picture.mine is not None else len(SCALES) // 2), 0),
        len(picture.models) - 1,
    )
    model = picture.models[at]
    whose = (
        "Your model is"
        if at == picture.mine
        else f"At the nearest trained noise, {format_short(model.sigma)}, a model is"
    )
    every, last = (format_number(model.x(way)) for way in WAYS)
    return (
        f"{whose} right {right(model.y)}. That costs ε = <b>{every}</b> if every step is published, "
        f"and <i>{last}</i> if only the last."
    )


def below(picture: Picture, asked: Asked) -> str:
    """The grey line below the sentence."""
    if picture.stage == "before":
        return (
            f"Two classes that overlap, n = {format_count(asked.setting.n)}. {COUNT[len(SCALES)]} noise scales, from a quarter "
            f"of yours to {max(SCALES):g} times, {COUNT[SEEDS]} models each: about {format_short(expected_seconds(asked), 2)} s "
            "on this machine."
        )
    if picture.stage == "during":
        return f"Each ring is the mean of {COUNT[SEEDS]} models so far; it is filled when they are done."
    free = (
        f"Without any noise it would be right {right(picture.free)}; by"
        if picture.free is not None
        else "By"
    )
    return f"{free} guessing, {round(100 * GUESSING)}."


def progress(update: "Update", T: int) -> str:
    """How far the models are trained, and the time left."""
    left = f" · {ceil(update.seconds_left)} s left" if isfinite(update.seconds_left) else ""
    return f"step {format_count(update.done / update.total * T)} of {format_count(T)}{left}"


def table(picture: Picture) -> str:
    """The models in numbers, which are complete at all times."""
    filled = " filled" if picture.stage == "done" else ""
    heads = "".join(
        f'<th scope="col" class="{way}{filled}">{WAYS[way]}</th>' for way in picture.ways
    )
    body = "".join(
        _row(model, i == picture.mine, picture) for i, model in enumerate(picture.models)
    )
    head = f'<tr><th scope="col">noise σ</th><th scope="col">right</th>{heads}</tr>'
    inner = f"<table><thead>{head}</thead><tbody>{body}</tbody></table>"
    return region("the models in numbers", inner) + f"<p>{_note(picture)}</p>"


def _row(model: Model, mine: bool, picture: Picture) -> str:
    digits = 3 if picture.stage == "done" else 2
    accuracy = f"{model.y:.{digits}f}" if model.accuracy else "–"
    cells = "".join(f'<td class="{way}">{format_number(model.x(way))}</td>' for way in picture.ways)
    yours = "<small>yours</small>" if mine else ""
    of = ' class="here"' if mine else ""
    return f'<tr{of}><th scope="row">{format_short(model.sigma)}{yours}</th><td>{accuracy}</td>{cells}</tr>'


def _note(picture: Picture) -> str:
    if picture.stage == "before":
        return "ε follows from the run alone. Accuracy has to be trained."
    if picture.stage == "done":
        return f"Bars: one standard error of {SEEDS} models and of the held-out records. The same model has both ε."
    if picture.mine is None or picture.mine % 1:
        return "ε so far."
    model = picture.models[int(picture.mine)]
    return f"ε so far; at the last step {format_number(model.every[-1])} and {format_number(model.last[-1])} for yours."


def difference(one: Setting, other: Setting, when: str = "before") -> str:
    """What the pale frontier is: when it was trained, and the fields in which its runs are unlike
    the present ones.
    """
    mine, theirs = one.as_dict(), other.as_dict()
    unlike = [
        name
        for name in NUMERIC_FIELDS
        if name not in ("sigma", "M", "m") and mine[name] != theirs[name]
    ]
    if not 0 < len(unlike) <= NAMED:
        return f"pale: trained {when}"
    values = (f"{FIELDS[name].symbol} = {_value(name, mine[name])}" for name in unlike)
    return f"pale: trained {when}, with {', '.join(values)}"


def _value(name: str, value: float | None) -> str:
    if value is None:
        return FIELDS[name].left_out
    return format_count(value) if FIELDS[name].whole else format_exact(value)
