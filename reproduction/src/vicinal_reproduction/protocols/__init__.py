"""Experimental protocols: folds, splits, tuning, timings, and Weka's neighbour order.

Input: a ``Job`` (data, methods, seed). Output: results. ``ranks`` and ``chosen_clusters`` derive
results from stored ones instead of running anything. Imports ``figures`` and earlier layers.
"""
