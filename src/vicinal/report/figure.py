"""A figure of a page, with its caption."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from vicinal._base.markup import Html, element
from vicinal.report.ids import Ids
from vicinal.report.svg import inline_svg

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True, eq=False)
class PlotFigure:
    """A matplotlib figure in a page.

    Parameters
    ----------
    plot : matplotlib figure
        Drawn in the colours of :mod:`vicinal.report.palette`.
    caption : str
        Shown below the figure.
    description : str
        Text alternative for screen readers.
    """

    plot: "Figure"
    caption: str
    description: str

    def render(self, ids: Ids, level: int) -> Html:
        """Return a ``figure``."""
        name = ids.take(f"figure {self.caption}")
        drawn = inline_svg(self.plot, name, self.description)
        inside = element("div", drawn, class_="scroll", tabindex=0)
        return element("figure", inside, element("figcaption", self.caption), id=name)
