"""How figures come about: folds, splits, tuning, timings, and the order in which Weka finds rows.

Input: a ``Job`` (data, methods, seed). Output: results. ``ranks`` and ``chosen_clusters``
derive results from stored ones instead of running anything. Imports ``figures`` and what lies
below.
"""
