"""Convert the rows of requests into the features that an estimator expects."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, cast

import numpy as np
from scipy import sparse
from sklearn.pipeline import Pipeline

from vicinal._core.arrays import Csr, Features
from vicinal.errors import InvalidArgumentError
from vicinal.methods.model_columns import ModelColumns
from vicinal.methods.pipeline import (
    Model,
    column_names,
    estimator_of,
    feature_names,
    names_after,
    transformers,
    with_feature_names,
)
from vicinal.preprocess import TextVectorizer
from vicinal.service.limits import ServiceError, bad_value

Row = Mapping[str, Any]
"""A row of a request: exactly one of ``text``, ``features`` and ``values`` is there."""

DENSE_CELLS = 2**23
"""Most cells of the dense rows of one request: 64 MiB of float64."""
ROW_CELLS = 256
"""Words or features of a row that counts as one; a row of more counts as several."""
WORD_CHARACTERS = 6


def cost_of(rows: Sequence[Row]) -> int:
    """Return how much work rows are: their number, where a long one counts as several."""
    return sum(1 + _length(row) // ROW_CELLS for row in rows)


def _length(row: Row) -> int:
    """Return about how many words or features a row has."""
    given = row.get("features", {})
    cells = (row["text"],) if "text" in row else given.values()
    characters = sum(len(cell) for cell in cells if isinstance(cell, str))
    return len(given) + len(row.get("values", ())) + characters // WORD_CHARACTERS


class RowReader:
    """Turns rows of requests into features, for one model.

    A text passes through the model's vectorizer. Named features and dense values skip the
    vectorizer of a text model and pass through all steps of any other model. Models that learned
    from columns of several kinds take their cells by name. A text model ignores
    words that it does not know, in texts and as feature names; any other model refuses unknown
    names.
    """

    def __init__(self, model: Model) -> None:
        # Rows get the model's columns here, in its order: scikit-learn need not compare names.
        nameless = model if feature_names(model) is None else with_feature_names(model, None)
        steps = transformers(nameless) if isinstance(nameless, Pipeline) else []
        self.reads_text = bool(steps) and isinstance(steps[0], TextVectorizer)
        self._vectorizer: TextVectorizer | None = steps[0] if self.reads_text else None
        self._steps = steps[1:] if self.reads_text else steps
        estimator = estimator_of(model)
        self._is_sparse = self.reads_text or sparse.issparse(estimator.search_.X)
        self._columns = ModelColumns.of(model)
        if self._columns is not None:
            self.n_features = int(estimator.n_features_in_)
            names = names_after(model)
            self.names = [names[column] for column in range(self.n_features)]
            return
        first = self._steps[0] if self._steps else estimator
        if not hasattr(first, "n_features_in_"):
            expected = "one that takes texts or numbers, because rows of requests are no frames"
            raise InvalidArgumentError("model", expected, type(first).__name__)
        self.n_features = int(first.n_features_in_)
        self.names = self._names(model, first)
        self._column = {name: column for column, name in enumerate(self.names)}

    def words(self, row: Row) -> list[dict[str, Any]]:
        """Return where the text of a row has words that are features, and which ones."""
        text = row.get("text")
        if self._vectorizer is None or text is None:
            return []
        return [
            {"start": start, "stop": stop, "features": [self.names[each] for each in columns]}
            for start, stop, columns in self._vectorizer.word_places(text)
        ]

    def _names(self, model: Model, first: Any) -> list[str]:
        """Return the words, the columns of the file the model learned from, or numbers."""
        if self._vectorizer is not None:
            return [str(word) for word in self._vectorizer.get_feature_names_out()]
        names: Iterable[object] | None = column_names(model)
        if names is None:
            names = getattr(first, "feature_names_in_", range(self.n_features))
        return [str(name) for name in names]

    @property
    def columns(self) -> list[str] | None:
        """The columns whose cells a row has by name; None for rows of texts or numbers."""
        return None if self._columns is None else list(self._columns.names)

    def check(self, rows: Sequence[Row]) -> None:
        """Refuse rows that this model cannot take, naming the row and the field."""
        for place, row in enumerate(rows):
            if "text" in row:
                if not self.reads_text:
                    raise bad_value(
                        f"rows.{place}", "features or values: this model reads no text", "text"
                    )
            elif self._columns is not None:
                self._check_cells(place, row)
            elif "values" in row:
                if len(row["values"]) != self.n_features:
                    raise bad_value(
                        f"rows.{place}.values", f"{self.n_features} numbers", len(row["values"])
                    )
            else:
                self._check_features(place, row["features"])
        if not self._is_sparse and len(rows) * self.n_features > DENSE_CELLS:
            raise bad_value("rows", f"at most {DENSE_CELLS // self.n_features} rows", len(rows))

    def _check_cells(self, place: int, row: Row) -> None:
        """Refuse a row of a model that reads columns by name."""
        known = () if self._columns is None else self._columns.names
        expected = f"the columns {', '.join(known)}"
        if "features" not in row:
            raise bad_value(f"rows.{place}", f"features: {expected}", "values")
        unknown = next((name for name in row["features"] if name not in known), None)
        if unknown is not None:
            raise bad_value(f"rows.{place}.features", expected, unknown)

    def _check_features(self, place: int, features: Mapping[str, Any]) -> None:
        """Refuse values that are no numbers, and unknown names if the model reads no text."""
        unknown = next((name for name in features if name not in self._column), None)
        if unknown is not None and not self.reads_text:
            raise bad_value(
                f"rows.{place}.features", f"names among the model's {self.n_features}", unknown
            )
        if any(isinstance(value, str) for value in features.values()):
            raise bad_value(f"rows.{place}.features", "numbers", "text")

    def read(self, rows: Sequence[Row]) -> Features:
        """Return the rows as the estimator takes them, or refuse what one of its steps refuses."""
        self.check(rows)
        try:
            return self.features(rows)
        except (ValueError, TypeError) as error:
            raise ServiceError(422, "refused-by-model", f"rows: {error}"[:300]) from error

    def features(self, rows: Sequence[Row]) -> Features:
        """Return the rows as the estimator takes them; the steps raise what they raise."""
        if self._columns is not None:
            cells = self._columns.features([row["features"] for row in rows])
            return cast("Features", sparse.csr_array(cells) if self._is_sparse else cells)
        X: Any = self._raw(rows)
        for step in self._steps:
            X = step.transform(X)
        return cast("Features", X)

    def _raw(self, rows: Sequence[Row]) -> Features:
        """Return the rows before the steps that texts, names and numbers have in common."""
        if self._vectorizer is not None and all("text" in row for row in rows):
            return self._vectorizer.transform([row["text"] for row in rows])
        parts = [self._one(row) for row in rows]
        stacked = cast("Csr", sparse.csr_array(sparse.vstack(parts, format="csr")))
        return stacked if self._is_sparse else stacked.toarray()

    def _one(self, row: Row) -> Csr:
        """Return one row as a sparse matrix."""
        if self._vectorizer is not None and "text" in row:
            return sparse.csr_array(self._vectorizer.transform([row["text"]]))
        if "values" in row:
            return sparse.csr_array(np.asarray(row["values"], dtype=np.float64)[None, :])
        known = {
            self._column[name]: float(value)
            for name, value in row["features"].items()
            if name in self._column
        }
        columns = sorted(known)
        data = np.array([known[column] for column in columns], dtype=np.float64)
        indices = np.array(columns, dtype=np.int32)
        indptr = np.array([0, len(columns)], dtype=np.int32)
        return sparse.csr_array((data, indices, indptr), shape=(1, self.n_features))
