"""Training on files larger than memory: ``vicinal train --out-of-core FOLDER``."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from vicinal._base.arrays import Csr, stack_rows
from vicinal._base.errors import InvalidArgumentError
from vicinal._base.progress import part
from vicinal._base.validation import as_csr, check_features
from vicinal.cli.settings import make_steps
from vicinal.cli.source import Source
from vicinal.datasets import is_table
from vicinal.datasets.files import bare_name
from vicinal.datasets.streams import RowChunk, text_chunks, xc_chunks
from vicinal.index import SegmentedIndex
from vicinal.index.row_run import BLOCK_ENTRIES, RowRun
from vicinal.preprocess import TextVectorizer


def streamed_source(
    data: str, folder: Path, text: str, labels: str, preprocess: str
) -> tuple[Source, list[tuple[str, Any]]]:
    """Write the rows of a file to a folder, chunk by chunk; return them mapped, with fitted steps.

    Memory: a chunk of the file, the labels (8 bytes each) and, of texts, the words that occur. The
    preprocessing steps are fitted on the mapped rows and applied chunk by chunk.
    """
    if not Path(data).is_file():
        raise InvalidArgumentError("DATA", "a file, for --out-of-core", data)
    steps: list[tuple[str, Any]]
    names: tuple[str, ...]
    if is_table(data) or bare_name(data).lower().endswith(".parquet"):
        words, names = _fitted_words(data, text, labels)
        chunks = _vectorised(data, text, labels, words, names)
        first: list[tuple[str, Any]] = [("words", words)]
    else:
        first, names, chunks = [], (), xc_chunks(data)
    steps = [(name, step) for name, step in make_steps(preprocess, True) if step is not None]
    raw = folder / ("rows" if not steps else "rows-before-preprocessing")
    X, Y = _written(chunks, raw)
    for number, (_, step) in enumerate(steps, start=1):
        step.fit(X)
        target = folder / ("rows" if number == len(steps) else f"rows-after-step-{number}")
        X, _ = _written(_transformed(X, step), target)
    names = names or tuple(f"label{label}" for label in range(Y.shape[1]))
    source = Source(Path(data).name, X, int(X.shape[0]), Y, names, None)
    return source, [*first, *steps]


def _fitted_words(data: str, text: str, labels: str) -> tuple[TextVectorizer, tuple[str, ...]]:
    """Return the words and the labels of all texts: the first of two passes."""
    words: set[str] = set()
    names: set[str] = set()
    with part("Reading the words") as advance:
        for chunk in text_chunks(data, text, labels):
            if any(each.strip() for each in chunk.texts):
                words.update(TextVectorizer(weighting="counts").fit(chunk.texts).vocabulary_)
            names.update(name for row in chunk.labels for name in row)
            advance(len(chunk.texts))
    if not words:
        raise InvalidArgumentError("DATA", f"words in column {text!r}", data)
    vectorizer = TextVectorizer(weighting="counts")
    vectorizer.vocabulary_ = {word: column for column, word in enumerate(sorted(words))}
    vectorizer.idf_ = None
    return vectorizer, tuple(sorted(names))


def _vectorised(
    data: str, text: str, labels: str, words: TextVectorizer, names: tuple[str, ...]
) -> Iterator[RowChunk]:
    """Yield the texts as rows: the second pass."""
    column = {name: at for at, name in enumerate(names)}
    for chunk in text_chunks(data, text, labels):
        ids = [sorted(column[name] for name in row) for row in chunk.labels]
        indptr = np.cumsum([0, *map(len, ids)])
        indices = np.array([label for row in ids for label in row], dtype=np.int32)
        ones = np.ones(len(indices), dtype=np.int32)
        Y = sparse.csr_array((ones, indices, indptr), shape=(len(ids), len(names)))
        yield RowChunk(as_csr(check_features(words.transform(chunk.texts))), Y)


def _transformed(X: Csr, step: Any) -> Iterator[RowChunk]:
    """Yield mapped rows after a fitted step, block by block."""
    run = RowRun.of(X, 0)
    for start, stop in run.ranges(BLOCK_ENTRIES):
        rows = as_csr(check_features(step.transform(run.rows(start, stop))))
        yield RowChunk(rows, sparse.csr_array((stop - start, 0), dtype=np.int32))


def _written(chunks: Iterable[RowChunk], folder: Path) -> tuple[Csr, Csr]:
    """Write rows to a folder; return them mapped, and their labels in memory."""
    labels: list[Csr] = []

    def rows() -> Iterator[Csr]:
        with part("Writing rows") as advance:
            for chunk in chunks:
                labels.append(chunk.Y)
                yield chunk.X
                advance(int(chunk.X.shape[0]))

    X = SegmentedIndex.build(rows(), folder).X
    return X, stack_rows(labels)
