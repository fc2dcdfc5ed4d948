"""Every table of the papers, reproduced: their figure, ours, the difference.

Input: the names of papers and tables, and data sets by the catalogue of ``vicinal``. Output:
stored results, cells with a verdict, tables, pages and the account in ``docs/reproduction.md``.
A distribution of its own: it imports ``vicinal``, which finds it through entry points only.

::

    specs (one file per paper) ─▶ runner ─▶ protocols (folds, tuned_split, …) ─▶ results (stored)
                                                                                    │
    figures: what the papers report, compared with our results, a verdict per cell ◀┘
        └─▶ render: tables (terminal, JSON), page (HTML), account (docs/reproduction.md)

``specification`` has the classes from which the specs are built, ``sources`` the data sets under
the names that the papers use, ``command`` the ``vicinal reproduce`` command.
"""
