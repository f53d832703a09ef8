"""Contours of the map: bands of colour, and lines at chosen targets."""

import numpy as np
from bokeh.plotting.contour import contour_data


def heights(epsilon: np.ndarray) -> np.ndarray:
    """log10 of epsilon; 0 is as good as the lowest colour, and where nothing applies is nan."""
    with np.errstate(divide="ignore"):
        return np.log10(np.where(np.isfinite(epsilon), np.maximum(epsilon, 1e-300), np.nan))


def bands(x: np.ndarray, y: np.ndarray, z: np.ndarray, edges: np.ndarray) -> dict[str, list]:
    """Filled contours as columns of a multi-polygon glyph: xs, ys, and which band each is."""
    found = contour_data(x, y, z, edges, want_line=False).fill_data
    return {"xs": found.xs, "ys": found.ys, "band": list(range(len(found.xs)))}


def level_lines(x: np.ndarray, y: np.ndarray, z: np.ndarray, targets: list[float]) -> dict[str, list]:
    """Lines at target epsilons, a row for each piece of one, with where to write its number."""
    columns: dict[str, list] = {"xs": [], "ys": [], "target": [], "at_x": [], "at_y": []}
    if not targets:
        return columns
    found = contour_data(x, y, z, np.log10(targets), want_fill=False).line_data
    for target, xs, ys in zip(targets, found.xs, found.ys, strict=True):
        breaks = np.flatnonzero(np.isnan(xs))
        for piece_x, piece_y in zip(np.split(xs, breaks), np.split(ys, breaks), strict=True):
            known = ~np.isnan(piece_x)
            px, py = piece_x[known], piece_y[known]
            if px.size:
                row = {"xs": px, "ys": py, "target": target, "at_x": px[px.size // 2], "at_y": py[py.size // 2]}
                for name, value in row.items():
                    columns[name].append(value)
    return columns
