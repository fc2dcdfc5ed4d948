"""Write predictions as JSON lines, CSV, TSV or Parquet, chosen by the file extension."""

import csv
import json
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from vicinal._base.errors import InvalidArgumentError, MissingExtraError
from vicinal.cli.answers import Prediction

COLUMNS = ("row", "labels", "label_scores", "best", "best_scores")
"""Columns of a table of predictions: the predicted labels and their scores, then the best labels
and theirs."""
DELIMITERS = {".csv": ",", ".tsv": "\t"}
SEPARATORS = (";", "|", ",")
Writer = Callable[[Iterable[Prediction], Path], None]


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


def _write_json_lines(answers: Iterable[Prediction], path: Path) -> None:
    """Write one JSON object per line."""
    with path.open("w", encoding="utf-8") as stream:
        stream.writelines(answer.as_json() + "\n" for answer in answers)


def _write_csv(answers: Iterable[Prediction], path: Path) -> None:
    """Write one line per row, with a byte order mark so that Excel reads UTF-8."""
    with path.open("w", encoding="utf-8-sig", newline="") as stream:
        writer = csv.writer(stream, delimiter=DELIMITERS[path.suffix.lower()])
        writer.writerow(COLUMNS)
        for answer in answers:
            row, labels, scores, best, best_scores = cells(answer)
            lists: list[Sequence[object]] = [labels, scores, best, best_scores]
            writer.writerow([row, *map(joined, lists)])


def _write_parquet(answers: Iterable[Prediction], path: Path) -> None:
    """Write one row per prediction, with lists of labels and scores. Memory: all predictions."""
    import pyarrow as pa
    from pyarrow import parquet

    rows = [cells(answer) for answer in answers]
    table = {name: [row[at] for row in rows] for at, name in enumerate(COLUMNS)}
    parquet.write_table(pa.Table.from_pydict(table), str(path))


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
