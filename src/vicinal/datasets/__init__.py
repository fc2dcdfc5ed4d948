"""Data sets: one frozen value, and the formats it is read from and written to.

Input: a file, or the name of a data set in the catalogue. Output: a :class:`Dataset`. Imports only
``_core``; may be imported by all later layers.
"""

from vicinal.datasets.dataset import Dataset
from vicinal.datasets.formats import Listing, available, describe, load, read_file, write_file
from vicinal.datasets.tables import Content, Reading, TableOptions, read_content
from vicinal.datasets.tables.table_rows import is_table
from vicinal.datasets.texts import Texts, read_texts

__all__ = [
    "Content",
    "Dataset",
    "Listing",
    "Reading",
    "TableOptions",
    "Texts",
    "available",
    "describe",
    "is_table",
    "load",
    "read_content",
    "read_file",
    "read_texts",
    "write_file",
]
