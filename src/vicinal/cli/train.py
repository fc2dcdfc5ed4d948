"""``vicinal train``: train a model on a data set and save it."""

import shutil
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, closing, contextmanager, nullcontext, suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from vicinal._core.progress import part, shown
from vicinal.cli.options import (
    METHODS,
    CommonOptions,
    DataArgument,
    PreprocessOption,
    RowsOption,
    TableChoice,
    option,
    with_options,
)
from vicinal.cli.output import print_facts
from vicinal.errors import InvalidArgumentError

if TYPE_CHECKING:
    from vicinal._core.arrays import Csr
    from vicinal.cli.data_source import Source
    from vicinal.datasets import Content, Reading
    from vicinal.datasets.blocks import RowChunk
    from vicinal.index import SegmentedIndex
    from vicinal.index.segment_files import SegmentWriter
    from vicinal.preprocess import TextVectorizer


class TrainOptions(CommonOptions):
    """The options of ``vicinal train``."""

    output: Path = option("File to save the model in.", "--output", "-o", default=...)
    method: str = option(f"One of: {METHODS}; or module:Class for your own class.", default="blend")
    settings: list[str] | None = option("A parameter, as name=value; repeatable.", "--set")
    preprocess: PreprocessOption = "auto"
    rows: RowsOption = "auto"
    out_of_core: Path | None = option(
        "Folder for data larger than memory: DATA (extreme-classification text, JSONL, "
        "CSV, TSV or Parquet) is streamed to it, then searched within --max-memory."
    )
    max_memory: float = option("GB of memory for the search with --out-of-core.", default=1.0)
    cluster: str | None = option("Address of a Dask scheduler; its workers do the search.")


@with_options
def train(data: DataArgument, chosen: TrainOptions, table: TableChoice) -> None:
    """Train a model on a data set and save it.

    The default method, blend, combines neighbours and linear models and needs no tuning.
    """
    from vicinal.cli.data_source import training_source, with_own_vectors
    from vicinal.cli.predict import save_named, vocabulary_of
    from vicinal.cli.settings import check_saveable, make_estimator, parse_settings
    from vicinal.methods import Pipeline
    from vicinal.persistence import check_replaceable

    check_replaceable(chosen.output)
    chosen.import_modules([chosen.method])
    check_saveable("--method", [chosen.method])
    estimator = make_estimator(chosen.method, parse_settings(chosen.settings or []))
    if not (table.text or table.feature_columns or chosen.out_of_core) and _mixes_views(estimator):
        table = with_own_vectors(table, data)
    _check_vectors(table, estimator, chosen.out_of_core)
    began, streamed = time.perf_counter(), None
    with alone_in_folder(data, estimator, chosen):
        if chosen.out_of_core is None:
            source, steps = training_source(data, chosen.rows, table, chosen.preprocess)
            began = time.perf_counter()
        else:
            with shown():
                source, steps, streamed = streamed_source(data, table, estimator, chosen)
        vocabulary = vocabulary_of(table, source.label_names)
        model = Pipeline([*steps, ("estimator", estimator)])
        _learn(model, source, streamed, chosen.cluster)
        seconds = time.perf_counter() - began
        save_named(model, source, chosen.output, vocabulary)
    facts = {
        "data": source.name,
        "rows": source.n_rows,
        "features": estimator.n_features_in_,
        "labels": len(source.label_names),
        "model": " → ".join(_shown(step) for _, step in model.steps),
        "seconds to fit": seconds,
        "saved in": str(chosen.output),
    }
    print_facts("Trained", facts, chosen.json)


def _learn(
    model: Any, source: "Source", streamed: "SegmentedIndex | None", cluster: str | None
) -> None:
    """Fit the model; streamed rows are preprocessed already."""
    estimator = model.steps[-1][1]
    learner = model if streamed is None else estimator
    names = {"label_names": source.label_names, "row_names": source.row_names}
    said = part(f"Learning from {source.n_rows:,} rows")
    with shown(), searching(estimator, streamed, cluster), said:
        learner.fit(source.X, source.labels(), **names)


def _check_vectors(table: TableChoice, estimator: Any, folder: Path | None) -> None:
    """Refuse vectors that the method cannot put beside the rows, before anything is read."""
    if table.vectors is not None and folder is not None:
        raise InvalidArgumentError("--vectors", "no file together with --out-of-core", folder)
    if table.vectors is not None and not _mixes_views(estimator):
        got = type(estimator).__name__
        raise InvalidArgumentError("--vectors", "the method blend, which mixes views", got)


def _mixes_views(estimator: Any) -> bool:
    """Tell whether a method can put vectors beside the rows."""
    return hasattr(type(estimator), "views_")


def _shown(step: Any) -> str:
    """Return a step on one line; of the steps for some columns, the names."""
    if hasattr(step, "first") and step.steps_:  # rows beside vectors
        return f"{' → '.join(_shown(each) for _, each in step.steps_)} and vectors"
    if hasattr(step, "transformers_"):
        return f"{type(step).__name__}({', '.join(name for name, *_ in step.transformers_)})"
    return " ".join(repr(step).split())


