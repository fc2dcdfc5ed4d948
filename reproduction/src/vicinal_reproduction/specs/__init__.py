"""The papers' specifications: for each paper, its experiments, tables and known deviations.

``registry`` lists the papers by name. Imports ``protocols`` and earlier layers.
"""
