"""How curves are drawn."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Style:
    """How a bound's curve is drawn: its colours on a light and on a dark ground, and a dash and a
    width, in pixels, that distinguish it in grey.
    """

    colour: tuple[str, str]
    dash: tuple[int, ...] = ()
    width: float = 2.0

    def hue(self, dark: bool) -> str:
        """Its colour on the ground of a scheme."""
        return self.colour[dark]
