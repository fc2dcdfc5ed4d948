"""Pages that carry everything in one file: tables, figures, where the figures came from.

Comes in: results and tables. Goes out: HTML that needs no network, reads in light and dark, on a
telephone and on paper, by eye and by ear. Imports ``comparison`` and what lies below; ``papers``
and the command line import it.

::

    markup (escapes everything) ─▶ blocks, table (cells), figure (svg, palette) ─▶ page
                                                                                    ▲
    results ─▶ compared/ (a file a section), reported ─▶ comparison_report ─────────┘
"""

from vicinal._base.markup import Html, element, together
from vicinal.report.blocks import Block, Details, Facts, Grid, Paragraph, Section
from vicinal.report.cells import Cell, mark_best
from vicinal.report.compared.curves import Curve
from vicinal.report.comparison_report import comparison_page, comparison_report
from vicinal.report.figure import PlotFigure
from vicinal.report.page import Page
from vicinal.report.reported import OwnCell, ReportedCell, reported_section
from vicinal.report.table import Column, DataTable

__all__ = [
    "Block",
    "Cell",
    "Column",
    "Curve",
    "DataTable",
    "Details",
    "Facts",
    "Grid",
    "Html",
    "OwnCell",
    "Page",
    "Paragraph",
    "PlotFigure",
    "ReportedCell",
    "Section",
    "comparison_page",
    "comparison_report",
    "element",
    "mark_best",
    "reported_section",
    "together",
]
