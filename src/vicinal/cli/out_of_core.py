"""Training on files larger than memory: ``vicinal train --out-of-core FOLDER``."""

from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import clone

from vicinal._base.arrays import Csr, stack_rows
from vicinal._base.errors import InvalidArgumentError
from vicinal._base.labels import indicator_of
from vicinal._base.progress import part
from vicinal._base.validation import as_csr, check_features
from vicinal.cli.settings import make_steps
from vicinal.cli.source import Source
from vicinal.cli.table_options import TableChoice
from vicinal.cli.tables import is_table_file, text_step
from vicinal.datasets import Reading
from vicinal.datasets.streams import RowChunk, TextChunk, text_chunks, xc_chunks
from vicinal.estimators import Blend, LabelRidge
from vicinal.index import SegmentedIndex
from vicinal.index.row_run import BLOCK_ENTRIES, RowRun
from vicinal.preprocess import TextVectorizer


def streamed_source(
    data: str,
    folder: Path,
    table: TableChoice,
    preprocess: str,
    estimator: Any,
    max_memory: float,
) -> tuple[Source, list[tuple[str, Any]], SegmentedIndex]:
    """Write the rows of a file to a folder in chunks; return them memory-mapped, and fitted steps.

    The third result is the index of the rows that `estimator` will be fitted on, with postings on
    disk. Memory: one chunk of the file, the labels (8 bytes each), `max_memory` GB and, for texts,
    the vocabulary. The preprocessing steps are fitted on the memory-mapped rows and applied in
    chunks.
    """
    check_method(estimator)
    if not max_memory >= 2**20 / 1e9:
        raise InvalidArgumentError("--max-memory", "at least 0.002 GB", max_memory)
    if not Path(data).is_file():
        raise InvalidArgumentError("DATA", "a file, because of --out-of-core", data)
    names: tuple[str, ...] = ()
    first: list[tuple[str, Any]] = []
    reading = None
    if is_table_file(data):
        reading = _reading(table)
        words, names = _fitted_words(data, reading, text_step(table))
        first, chunks = [("words", words)], _vectorised(data, reading, words, names)
    else:
        chunks = xc_chunks(data)
    steps = make_steps(preprocess, True)
    options = {
        "metric": getattr(estimator, "metric", "cosine"),
        "max_memory": int(max_memory * 1e9),
    }
    target = folder / ("rows" if not steps else "rows-before-preprocessing")
    index, Y = _written(chunks, target, postings=not steps, **options)
    for number, (_, step) in enumerate(steps, start=1):
        step.fit(index.X)
        is_last = number == len(steps)
        target = folder / ("rows" if is_last else f"rows-after-step-{number}")
        index, _ = _written(_transformed(index.X, step), target, postings=is_last, **options)
    X = index.X
    names = names or tuple(f"label{label}" for label in range(Y.shape[1]))
    source = Source(Path(data).name, X, int(X.shape[0]), Y, names, None, reading=reading)
    return source, [*first, *steps], index


def check_method(estimator: Any) -> None:
    """Refuse a method that copies all rows, before anything is read."""
    if "algorithm" not in estimator.get_params() or isinstance(estimator, Blend | LabelRidge):
        expected = (
            "a method that leaves the rows on disk, with --out-of-core: instance-knn, mlknn, lcif"
        )
        got = f"{type(estimator).__name__}, which holds copies of all rows in memory"
        raise InvalidArgumentError("--method", expected, got)


def _reading(table: TableChoice) -> Reading:
    """Return how to read a streamed table; guessing would need the whole file in memory."""
    for option in ("label_columns", "feature_columns", "row_names"):
        if getattr(table, option) is not None:
            name = "--" + option.replace("_", "-")
            expected = "no value together with --out-of-core"
            raise InvalidArgumentError(name, expected, getattr(table, option))
    return Reading(
        text=(table.text or "text",),
        labels=table.labels or "labels",
        separator="," if table.separator is None else table.separator_sign(),
        encoding=table.encoding,
        delimiter=table.delimiter_sign(),
    )


def _texts(data: str, reading: Reading) -> Iterator[TextChunk]:
    return text_chunks(
        data,
        reading.text[0],
        reading.labels or "",
        separator=reading.separator or "",
        delimiter=reading.delimiter,
        encoding=reading.encoding or "utf-8-sig",
    )


def _fitted_words(
    data: str, reading: Reading, vectorizer: TextVectorizer
) -> tuple[TextVectorizer, tuple[str, ...]]:
    """Return a vectorizer of all words, and all label names: the first of two passes."""
    frequency: Counter[str] = Counter()
    names: set[str] = set()
    counter = clone(vectorizer).set_params(min_df=1, weighting="binary")
    with part("Reading the words") as advance:
        for chunk in _texts(data, reading):
            with suppress(InvalidArgumentError):  # a chunk without a single word
                rows = counter.fit_transform(chunk.texts)
                frequency.update(dict(zip(counter.vocabulary_, rows.sum(axis=0), strict=True)))
            names.update(name for row in chunk.labels for name in row)
            advance(len(chunk.texts))
    words = sorted(word for word, count in frequency.items() if count >= vectorizer.min_df)
    if not words:
        expected = f"texts in column {reading.text[0]!r} with words in at least --min-df of them"
        raise InvalidArgumentError("DATA", expected, data)
    vectorizer.vocabulary_ = {word: column for column, word in enumerate(words)}
    vectorizer.idf_ = None
    return vectorizer, tuple(sorted(names))


def _vectorised(
    data: str, reading: Reading, words: TextVectorizer, names: tuple[str, ...]
) -> Iterator[RowChunk]:
    """Yield the texts as rows: the second pass."""
    for chunk in _texts(data, reading):
        rows = as_csr(check_features(words.transform(chunk.texts)))
        yield RowChunk(rows, indicator_of(chunk.labels, names))


def _transformed(X: Csr, step: Any) -> Iterator[RowChunk]:
    """Yield blocks of memory-mapped rows, transformed by a fitted step."""
    run = RowRun.of(X, 0)
    for start, stop in run.ranges(BLOCK_ENTRIES):
        rows = as_csr(check_features(step.transform(run.rows(start, stop))))
        yield RowChunk(rows, as_csr(np.zeros((stop - start, 0))))


def _written(
    chunks: Iterable[RowChunk], folder: Path, **options: Any
) -> tuple[SegmentedIndex, Csr]:
    """Write rows to a folder; return their index, and their labels in memory."""
    labels: list[Csr] = []

    def rows() -> Iterator[Csr]:
        with part("Writing rows") as advance:
            for chunk in chunks:
                labels.append(chunk.Y)
                yield chunk.X
                advance(int(chunk.X.shape[0]))

    return SegmentedIndex.build(rows(), folder, **options), stack_rows(labels)
