"""Pages that carry everything in one file: tables, figures, where the figures came from.

Comes in: results and tables. Goes out: HTML that needs no network, reads in light and dark, on a
telephone and on paper, by eye and by ear. Imports ``comparison`` and what lies below; the
command line imports it. Two functions are exported; whoever builds other pages, such as the
reproduction of the papers, imports ``page``, ``blocks``, ``table`` and ``figure``.

::

    markup (escapes everything) ─▶ blocks, table (cells), figure (svg, palette) ─▶ page
                                                                                    ▲
    results ─▶ compared/ (a file a section), reported ─▶ comparison_report ─────────┘
"""

from vicinal.report.comparison_report import comparison_page, comparison_report

__all__ = ["comparison_page", "comparison_report"]
