"""The papers' figures as data, and ours beside them: cells, verdicts, orders, curves, rank tests.

The figures as reported are the CSV files in this folder. Imports ``sources``, ``specification``
and ``vicinal``.
"""
