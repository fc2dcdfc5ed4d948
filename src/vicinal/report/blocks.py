"""The building blocks of pages: paragraphs, facts, collapsible parts, sections."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from vicinal._base.markup import Html, element, together
from vicinal.report.ids import Ids


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
        pairs = (
            element("div", element("dt", name), element("dd", what))
            for name, what in self.facts.items()
        )
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
class Grid:
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
