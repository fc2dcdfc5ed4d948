"""The catalogue of known data sets: where their files are and how to read them.

Input: a name. Output: an :class:`Entry` (facts, and a recipe that reads the files), the files on
this machine, or an error that states what was looked for and where. Uses the readers of
``datasets``; imported only by ``datasets.loading``.

::

    entries/*  ──▶ registry ──▶ Entry ──▶ locate ──▶ recipe.read ──▶ Dataset
    (facts)        (by name)             (folders, cache, download)
"""
