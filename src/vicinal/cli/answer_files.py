"""Write predictions as JSON lines, CSV, TSV or Parquet, chosen by the file extension."""

import csv
import io
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path

from vicinal._base.errors import InvalidArgumentError, MissingExtraError
from vicinal.cli.answers import Prediction
from vicinal.datasets.files import write_data, written_beside

COLUMNS = ("row", "labels", "label_scores", "best", "best_scores")
"""Columns of a table of predictions: the predicted labels and their scores, then the best labels
and theirs."""
DELIMITERS = {".csv": ",", ".tsv": "\t"}
SEPARATORS = (";", "|", ",")
GROUP_ROWS = 10_000
"""Rows of a Parquet file that are written at a time."""
Writer = Callable[[Iterable[Prediction], Path], int]
"""Writes predictions to a file and returns how many there were."""


def answer_writer(path: Path) -> Writer:
    """Return the function that writes predictions in the format of a file extension."""
    ending = path.suffix.lower()
    if ending in (".jsonl", ".ndjson"):
        return _write_json_lines
    if ending in DELIMITERS:
        return _write_csv
    if ending == ".parquet":
        _check_pyarrow()
        return _write_parquet
    known = "a name that ends in .jsonl, .csv, .tsv or .parquet"
    raise InvalidArgumentError("--output", known, repr(str(path)))


def _write_json_lines(answers: Iterable[Prediction], path: Path) -> int:
    """Write one JSON object per line."""
    count = Counted(answers)
    write_data(path, (answer.as_json() + "\n" for answer in count))
    return count.n_rows


def _write_csv(answers: Iterable[Prediction], path: Path) -> int:
    """Write one line per row; with a byte order mark, so that Excel reads UTF-8."""
    count = Counted(answers)
    write_data(path, _csv_lines(count, DELIMITERS[path.suffix.lower()]))
    return count.n_rows


def _csv_lines(answers: Iterable[Prediction], delimiter: str) -> Iterator[str]:
    """Yield the lines of a table."""
    line = io.StringIO(newline="")
    writer = csv.writer(line, delimiter=delimiter)
    writer.writerow(COLUMNS)
    yield "\ufeff" + line.getvalue()
    for answer in answers:
        line.seek(0)
        line.truncate()
        row, labels, scores, best, best_scores = cells(answer)
        lists: list[Sequence[object]] = [labels, scores, best, best_scores]
        writer.writerow([row, *map(joined, lists)])
        yield line.getvalue()


def _write_parquet(answers: Iterable[Prediction], path: Path) -> int:
    """Write one row per prediction, labels and scores as lists. Memory: :data:`GROUP_ROWS` rows."""
    import pyarrow as pa
    from pyarrow import parquet

    remaining = iter(answers)
    group = list(islice(remaining, GROUP_ROWS))
    is_named = bool(group) and isinstance(group[0].row, str)
    words, numbers = pa.list_(pa.string()), pa.list_(pa.float64())
    kinds = (pa.string() if is_named else pa.int64(), words, numbers, words, numbers)
    schema = pa.schema(list(zip(COLUMNS, kinds, strict=True)))
    n_rows = 0
    with written_beside(path) as beside, parquet.ParquetWriter(str(beside), schema) as writer:
        while group:
            columns = zip(*map(cells, group), strict=True)
            values = {name: list(column) for name, column in zip(COLUMNS, columns, strict=True)}
            writer.write_table(pa.Table.from_pydict(values, schema))
            n_rows += len(group)
            group = list(islice(remaining, GROUP_ROWS))
    return n_rows


class Counted:
    """Predictions that are counted as they pass."""

    def __init__(self, answers: Iterable[Prediction]) -> None:
        self._answers = answers
        self.n_rows = 0

    def __iter__(self) -> Iterator[Prediction]:
        """Yield the predictions."""
        for answer in self._answers:
            self.n_rows += 1
            yield answer


def cells(answer: Prediction) -> tuple[str | int, list[str], list[float], list[str], list[float]]:
    """Return the cells of one row of a table.

    Examples
    --------
    >>> cells(Prediction("r1", ["a"], {"b": 0.9, "a": 0.8}))
    ('r1', ['a'], [0.8], ['b', 'a'], [0.9, 0.8])
    """
    own = [answer.scores[label] for label in answer.labels]
    return answer.row, answer.labels, own, list(answer.scores), list(answer.scores.values())


def joined(values: Sequence[object]) -> str:
    """Return a list as one cell: joined by a separator that no value contains, else as JSON.

    Examples
    --------
    >>> joined(["a", "b"]), joined(["a;b", "c"]), joined([0.5, 1.0])
    ('a;b', 'a;b|c', '0.5;1.0')
    """
    texts = [str(value) for value in values]
    for separator in SEPARATORS:
        if not any(separator in text for text in texts):
            return separator.join(texts)
    return json.dumps(texts, ensure_ascii=False)


def _check_pyarrow() -> None:
    """Raise an error that names the extra for Parquet, before any work is done."""
    try:
        import pyarrow as pa
    except ImportError:
        raise MissingExtraError("pyarrow", "frames") from None
    del pa
