"""The style in which a bound's curve is drawn."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Style:
    """Says how a bound's curve is drawn: its colours on a light and on a dark background, and the
    dash and the width in pixels that distinguish it in grey.
    """

    colour: tuple[str, str]
    dash: tuple[int, ...] = ()
    width: float = 2.0

    def hue(self, dark: bool) -> str:
        """Return the curve's colour on a dark or a light background."""
        return self.colour[dark]
