"""The colours of figures: drawn in light-mode colours and mapped to style sheet variables.

``page.css`` gives each name its colour for light and for dark. Figures use the constants defined
here; a colour outside the palette is the same in both modes.
"""

from collections.abc import Mapping
from types import MappingProxyType

INK = "#1a1a1a"
QUIET = "#6b6b6b"
BAR = "#b3401f"
FAINT = "#d9d5ce"
SERIES = (
    "#1f5fa8",
    "#b8560f",
    "#2e7d32",
    "#8e3b8a",
    "#8a6d00",
    "#00798c",
    "#c2185b",
    "#5d4037",
    "#546e7a",
)
"""Used together with different markers, so that no information depends on colour alone."""
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<", ">")

NAMES: Mapping[str, str] = MappingProxyType(
    {
        INK: "ink",
        QUIET: "quiet",
        BAR: "accent",
        FAINT: "faint",
        **{color: f"series-{at}" for at, color in enumerate(SERIES, start=1)},
    }
)
"""Colour to the name of its variable in the style sheet."""
