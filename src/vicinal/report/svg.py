"""A matplotlib figure as inline SVG: unique ids, named colours, no external resources."""

import io
import re
import warnings
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

from vicinal._base.markup import Html, element
from vicinal.report.palette import NAMES

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_COLOR = re.compile("|".join(NAMES), flags=re.IGNORECASE)
_REFERENCE = re.compile(r"url\(#([^)]*)\)")
DROPPED = frozenset({"metadata", "style"})
"""A style element would affect the whole page; metadata contains the date."""


def inline_svg(figure: "Figure", name: str, description: str) -> Html:
    """Return a figure as an ``svg`` element; the same figure gives the same bytes.

    Parameters
    ----------
    figure : matplotlib figure
    name : str
        Prefix of every id inside, so that ids are unique within the page.
    description : str
        Text alternative for screen readers.
    """
    # Imported when used: matplotlib would double the time that importing the package takes.
    from matplotlib import rc_context

    written = io.BytesIO()
    repeatable = rc_context({"svg.fonttype": "none", "svg.hashsalt": "vicinal"})
    with repeatable, warnings.catch_warnings():
        # Text stays text: the reader's font may have letters that this machine's font lacks.
        warnings.filterwarnings("ignore", message="Glyph .* missing from font")
        figure.savefig(
            written,
            format="svg",
            bbox_inches="tight",
            pad_inches=0.08,
            metadata={"Date": None},
            transparent=True,
        )
    root = ET.fromstring(written.getvalue())
    inside = [_copied(child, name) for child in root]
    # Sizes are in points; a pixel is 3/4 of a point. Below 3/4 of the size the text would not be
    # legible, so on a narrower page the figure scrolls.
    width = float(root.attrib["width"].removesuffix("pt"))
    return element(
        "svg",
        *inside,
        viewBox=root.attrib["viewBox"],
        width=f"{width * 4 / 3:.0f}",
        style=f"min-width: {width:.0f}px",
        role="img",
        aria_label=description,
    )


def _copied(node: ET.Element, name: str) -> Html | None:
    """Return an element and its children without namespaces."""
    tag = _local(node.tag)
    if tag in DROPPED:
        return None
    attributes = {_local(key): _value(_local(key), value, name) for key, value in node.items()}
    children = [_copied(child, name) for child in node]
    # Text elements contain only text; between other elements there are only line breaks.
    text = node.text if tag in ("text", "tspan") else None
    return element(tag, text, *children, **attributes)


def _local(qualified: str) -> str:
    """Return a name without its namespace."""
    return qualified.rpartition("}")[2]


def _value(key: str, value: str, name: str) -> str:
    """Return an attribute's value with ids made unique and colours by name."""
    if key == "id":
        return f"{name}-{value}"
    if key == "href":
        return f"#{name}-{value.removeprefix('#')}"
    value = _REFERENCE.sub(rf"url(#{name}-\1)", value)
    return _COLOR.sub(lambda match: f"var(--{NAMES[match[0].lower()]})", value)