@contextmanager
def searching(estimator: Any, rows: "SegmentedIndex | None", cluster: str | None) -> Iterator[None]:
    """Make an estimator search as the options say, inside the ``with`` block."""
    if rows is None and cluster is None:
        yield
        return
    if "algorithm" not in estimator.get_params():
        got = type(estimator).__name__
        raise InvalidArgumentError("--method", "a method that searches neighbours", got)
    connection: Any = nullcontext()
    if cluster is not None:
        from vicinal.cluster import connected

        connection = connected(cluster)
    with connection as client:
        during, after = _algorithms(estimator, rows, client)
        estimator.set_params(algorithm=during)
        yield
        estimator.set_params(algorithm=after)


def _algorithms(estimator: Any, rows: "SegmentedIndex | None", client: Any) -> tuple[Any, Any]:
    """Return the searches for the fit and for the saved model, which knows no cluster."""
    from vicinal.index import SegmentedAlgorithm
    from vicinal.methods import Blend

    local: Any = "auto"
    has_views = rows is not None and isinstance(estimator, Blend)
    if rows is not None and has_views:
        views = str(Path(str(rows.folder)).resolve().parent / "views")  # those of earlier rows go
        shutil.rmtree(views, ignore_errors=True)
        local = SegmentedAlgorithm(rows.max_memory, rows, views)
    elif rows is not None and client is None:
        local = SegmentedAlgorithm(rows.max_memory, rows)
    if client is None:
        return local, local
    from vicinal.cluster import ClusterAlgorithm, ClusterTasks

    if has_views:
        return replace(local, tasks=ClusterTasks(client)), local
    return ClusterAlgorithm(client, None if rows is None else rows.folder), local


TRAINING_LOCK = "training.lock"


@contextmanager
def alone_in_folder(data: str, estimator: Any, chosen: TrainOptions) -> Iterator[None]:
    """Keep the folder of ``--out-of-core`` to one training: another would remove its files."""
    if chosen.out_of_core is None:
        yield
        return
    from vicinal._core.files import locked

    check_method(estimator)
    if not chosen.max_memory >= 2**20 / 1e9:
        raise InvalidArgumentError("--max-memory", "at least 0.002 GB", chosen.max_memory)
    if not Path(data).is_file():
        raise InvalidArgumentError("DATA", "a file, because of --out-of-core", data)
    chosen.out_of_core.mkdir(parents=True, exist_ok=True)
    with ExitStack() as held:
        try:
            held.enter_context(locked(chosen.out_of_core / TRAINING_LOCK, waits=False))
        except TimeoutError:
            expected = "a folder that no other training is using"
            raise InvalidArgumentError("--out-of-core", expected, chosen.out_of_core) from None
        yield


def streamed_source(
    data: str, table: TableChoice, estimator: Any, chosen: TrainOptions
) -> "tuple[Source, list[tuple[str, Any]], SegmentedIndex]":
    """Write the rows of a file to a folder in chunks; return them, fitted steps, and their index.

    Rows and labels are memory-mapped. Memory: one chunk, ``--max-memory`` and, for texts, words.
    """
    import numpy as np

    from vicinal.cli.data_source import Source, is_table_file, text_step
    from vicinal.cli.settings import make_steps
    from vicinal.datasets.blocks import xc_chunks
    from vicinal.index.segment_files import SegmentWriter, open_segment
    from vicinal.methods import Blend

    names: tuple[str, ...] = ()
    first: list[tuple[str, Any]] = []
    reading = None
    if is_table_file(data):
        reading = _reading(table)
        words, names = _fitted_words(data, reading, text_step(table))
        first, chunks = [("words", words)], _vectorised(_texts(data, reading), words, names)
    else:
        chunks = xc_chunks(data)
    steps = make_steps(chosen.preprocess, True)
    options = {
        "metric": getattr(estimator, "metric", "cosine"),
        "max_memory": int(chosen.max_memory * 1e9),
    }
    folder = Path(str(chosen.out_of_core))
    target = folder / ("rows" if not steps else "rows-before-preprocessing")
    searches = not isinstance(estimator, Blend)  # which searches its views of the rows
    shutil.rmtree(folder / "labels", ignore_errors=True)
    with closing(SegmentWriter(folder / "labels", np.dtype(np.int32))) as labels:
        rows = _without_labels(chunks, labels)
        index = _written(rows, target, postings=searches and not steps, **options)
        Y = open_segment(folder, labels.finish(), labels.n_features or 0, verify=False).whole
    for number, (_, step) in enumerate(steps, start=1):
        step.fit(index.X)
        is_last = number == len(steps)
        target = folder / ("rows" if is_last else f"rows-after-step-{number}")
        written = _transformed(index.X, step)
        index = _written(written, target, postings=searches and is_last, **options)
    X = index.X
    names = names or tuple(f"label{label}" for label in range(Y.shape[1]))
    source = Source(Path(data).name, X, int(X.shape[0]), Y, names, None, reading=reading)
    return source, [*first, *steps], index


