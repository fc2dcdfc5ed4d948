"""Pages that carry everything in one file: tables, figures, where the figures came from.

Comes in: results and tables. Goes out: HTML that needs no network, reads in light and dark, on a
telephone and on paper, by eye and by ear. Imports ``comparison`` and what lies below; ``papers``
and the command line import it.

::

    markup (escapes everything) ─▶ blocks, table (cells), figure (svg, palette) ─▶ page
"""

from vicinal.report.blocks import Block, Details, Facts, Paragraph, Section
from vicinal.report.cells import Cell, mark_best
from vicinal.report.figure import PlotFigure
from vicinal.report.markup import Html, element, together
from vicinal.report.page import Page
from vicinal.report.table import Column, DataTable

__all__ = [
    "Block",
    "Cell",
    "Column",
    "DataTable",
    "Details",
    "Facts",
    "Html",
    "Page",
    "Paragraph",
    "PlotFigure",
    "Section",
    "element",
    "mark_best",
    "together",
]
