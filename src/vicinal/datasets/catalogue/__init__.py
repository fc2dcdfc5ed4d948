"""The catalogue: which data sets there are, where their files lie, how they are read.

Input: a name. Output: an :class:`Entry` (facts, and a recipe that reads the files), the files
on this machine, or an error that says what was looked for where. Stands on the readers of
``datasets``; imported by ``datasets.loading`` alone.

::

    entries/*  ──▶ registry ──▶ Entry ──▶ locate ──▶ recipe.read ──▶ Dataset
    (facts)        (by name)             (folders, cache, download)
"""
