"""Data on the command line in blocks of rows, so that files need not fit into memory."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from vicinal.cli.source import (
    Source,
    content_source,
    dataset_source,
    new_source,
    reads_text,
    shown_name,
)
from vicinal.cli.table_options import TableChoice
from vicinal.cli.tables import file_options, is_table_file, reading_for, table_options
from vicinal.datasets.catalogue.registry import known
from vicinal.datasets.file_blocks import file_blocks
from vicinal.datasets.tables.blocks import table_blocks
from vicinal.datasets.texts import text_blocks

BLOCK_ROWS = 4096
"""Rows that are read, scored and written at a time."""


@dataclass(frozen=True)
class SourceBlocks:
    """Rows that come in blocks.

    Parameters
    ----------
    name : str
        What to call the data in a table.
    blocks : callable
        Returns the blocks from the first: sources that are alike but for their rows.
    """

    name: str
    blocks: Callable[[], Iterator[Source]]

    def __iter__(self) -> Iterator[Source]:
        """Yield the blocks."""
        return self.blocks()


@contextmanager
def new_blocks(
    model: Any, data: str, rows: str, auto: str, table: TableChoice, *, labelled: bool
) -> Iterator[SourceBlocks]:
    """Open rows for a fitted model, read as those it learned from, in blocks.

    Tables that the model knows how to read, texts one per line, extreme-classification text and
    ARFF files are read block by block. Data sets by name, ``.npz`` and ``.mat`` files, and tables
    for a model that was not trained on one, are read whole first.

    Parameters
    ----------
    model, data, rows, auto, table, labelled
        As for :func:`~vicinal.cli.source.new_source`.
    """
    name = shown_name(data)
    if is_table_file(data):
        reading = reading_for(model)
        if reading is not None:
            options = table_options(table)
            with table_blocks(
                data, options, reading, labelled=labelled, block_rows=BLOCK_ROWS
            ) as found:
                names = found.label_names
                yield SourceBlocks(
                    name, lambda: (content_source(data, block, names) for block in found)
                )
            return
    elif reads_text(model):
        yield SourceBlocks(name, lambda: _text_sources(data, table.encoding))
        return
    elif not known(data) and Path(data).is_file() and rows in ("auto", "all"):
        options_of_file = file_options(table)
        if file_blocks(data, 1, unlabelled=not labelled, **options_of_file) is not None:
            yield SourceBlocks(name, lambda: _file_sources(data, not labelled, options_of_file))
            return
    whole = new_source(model, data, rows, auto, table, labelled=labelled)
    yield SourceBlocks(whole.name, lambda: _parts(whole))


def _text_sources(data: str, encoding: str | None) -> Iterator[Source]:
    """Yield the texts of a file, one per line."""
    for found in text_blocks(data, BLOCK_ROWS, encoding=encoding):
        yield Source(Path(data).name, found.texts, len(found.texts), None, (), None)


def _file_sources(data: str, unlabelled: bool, options: dict[str, Any]) -> Iterator[Source]:
    """Yield the rows of a file of features."""
    for block in file_blocks(data, BLOCK_ROWS, unlabelled=unlabelled, **options) or ():
        yield dataset_source(block, data)


def _parts(whole: Source) -> Iterator[Source]:
    """Yield the rows of a source that is in memory."""
    rows: Any = whole.X
    for start in range(0, whole.n_rows, BLOCK_ROWS):
        some = slice(start, min(start + BLOCK_ROWS, whole.n_rows))
        yield replace(
            whole,
            X=rows[some],
            n_rows=some.stop - start,
            Y=None if whole.Y is None else whole.Y[some],
            row_names=None if whole.row_names is None else whole.row_names[some],
        )
