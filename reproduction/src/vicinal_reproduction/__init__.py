"""Reproduction of the papers' result tables: their figures, ours, and the difference.

Input: the names of papers and tables, and data sets by the catalogue of ``vicinal``. Output: stored
results, cells with a verdict, tables, pages and the account in
``docs/evidence/reproduction.md``. A separate distribution: it imports ``vicinal``, which finds it
only through entry points.

::

    specs (one file per paper) ─▶ runner ─▶ protocols (folds, tuned_split, …) ─▶ results (stored)
                                                                                    │
    figures: what the papers report, compared with our results, a verdict per cell ◀┘
        └─▶ render: tables (terminal, JSON), page (HTML), account (docs/evidence/reproduction.md)

``specification`` has the classes from which the specs are built, ``sources`` the data sets under
the names that the papers use, ``command`` the ``vicinal reproduce`` command.
"""
