"""Every table of the papers, reproduced: their figure, ours, the difference.

Comes in: the names of papers and tables, and data sets by the catalogue. Goes out: results kept in
a store, cells with a verdict, tables, pages and the account in ``docs/reproduction.md``. Imports
everything below; only the command line imports it.

::

    reported (their figures)            spec ◀─ zhang2007, wang2018, … (one file a paper)
        │                                 │
        │      runner ─▶ folds, tuned_split, … (protocols) ─▶ stores
        ▼                                                       │
      cells (verdict) ◀─────────────────────────────────────────┘
        └─▶ tables (terminal, JSON), page (HTML), account (docs/reproduction.md)
"""

from vicinal.papers.account import account
from vicinal.papers.cells import Cell, Figures, figures_of, table_cells
from vicinal.papers.page import paper_page, write_pages
from vicinal.papers.registry import PAPERS, chosen_papers
from vicinal.papers.reported import Reported, reported, reported_wins
from vicinal.papers.runner import Unit, run_units, units
from vicinal.papers.spec import Experiment, Method, Paper, Table
from vicinal.papers.stores import Stores, stored
from vicinal.papers.tables import counts, plain, terminal_table
from vicinal.papers.verdict import judge, tolerance

__all__ = [
    "PAPERS",
    "Cell",
    "Experiment",
    "Figures",
    "Method",
    "Paper",
    "Reported",
    "Stores",
    "Table",
    "Unit",
    "account",
    "chosen_papers",
    "counts",
    "figures_of",
    "judge",
    "paper_page",
    "plain",
    "reported",
    "reported_wins",
    "run_units",
    "stored",
    "table_cells",
    "terminal_table",
    "tolerance",
    "units",
    "write_pages",
]
