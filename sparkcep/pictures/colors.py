"""Colours of pictures, for light and for dark pages."""

from __future__ import annotations

from typing import Any

BLUE, RED, GREY, TEXT, SOFT, PAPER = "#4c78a8", "#c03d3e", "#8a8a8a", "#333333", "#555555", "#ffffff"
#: Fills: of components, of negated ones, of anchors, and of what a bar is a part of.
PALE_BLUE, PALE_RED, PALE_GREY, TRACK = "#dbe7f3", "#f8dcdc", "#eeeeee", "#f0f2f5"
#: Events beside a match, and lines of a grid.
DOT, GRID = "#bbbbbb", "#dddddd"
#: Of variables; told apart by those who see no red or no green, too (Okabe and Ito).
SERIES = ("#4c78a8", "#e69f00", "#009e73", "#cc79a7", "#d55e00", "#56b4e9", "#8c6d31", "#7b4fa3", "#999933", "#5f5f5f")

#: What each colour is on a dark page.
DARK = {
    BLUE: "#7fb0e0", RED: "#ff8a80", GREY: "#9e9e9e", TEXT: "#e4e4e4", SOFT: "#b8b8b8", PAPER: "#1c1e21",
    PALE_BLUE: "#24405c", PALE_RED: "#5a2a2c", PALE_GREY: "#3a3c40", TRACK: "#2a2d31", DOT: "#6f7378", GRID: "#3a3c40",
    "#5f5f5f": "#c0c0c0", "#8c6d31": "#c9a457", "#7b4fa3": "#b48ad8",
}  # fmt: skip


def dark(spec: Any) -> Any:
    """A specification with the colours of a dark page; its data stay as they are."""
    if isinstance(spec, dict):
        return {key: value if key == "data" else dark(value) for key, value in spec.items()}
    if isinstance(spec, list):
        return [dark(item) for item in spec]
    return DARK.get(spec, spec) if isinstance(spec, str) else spec
