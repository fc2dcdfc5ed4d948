"""Published figures compared with ours: cells, verdicts, orders, curves, rank tests.

The published figures are the CSV files in this folder. Imports ``sources``, ``specification`` and
``vicinal``.
"""
