"""Self-contained HTML reports: tables, figures and provenance in one file.

Input: results and tables. Output: HTML that needs no network, for light and dark mode, small
screens, print and screen readers; tables and figures for papers. Imports ``comparison`` and earlier
layers; may be imported by the command line. To build other pages, as the reproduction of the papers
does, import ``page`` and ``sortable_table``.
"""

from vicinal.report.comparison import comparison_page, comparison_report

__all__ = ["comparison_page", "comparison_report"]
