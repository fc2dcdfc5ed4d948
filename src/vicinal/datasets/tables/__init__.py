"""Tables of texts, numbers and labels: CSV, TSV, JSON lines, JSON arrays, Parquet.

Input: a file, and options that describe it. Output: the cells by column, and a :class:`Reading`
that states how they become texts, features and labels. Options that are not given are guessed from
the content and logged in one line each; the reading can be reused for the next file.
"""

from vicinal.datasets.tables.content import Content, read_content
from vicinal.datasets.tables.reading import Reading, TableOptions

__all__ = ["Content", "Reading", "TableOptions", "read_content"]
