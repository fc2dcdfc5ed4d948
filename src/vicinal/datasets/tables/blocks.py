"""A table in blocks of rows, read the way the table was that a model learned from."""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import chain

from vicinal.datasets.files import FilePath
from vicinal.datasets.tables.content import (
    Content,
    content_of,
    known_reading,
    row_names_column,
    wanted_columns,
)
from vicinal.datasets.tables.labels import label_sets, warn_if_rare
from vicinal.datasets.tables.options import TableOptions
from vicinal.datasets.tables.reading import Reading
from vicinal.datasets.tables.records import Records
from vicinal.datasets.tables.row_stream import TableFile, record_blocks, table_file

HEAD_ROWS = 10_000
"""Rows from which it is told what separates labels, where the model does not say."""


@dataclass(frozen=True)
class TableBlocks:
    """A table that is read in blocks, as often as it is iterated over.

    Parameters
    ----------
    file : TableFile
    options : TableOptions
    reading : Reading
    labelled : bool
    block_rows : int
    row_names : str or None
        Column of the row names.
    label_names : tuple of str
        All labels of the table, sorted, or in the order of their columns; empty if not `labelled`.
    """

    file: TableFile
    options: TableOptions
    reading: Reading
    labelled: bool
    block_rows: int
    row_names: str | None = None
    label_names: tuple[str, ...] = ()

    def __iter__(self) -> Iterator[Content]:
        """Yield the rows, some at a time."""
        for records in self._records():
            labels = label_sets(records, self.reading) if self.labelled else None
            yield content_of(records, self.reading, labels, self.row_names)

    def _records(self) -> Iterator[Records]:
        wanted = self.reading.features
        return record_blocks(self.file, self.options, wanted, self.reading, self.block_rows)


@contextmanager
def table_blocks(
    path: FilePath,
    options: TableOptions,
    known: Reading,
    *,
    labelled: bool,
    block_rows: int,
) -> Iterator[TableBlocks]:
    r"""Open a table to read it in blocks of rows.

    Parameters
    ----------
    path : path
        As for :func:`~vicinal.datasets.tables.content.read_content`. Standard input is copied to a
        temporary file, because a table is read more than once.
    options : TableOptions
    known : Reading
        How the table that a model was trained on was read.
    labelled : bool
        Whether the labels are wanted; a pass of its own then finds which there are.
    block_rows : int

    Notes
    -----
    The rows are those of ``read_content``, however they are divided; there is no limit on how many
    come. Where the model does not say what separates labels, the first :data:`HEAD_ROWS` rows tell.
    Memory: one block, and the names of the labels.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "notes.csv"
    ...     _ = path.write_text("text,tags\nbuy milk,home|shop\nsleep,home\nrun,\n")
    ...     how = Reading(text=("text",), labels="tags", separator="|")
    ...     with table_blocks(path, TableOptions(), how, labelled=True, block_rows=2) as blocks:
    ...         blocks.label_names, [block.X for block in blocks]
    (('home', 'shop'), [['buy milk', 'sleep'], ['run']])
    """
    with table_file(path) as file:
        wanted = wanted_columns(options, known)
        head = next(record_blocks(file, options, wanted, known, HEAD_ROWS))
        reading = known_reading(head, options, known, labelled)
        row_names = row_names_column(head, reading, options)
        # What was found, and said, is not looked for again.
        file = file._replace(encoding=head.encoding)
        options = replace(options, delimiter=head.delimiter or options.delimiter)
        del head
        found = TableBlocks(file, options, reading, labelled, block_rows, row_names)
        if labelled:
            found = replace(found, label_names=reading.label_columns or _label_names(found))
        yield found


def _label_names(table: TableBlocks) -> tuple[str, ...]:
    """Return the labels that occur, sorted; warn where most of them occur once."""
    counts: Counter[str] = Counter()
    for records in table._records():
        counts.update(chain.from_iterable(label_sets(records, table.reading)))
    warn_if_rare(counts, table.file.name, table.reading.labels or "")
    return tuple(sorted(counts))
