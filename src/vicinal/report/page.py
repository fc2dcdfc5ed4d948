"""A self-contained HTML page for light and dark mode and for printing.

``page.css`` gives each name its colour for light and for dark. Figures use the constants defined
here; a colour outside the palette is the same in both modes.
"""

import io
import os
import re
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Protocol
from xml.etree import ElementTree as ET

from vicinal._core.html import Html, contents, document, element, together
from vicinal.selection.plots import BAR, INK, QUIET

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class Ids:
    """Creates ids that are unique within the page."""

    def __init__(self) -> None:
        self._taken: set[str] = set()

    def take(self, wanted: str) -> str:
        """Return an id made from the given words, with a number added if it is already taken."""
        stem = "-".join(re.findall(r"[a-z0-9]+", wanted.lower()))[:60] or "part"
        if not stem[0].isalpha():
            stem = f"at-{stem}"
        found, number = stem, 1
        while found in self._taken:
            number += 1
            found = f"{stem}-{number}"
        self._taken.add(found)
        return found


class Block(Protocol):
    """A part of a page."""

    def render(self, ids: Ids, level: int) -> Html:
        """Return the markup; `level` is that of a heading inside it."""


@dataclass(frozen=True)
class Paragraph:
    """A paragraph of text; :class:`Html` is inserted as markup, anything else is escaped."""

    text: str

    def render(self, ids: Ids, level: int) -> Html:
        """Return a ``p``."""
        return element("p", self.text)


@dataclass(frozen=True)
class Facts:
    """Names with values, e.g. provenance."""

    facts: Mapping[str, str]

    def render(self, ids: Ids, level: int) -> Html:
        """Return a ``dl``."""
        facts = self.facts.items()
        pairs = (element("div", element("dt", name), element("dd", what)) for name, what in facts)
        return element("dl", together(*pairs), class_="facts")


@dataclass(frozen=True)
class Details:
    """Collapsible blocks, closed on screen and open in print."""

    summary: str
    blocks: Sequence[Block]

    def render(self, ids: Ids, level: int) -> Html:
        """Return a ``details``."""
        inside = together(*(block.render(ids, level) for block in self.blocks))
        return element("details", element("summary", self.summary), inside)


@dataclass(frozen=True)
class PageGrid:
    """Blocks side by side if the page is wide enough, e.g. small figures."""

    blocks: Sequence[Block]

    def render(self, ids: Ids, level: int) -> Html:
        """Return a ``div`` of them."""
        inside = (block.render(ids, level) for block in self.blocks)
        return element("div", *inside, class_="grid")


@dataclass(frozen=True)
class Section:
    """Blocks under a heading; sections may be nested."""

    title: str
    blocks: Sequence[Block]

    def render(self, ids: Ids, level: int) -> Html:
        """Return a ``section`` labelled by its heading."""
        return self.render_as(ids.take(self.title), ids, level)

    def render_as(self, name: str, ids: Ids, level: int) -> Html:
        """Return the ``section`` with a given id, so that a table of contents can link to it."""
        heading = element(f"h{min(level, 6)}", self.title, id=f"{name}-title")
        inside = together(*(block.render(ids, level + 1) for block in self.blocks))
        return element("section", heading, inside, id=name, aria_labelledby=f"{name}-title")


POLICY = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'"
"""Browsers load nothing for the page, whatever it contains."""


@dataclass(frozen=True)
class Page:
    """A page."""

    title: str
    lead: Sequence[Block]
    sections: Sequence[Section]
    footer: str = ""

    def html(self) -> str:
        """Return the complete document; the same page gives the same text."""
        ids = Ids()
        names = [ids.take(section.title) for section in self.sections]
        lead = together(*(block.render(ids, 2) for block in self.lead))
        named = list(zip(names, self.sections, strict=True))
        body = [section.render_as(name, ids, 2) for name, section in named]
        return document(
            self.title,
            _text("page.css"),
            POLICY,
            element("header", element("h1", self.title), lead),
            contents({name: section.title for name, section in named}, "Contents"),
            element("main", *body),
            element("footer", self.footer) if self.footer else None,
            element("script", Html(_text("page.js"))),
        )

    def write(self, path: str | os.PathLike[str]) -> Path:
        """Write the page and return its path."""
        target = Path(path)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(self.html(), encoding="utf-8", newline="\n")
        return target


def _text(name: str) -> str:
    """Return the text of a file next to this module."""
    return resources.files("vicinal.report").joinpath(name).read_text(encoding="utf-8")


FAINT = "#d9d5ce"
SERIES = (
    "#1f5fa8", "#b8560f", "#2e7d32", "#8e3b8a", "#8a6d00", "#00798c", "#c2185b", "#5d4037",
    "#546e7a",
)  # fmt: skip
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


_COLOR = re.compile("|".join(NAMES), flags=re.IGNORECASE)
_REFERENCE = re.compile(r"url\(#([^)]*)\)")
DROPPED = frozenset({"metadata", "style"})
"""A style element would affect the whole page; metadata contains the date."""


def inline_svg(figure: "Figure", name: str, description: str) -> Html:
    """Return a figure as an ``svg`` element; the same figure gives the same bytes."""
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


@dataclass(frozen=True, eq=False)
class PlotFigure:
    """A matplotlib figure in a page."""

    plot: "Figure"
    caption: str
    description: str

    def render(self, ids: Ids, level: int) -> Html:
        """Return a ``figure``."""
        name = ids.take(f"figure {self.caption}")
        drawn = inline_svg(self.plot, name, self.description)
        inside = element("div", drawn, class_="scroll", tabindex=0)
        return element("figure", inside, element("figcaption", self.caption), id=name)