def check_method(estimator: Any) -> None:
    """Refuse a method that copies all rows, before anything is read."""
    from vicinal.methods import LabelRidge

    if "algorithm" not in estimator.get_params() or isinstance(estimator, LabelRidge):
        methods = "blend, local-ridge, mlknn"
        expected = f"a method that leaves the rows on disk, with --out-of-core: {methods}"
        got = f"{type(estimator).__name__}, which holds copies of all rows in memory"
        raise InvalidArgumentError("--method", expected, got)


def _reading(table: TableChoice) -> "Reading":
    """Return how to read a streamed table; guessing would need the whole file in memory."""
    from vicinal.datasets import Reading

    for name in ("label_columns", "feature_columns", "row_names"):
        if (given := getattr(table, name)) is not None:
            expected = "no value together with --out-of-core"
            raise InvalidArgumentError("--" + name.replace("_", "-"), expected, given)
    return Reading(
        text=(table.text or "text",),
        labels=table.labels or "labels",
        separator="," if table.separator is None else table.sign("separator"),
        encoding=table.encoding,
        delimiter=table.sign("delimiter"),
    )


def _texts(data: str, reading: "Reading") -> "Iterator[Content]":
    from vicinal.datasets.blocks import text_chunks

    columns, separator = (reading.text[0], reading.labels or ""), reading.separator or ""
    encoding, sign = reading.encoding or "utf-8-sig", reading.delimiter
    return text_chunks(data, *columns, separator=separator, delimiter=sign, encoding=encoding)


def _fitted_words(
    data: str, reading: "Reading", vectorizer: "TextVectorizer"
) -> "tuple[TextVectorizer, tuple[str, ...]]":
    """Return a vectorizer of all words, and all label names: the first of two passes."""
    from sklearn.base import clone

    frequency: Counter[str] = Counter()
    names: set[str] = set()
    counter = clone(vectorizer).set_params(min_df=1, weighting="binary")
    with part("Reading the words") as advance:
        for chunk in _texts(data, reading):
            with suppress(InvalidArgumentError):  # a chunk without a single word
                rows = counter.fit_transform(chunk.X)
                counter.set_params(language=counter.language_)  # guessed from the first chunk
                frequency.update(dict(zip(counter.vocabulary_, rows.sum(axis=0), strict=True)))
            names.update(name for row in chunk.labels or () for name in row)
            advance(len(chunk.X))
    words = sorted(word for word, count in frequency.items() if count >= vectorizer.min_df)
    if not words:
        expected = f"texts in column {reading.text[0]!r} with words in at least --min-df of them"
        raise InvalidArgumentError("DATA", expected, data)
    vectorizer.vocabulary_ = {word: column for column, word in enumerate(words)}
    vectorizer.idf_ = None
    vectorizer.language_ = counter.language_
    return vectorizer, tuple(sorted(names))


def _vectorised(
    texts: "Iterator[Content]", words: "TextVectorizer", names: tuple[str, ...]
) -> "Iterator[RowChunk]":
    """Yield the texts as rows: the second pass."""
    from vicinal._core.labels import indicator_of
    from vicinal._core.validation import as_csr, check_features
    from vicinal.datasets.blocks import RowChunk

    for chunk in texts:
        rows = as_csr(check_features(words.transform(chunk.X)))
        yield RowChunk(rows, indicator_of(chunk.labels or (), names))


def _transformed(X: "Csr", step: Any) -> "Iterator[Csr]":
    """Yield blocks of memory-mapped rows, transformed by a fitted step."""
    from vicinal._core.validation import as_csr, check_features
    from vicinal.index.segment_files import BLOCK_ENTRIES, SegmentRows

    whole = SegmentRows.of(X, 0)
    for start, stop in whole.ranges(BLOCK_ENTRIES):
        yield as_csr(check_features(step.transform(whole.rows(start, stop))))


def _without_labels(chunks: "Iterable[RowChunk]", labels: "SegmentWriter") -> "Iterator[Csr]":
    """Yield the rows of chunks, whose labels are written to a folder."""
    import numpy as np

    from vicinal._core.csr import trust

    for chunk in chunks:
        first = labels.n_rows
        ids = np.arange(first, first + int(chunk.Y.shape[0]), dtype=np.int32)
        labels.append(trust(chunk.Y), ids)
        yield chunk.X


def _written(blocks: "Iterable[Csr]", folder: Path, **options: Any) -> "SegmentedIndex":
    """Write rows to a folder; return their index."""
    from vicinal.index import SegmentedIndex

    def rows() -> "Iterator[Csr]":
        with part("Writing rows") as advance:
            for block in blocks:
                yield block
                advance(int(block.shape[0]))

    return SegmentedIndex.build(rows(), folder, **options)
