"""Tables on the command line: their options, and the steps that preprocess their columns."""

from pathlib import Path
from typing import Any

from sklearn.compose import ColumnTransformer
from sklearn.preprocessing import OneHotEncoder

from vicinal._base.errors import InvalidArgumentError
from vicinal.cli.settings import make_steps
from vicinal.cli.table_options import TableChoice
from vicinal.datasets import Reading, TableOptions, is_table
from vicinal.datasets.catalogue.registry import known
from vicinal.datasets.tables.read import STANDARD_INPUT
from vicinal.preprocess import MinMax, TextVectorizer


def is_table_file(data: str) -> bool:
    """Tell whether DATA is a table: a file, or standard input."""
    if known(data):
        return False
    return is_table(data) and (data == STANDARD_INPUT or Path(data).is_file())


def table_options(table: TableChoice) -> TableOptions:
    """Return the options for reading a table."""
    return TableOptions(
        text=table.column_list("text"),
        labels=table.labels,
        label_columns=table.column_list("label_columns"),
        feature_columns=table.column_list("feature_columns"),
        row_names=table.row_names,
        separator=table.separator_sign(),
        encoding=table.encoding,
        delimiter=table.delimiter_sign(),
        columns=table.column_list("columns"),
        quoting=table.quotes,
    )


def file_options(table: TableChoice) -> dict[str, Any]:
    """Return the options for reading a file that is not a table."""
    options: dict[str, Any] = {}
    if table.encoding is not None:
        options["encoding"] = table.encoding
    if table.xml is not None:
        options["xml"] = table.xml
    if table.label_count is not None:
        options |= {"n_labels": table.label_count, "file_format": "meka"}
    return options


def text_step(table: TableChoice, weighting: str = "counts") -> TextVectorizer:
    """Return the step that turns texts into features."""
    if table.ngrams < 1:
        raise InvalidArgumentError("--ngrams", "an integer of at least 1", table.ngrams)
    return TextVectorizer(
        weighting=weighting,
        tokens=table.tokens,
        ngram_range=(1, table.ngrams),
        min_df=table.min_df,
        stop_words=_stop_words(table.stop_words),
    )


def _stop_words(given: str | None) -> str | list[str] | None:
    """Return the words to ignore: scikit-learn's English stop words, or those in a file."""
    if given in (None, "none"):
        return None
    if given == "english":
        return given
    path = Path(str(given))
    if not path.is_file():
        expected = "english, none or a file with one word per line"
        raise InvalidArgumentError("--stop-words", expected, repr(given))
    lines = path.read_text(encoding="utf-8").splitlines()
    return [word.strip().lower() for word in lines if word.strip()]


def table_steps(reading: Reading, table: TableChoice, preprocess: str) -> list[tuple[str, Any]]:
    """Return the preprocessing steps for a table.

    If all columns are texts, they become word counts; if all are numbers, ``--preprocess`` decides.
    If the table has both, or categories, each kind has its own step, and their results are
    concatenated: tf-idf weights of unit length, numbers scaled to [0, 1], and one column of 0 and 1
    per category.
    """
    if not reading.numbers and not reading.categories:
        return [("words", text_step(table)), *make_steps(preprocess, True)]
    if not reading.text and not reading.categories:
        return make_steps(preprocess, False)
    n_texts, n_numbers = int(bool(reading.text)), len(reading.numbers)
    numbers = list(range(n_texts, n_texts + n_numbers))
    categories = [n_texts + n_numbers + at for at in range(len(reading.categories))]
    parts: list[tuple[str, Any, Any]] = []
    if reading.text:
        parts.append(("words", text_step(table, "tfidf"), 0))
    if numbers:
        parts.append(("numbers", MinMax(), numbers))
    if categories:
        parts.append(("categories", OneHotEncoder(handle_unknown="ignore"), categories))
    after = [] if preprocess == "auto" else make_steps(preprocess, True)
    return [("columns", ColumnTransformer(parts)), *after]


def reading_for(model: Any) -> Reading | None:
    """Return how a model's training table was read; None if it was not trained on a table.

    A model trained on another file with named features reads their columns from a table.
    """
    reading: Reading | None = getattr(model, "reading_", None)
    columns: tuple[str, ...] | None = getattr(model, "columns_", None)
    if reading is None and columns is not None:
        return Reading(numbers=columns)
    return reading
