"""Train: what privacy costs in utility, measured by training here and now."""

from dataclasses import replace
from functools import partial
from html import escape
from typing import Any

import panel as pn
import param

from zoexplore.bounds import BOUNDS
from zoexplore.columns import name_of, title_of
from zoexplore.training import Frontier, Point
from zoexplore.views.style import theme, widgets
from zoexplore.views.training.choices import Choices
from zoexplore.views.training.course import Course
from zoexplore.views.training.frontier import DEFAULT_BOUNDS, UTILITIES, UtilityFigure, about, legend
from zoexplore.views.training.jobs import Asked
from zoexplore.views.training.results import compared
from zoexplore.views.training.running import Results, Running
from zoexplore.views.view import View

_SAYS = "Trains the run that the sliders show, on this server: accuracy on records that it never saw, beside ε by every bound."


class Train(View):
    """Choices, a run with its progress, and the frontier that comes of it. Nothing runs before it is asked for."""

    utility = param.Selector(default="accuracy", objects=list(UTILITIES), doc="what is measured")
    bounds = param.List(default=list(DEFAULT_BOUNDS), item_type=str, doc="the bounds that are drawn")
    shown = param.Selector(
        default="bounds", objects=["methods", "bounds"], doc="every method by its best bound, or all points by all bounds"
    )
    picked = param.Tuple(None, length=2, allow_None=True, doc="the point whose course is shown, by its method and sigma")
    frontier = param.ClassSelector(class_=Frontier, allow_None=True, doc="what is known so far")

    def build(self) -> None:
        self.choices = Choices(self.state)
        self.fold = widgets.fold("Several noise scales, other methods and tasks, seeds", self.choices)
        self.running = Running(self._asked, self._trained)
        self.fold.param.watch(self._named, "collapsed")
        self._named()
        self.results = Results()
        self.marks, self.course = UtilityFigure(self._clicked), Course()
        self._choose()
        self.about, self.story = (widgets.html("", "words", "plan") for _ in range(2))
        self.legend = pn.pane.HTML("", stylesheets=[theme.css("key")], **theme.STRETCH)
        self.both = self._both()
        self._drawn = False
        self.param.watch(self._redraw, ["utility", "bounds", "frontier", "picked", "shown"])

    def _asked(self) -> Asked:
        """What to train: this run alone, until more is chosen in the fold."""
        asked = self.choices.asked()
        if not self.fold.collapsed:
            return asked
        return replace(asked, methods=("noisy-zogd", "non-private"), sigmas=(self.state.sigma,), epsilons=())

    def _named(self, *_: Any) -> None:
        self.running.name_it("Train this run" if self.fold.collapsed else "Train what is chosen")

    def _choose(self) -> None:
        """What chooses what is drawn."""
        self.measure = widgets.select("utility", list(UTILITIES), "along", of=self.param.utility)
        modes = {"every mark by all bounds": "bounds", "every method by its best": "methods"}
        self.mode = widgets.select("shown", modes, "along", of=self.param.shown)
        self.boxes = {bound: widgets.box(BOUNDS[bound].title, bound in self.bounds, **_line(bound)) for bound in BOUNDS}
        for box in self.boxes.values():
            box.param.watch(lambda _: self.param.update(bounds=[b for b in BOUNDS if self.boxes[b].value]), "value")
        self.menu = widgets.select("training curve of", {}, "choice")
        self.menu.param.watch(lambda event: self.param.update(picked=event.new), "value")
        self.apply = widgets.button("Set the sliders to it", lambda: self.take(self.point))

    @property
    def point(self) -> Point | None:
        """The point that is picked; else the second one, of the task's usual noise; None where there is none."""
        points = self.frontier.points if self.frontier else ()
        return next((p for p in points if (p.method, p.sigma) == self.picked), next(iter(points[1:2] or points), None))

    def take(self, point: Point | None) -> None:
        """Show a point's course, and set the sliders to its run where they can show it."""
        if point is None:
            return
        self.picked = point.method, point.sigma
        if point.setting is not None:
            self.state.ask(**point.setting.as_dict())
        else:
            self.running.refuse(f"The sliders cannot show {title_of(point.method)}: it is no run of Noisy-ZOGD.")

    def _clicked(self, place: int) -> None:
        self.take(self.frontier.points[place] if self.frontier else None)

    def _trained(self, frontier: Frontier) -> None:
        """Show what a run has found: methods at their best where they aim at the same epsilon."""
        begun = self.frontier is None or {p.target for p in self.frontier.points} != {p.target for p in frontier.points}
        aimed = any(p.target is not None for p in frontier.points)
        self.param.update(frontier=frontier, **({"shown": "methods" if aimed else "bounds"} if begun else {}))

    def _redraw(self, *_: Any) -> None:
        self._drawn = False
        self.changed()

    async def refresh(self) -> None:
        """Follow the sliders where that was asked for; draw what is known, unless it is drawn."""
        with pn.io.hold():
            self.choices.fill()
            said = about(self.frontier, self.state.setting.delta, self.state.accounting) if self.frontier else _SAYS
            self.about.object = f"<p>{escape(said)}</p>"
            if not self._drawn:
                self._draw()
                self.both.visible = self.frontier is not None

    def _draw(self) -> None:
        shown = self.frontier, tuple(self.bounds), self.utility
        self._drawn = True
        self._offer(self.point)
        self.marks.draw(*shown, self.point)
        several = self.shown == "bounds"
        if self.frontier and not several:
            self.draw_elements(self.by_methods, partial(compared, self.frontier))
        self.by_bounds.visible, self.by_methods.visible = several, not several
        self.course.draw(*shown, self.point)
        if self.dark:
            self.repaint()
        self.legend.object = legend(self.frontier)
        self.story.object = f"<p>{escape(self.course.describe(*shown[1:]))}</p>"
        self.results.show(*shown[:2])
        self.push()

    def _offer(self, point: Point | None) -> None:
        """The points in the menu, and the button to take the one that is shown."""
        options = {name_of(p): (p.method, p.sigma) for p in self.frontier.points} if self.frontier else {}
        value = (point.method, point.sigma) if point else None
        if self.menu.options != options or self.menu.value != value:
            self.menu.param.update(options=options, value=value)
        self.apply.disabled = point is None or point.setting is None

    def _both(self) -> pn.Column:
        """The frontier, and beside or below it the course of a point."""
        between = {"margin": (4, 0, 4, 0)}
        # in stacks, since a pane of Bokeh that was hidden cannot be shown again (Panel 1.9)
        boxes = widgets.tools(*self.boxes.values(), **between)
        self.by_bounds = widgets.stack(boxes, self.legend, self.canvas(self.marks.figure))
        self.by_methods = widgets.stack(visible=False)
        frontier = widgets.stack(self.measure, self.mode, self.by_bounds, self.by_methods)
        drawn = map(self.canvas, self.course.figures.values())
        course = widgets.stack(self.menu, widgets.tools(self.apply, **between), *drawn, self.story)
        # in a column, hidden as a whole: a grid by its own style sheet stays visible
        return widgets.stack(widgets.column("both", frontier, course))

    def __panel__(self) -> pn.viewable.Viewable:
        return widgets.component("train", self.running, self.fold, self.about, self.both, self.results)


def _line(bound: str) -> dict[str, Any]:
    """The look of a bound's box: a stretch of its line after its name."""
    style = theme.style_of(bound)
    light, dark = style.colour
    kind = "solid" if not style.dash else "dotted" if style.dash[0] < 4 else "dashed"
    line = f".bk-label::after {{ border-top: {style.width}px {kind} light-dark({light},{dark}); }}"
    return {"stylesheets": [theme.css("check", "line"), line], "margin": (2, 16, 2, 0)}
