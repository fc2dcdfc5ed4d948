"""Self-contained HTML reports: tables, figures and provenance in one file.

Input: results and tables. Output: HTML that needs no network, for light and dark mode, small
screens, print and screen readers. Imports ``comparison`` and earlier layers; may be imported by the
command line. Two functions are exported; to build other pages, as the reproduction of the papers
does, import ``page``, ``blocks``, ``table`` and ``figure``.

::

    markup (escapes everything) ─▶ blocks, table (cells), figure (svg, palette) ─▶ page
                                                                                    ▲
    results ─▶ compared/ (one file per section), reported ─▶ comparison_report ─────┘
"""

from vicinal.report.comparison import comparison_page, comparison_report

__all__ = ["comparison_page", "comparison_report"]
