"""A self-contained HTML page for light and dark mode and for printing."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path

from vicinal._base.markup import Html, element, together
from vicinal.report.blocks import Block, Section
from vicinal.report.ids import Ids

POLICY = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'"
"""Browsers load nothing for the page, whatever it contains."""


@dataclass(frozen=True)
class Page:
    """A page.

    Parameters
    ----------
    title : str
    lead : sequence of blocks
        Shown before the table of contents.
    sections : sequence of Section
    footer : str

    Examples
    --------
    >>> page = Page("Losses & gains", [], [Section("One", []), Section("Two", [])])
    >>> "<h1>Losses &amp; gains</h1>" in page.html(), page.html() == page.html()
    (True, True)
    """

    title: str
    lead: Sequence[Block]
    sections: Sequence[Section]
    footer: str = ""

    def html(self) -> str:
        """Return the complete document; the same page gives the same text."""
        ids = Ids()
        names = [ids.take(section.title) for section in self.sections]
        lead = together(*(block.render(ids, 2) for block in self.lead))
        body = [
            section.render_as(name, ids, 2)
            for name, section in zip(names, self.sections, strict=True)
        ]
        document = element(
            "html",
            self._head(),
            element(
                "body",
                element("header", element("h1", self.title), lead),
                self._contents(names),
                element("main", *body),
                element("footer", self.footer) if self.footer else None,
                element("script", Html(_text("page.js"))),
            ),
            lang="en",
        )
        return f"<!doctype html>\n{document}\n"

    def write(self, path: str | os.PathLike[str]) -> Path:
        """Write the page and return its path."""
        target = Path(path)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(self.html(), encoding="utf-8", newline="\n")
        return target

    def _head(self) -> Html:
        """Return the head: title, policy, style."""
        return element(
            "head",
            element("meta", charset="utf-8"),
            element("meta", name="viewport", content="width=device-width, initial-scale=1"),
            element("meta", http_equiv="Content-Security-Policy", content=POLICY),
            element("meta", name="color-scheme", content="light dark"),
            element("title", self.title),
            element("style", Html(_text("page.css"))),
        )

    def _contents(self, names: Sequence[str]) -> Html | None:
        """Return the table of contents if there is more than one section."""
        if len(names) < 2:
            return None
        links = (
            element("li", element("a", section.title, href=f"#{name}"))
            for name, section in zip(names, self.sections, strict=True)
        )
        return element("nav", element("ul", *links), aria_label="Contents")


def _text(name: str) -> str:
    """Return the text of a file next to this module."""
    return resources.files("vicinal.report").joinpath(name).read_text(encoding="utf-8")
