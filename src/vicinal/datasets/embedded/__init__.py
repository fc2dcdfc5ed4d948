"""The data set that comes with the package: Debian packages, their words, their tags.

Input: the file next to this module, written by ``tools/build_debtags.py``. Output:
a :class:`~vicinal.datasets.dataset.Dataset`. Imported by the catalogue and by that tool.
"""
