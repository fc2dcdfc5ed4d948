"""Tables of texts, numbers and labels: CSV, TSV, JSON lines, JSON arrays, Parquet.

Comes in: a file and what the caller says about it. Goes out: the cells by column, and a
:class:`Reading` that states how they become texts, features and labels. Whatever the caller leaves
open is guessed from the content, logged in one line, and can be reused for the next file.
"""

from vicinal.datasets.tables.content import Content, read_content
from vicinal.datasets.tables.options import TableOptions
from vicinal.datasets.tables.reading import Reading

__all__ = ["Content", "Reading", "TableOptions", "read_content"]
