"""Views: several kinds of features of the same rows, such as words and vectors.

A mapping of names to features is validated here and becomes one matrix whose columns stand side by
side, so that rows are stored, learned, forgotten and saved as those of any other model. A blend
looks at the columns of each view in its own way. :class:`Views` makes such mappings of frames.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self, cast

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin, clone
from sklearn.compose import ColumnTransformer
from sklearn.utils.validation import check_is_fitted

from vicinal._core.arrays import Features
from vicinal._core.checks import all_or_nothing, check_encodable
from vicinal._core.csr import quick_rows, side_by_side
from vicinal._core.state import Saveable, State, read_count, read_names, read_part, read_plain
from vicinal._core.validation import check_features, check_readable
from vicinal.errors import InvalidArgumentError, ModelFormatError
from vicinal.persistence import register
from vicinal.persistence.sklearn_steps import SklearnStep, as_part, restored


@dataclass(frozen=True)
class FeatureViews:
    """The names of views, and how many features each of them has."""

    names: tuple[str, ...]
    widths: tuple[int, ...]

    @classmethod
    def of(cls, X: Mapping[Any, object]) -> Self:
        """Return the views of a training mapping."""
        for name in X:
            if not isinstance(name, str) or not name:
                raise InvalidArgumentError("X", "views that are named by strings", repr(name))
        check_encodable("X", list(X))
        if not X:
            raise InvalidArgumentError("X", "at least one view", "an empty mapping")
        widths = [int(_checked(X, name, None).shape[1]) for name in X]
        for name, width in zip(X, widths, strict=True):
            if not width:
                raise InvalidArgumentError(f"X[{name!r}]", "at least one feature", 0)
        return cls(tuple(X), tuple(widths))

    @property
    def n_features(self) -> int:
        """Features of all views together."""
        return sum(self.widths)

    @property
    def spans(self) -> tuple[tuple[int, int], ...]:
        """For each view, its first column and the one behind its last."""
        ends = np.cumsum(self.widths).tolist()
        return tuple(zip([0, *ends[:-1]], ends, strict=True))

    def joined(self, X: Mapping[Any, object]) -> Features:
        """Return the features of all views side by side, validated."""
        if set(X) != set(self.names):
            got = ", ".join(f"{name!s:.40}" for name in X) or "an empty mapping"
            raise InvalidArgumentError("X", f"the views {', '.join(self.names)}", got)
        blocks = [
            _checked(X, name, width) for name, width in zip(self.names, self.widths, strict=True)
        ]
        n_rows = int(blocks[0].shape[0])
        for name, block in zip(self.names, blocks, strict=True):
            if block.shape[0] != n_rows:
                expected = f"{n_rows} rows, as in X[{self.names[0]!r}]"
                raise InvalidArgumentError(f"X[{name!r}]", expected, int(block.shape[0]))
        if not n_rows:
            raise InvalidArgumentError("X", "at least one row", 0)
        return side_by_side(blocks)

    def feature_names(self) -> list[str]:
        """Return a name for each feature: that of its view and its number there."""
        return [
            f"{name} {column}"
            for name, width in zip(self.names, self.widths, strict=True)
            for column in range(width)
        ]

    def get_state(self) -> dict[str, State]:
        """Return the state as plain values."""
        return {"names": list(self.names), "widths": list(self.widths)}

    @classmethod
    def from_state(cls, state: Mapping[str, State]) -> Self:
        """Build from :meth:`get_state`, checked."""
        names, widths = read_names(state, "names"), read_part(state, "widths", list)
        are_counts = all(type(width) is int and width > 0 for width in widths)
        if not names or len(names) != len(widths) or len(set(names)) < len(names) or not are_counts:
            raise ModelFormatError("views: expected different names and their numbers of features")
        return cls(names, tuple(widths))


def _checked(X: Mapping[Any, object], name: str, width: int | None) -> Features:
    """Return the features of one view, validated."""
    if width is not None:
        quick = quick_rows(X[name], width)
        if quick is not None:
            return quick
    argument = f"X[{name!r}]"
    check_readable(X[name], argument)
    return check_features(X[name], argument, n_features=width)


class VectorColumns(TransformerMixin, BaseEstimator, auto_wrap_output_keys=None):
    """Return vectors as one array: columns of numbers, or one column of lists of numbers."""

    n_values_: int

    def fit(self, X: Any, y: object = None) -> Self:
        """Learn the length of the vectors."""
        self.n_values_ = int(as_vectors(X).shape[1])
        return self

    def transform(self, X: Any) -> NDArray[Any]:
        """Return one row per vector."""
        check_is_fitted(self)
        return as_vectors(X, self.n_values_)

    def get_feature_names_out(self, input_features: object = None) -> NDArray[Any]:
        """Return the numbers of the values."""
        check_is_fitted(self)
        return np.array([f"value {place}" for place in range(self.n_values_)], dtype=object)

    def get_state(self) -> dict[str, State]:
        """Return the length of the vectors."""
        check_is_fitted(self)
        return {"n_values": self.n_values_}

    @classmethod
    def from_state(cls, state: Mapping[str, State]) -> Self:
        """Build from :meth:`get_state`, checked."""
        self = cls()
        self.n_values_ = read_count(state, "n_values")
        return self


register("methods.VectorColumns", VectorColumns)


def as_vectors(X: Any, width: int | None = None) -> NDArray[Any]:
    """Return rows of numbers, or cells that are lists of equally many numbers, as one array."""
    array: NDArray[Any] = np.asarray(X)
    if array.dtype == object and (array.ndim == 1 or array.shape[1:] == (1,)):
        cells = array.ravel().tolist()
        sizes = {len(cell) if hasattr(cell, "__len__") else -1 for cell in cells}
        if len(sizes) != 1 or -1 in sizes or any(isinstance(cell, str) for cell in cells):
            got = "a missing one" if -1 in sizes else f"{len(sizes)} different lengths"
            raise InvalidArgumentError("vectors", "lists of equally many numbers", got)
        try:
            array = np.stack([np.asarray(cell, dtype=np.float64) for cell in cells])
        except (TypeError, ValueError):
            raise InvalidArgumentError("vectors", "lists of numbers", "other values") from None
    return cast("NDArray[Any]", check_features(array, "vectors", n_features=width))


class Views(TransformerMixin, BaseEstimator, auto_wrap_output_keys=None):
    """Columns of a data frame as views: a mapping of names to features, as a blend takes it.

    Each view has a separate transformer, as in scikit-learn's ``ColumnTransformer``. Its
    features are kept apart from those of the others, so each view has separate neighbours.

    Parameters
    ----------
    views : list of (str, transformer, columns)
        The name of a view; a transformer, ``"vectors"`` for columns of numbers or one column of
        lists of numbers, or ``"passthrough"``; the columns by name, number, slice or function. A
        single name passes one column to the transformer, as vectorizers of texts expect it.

    Attributes
    ----------
    transformers_ : list of ColumnTransformer
        One per view, fitted.

    Examples
    --------
    See :func:`make_views`.
    """

    transformers_: list[ColumnTransformer]

    def __init__(self, views: Sequence[tuple[str, Any, Any]]) -> None:
        self.views = views

    def fit(self, X: Any, y: object = None) -> Self:
        """Fit the transformer of each view."""
        self.fit_transform(X, y)
        return self

    @all_or_nothing
    def fit_transform(self, X: Any, y: object = None, **fit_params: object) -> dict[str, Any]:
        """Fit the transformer of each view, and return the views."""
        checked = _check_views(self.views)
        self.transformers_ = [
            ColumnTransformer(
                [(name, _transformer(transformer), columns)],
                sparse_threshold=1.0,
                verbose_feature_names_out=False,
            )
            for name, transformer, columns in checked
        ]
        names = [name for name, _, _ in checked]
        found = [each.fit_transform(X, y) for each in self.transformers_]
        return dict(zip(names, found, strict=True))

    def transform(self, X: Any) -> dict[str, Any]:
        """Return the views of a frame that has the columns of the training frame."""
        check_is_fitted(self)
        return {each.transformers[0][0]: each.transform(X) for each in self.transformers_}

    def get_feature_names_out(self, input_features: object = None) -> NDArray[Any]:
        """Return the names of the features of all views, one view after the other."""
        check_is_fitted(self)
        return np.concatenate([each.get_feature_names_out() for each in self.transformers_])

    def get_state(self) -> dict[str, State]:
        """Return the fitted transformers."""
        check_is_fitted(self)
        return {"transformers": [SklearnStep(each, name="views") for each in self.transformers_]}

    @classmethod
    def from_state(cls, state: Mapping[str, State]) -> Self:
        """Build from :meth:`get_state`, checked."""
        steps = read_part(state, "transformers", list)
        found = [step.estimator for step in steps if isinstance(step, SklearnStep)]
        if len(found) != len(steps) or not found:
            raise ModelFormatError("transformers: expected those of views")
        if not all(isinstance(each, ColumnTransformer) for each in found):
            raise ModelFormatError("transformers: expected those of columns")
        self = cls([each.transformers[0] for each in found])
        self.transformers_ = found
        return self


register("methods.Views", Views)


def _check_views(views: object) -> list[tuple[str, Any, Any]]:
    """Return (name, transformer, columns) of each view, or raise."""
    given = list(views) if isinstance(views, Sequence) and not isinstance(views, str) else []
    expected = "(name, transformer, columns) for each view, with different names"
    if not given or not all(isinstance(each, tuple) and len(each) == 3 for each in given):
        raise InvalidArgumentError("views", expected, type(views).__name__)
    names = [name for name, _, _ in given]
    if not all(isinstance(name, str) and name for name in names) or len(set(names)) < len(names):
        raise InvalidArgumentError("views", expected, repr(names))
    return given


def _transformer(given: Any) -> Any:
    """Return an unfitted transformer of a view."""
    if isinstance(given, str):
        return VectorColumns() if given == "vectors" else given
    return clone(given)


def make_views(*views: tuple[str, Any, Any]) -> Views:
    """Return a transformer that makes views of a data frame, for a :class:`vicinal.Blend`.

    Parameters
    ----------
    *views : (str, transformer, columns)
        The name of a view, its transformer and its columns; see :class:`Views`.

    Examples
    --------
    >>> import pandas as pd
    >>> from vicinal import Blend, make_pipeline
    >>> from vicinal.preprocess import TextVectorizer
    >>> titles = ["old red house", "deep blue sea", "small red boat", "blue boat"]
    >>> frame = pd.DataFrame({"title": titles, "vector": [[1, -1], [-1, 1], [-1, 0], [-1, 1]]})
    >>> views = make_views(("words", TextVectorizer(), "title"), ("vectors", "vectors", "vector"))
    >>> model = make_pipeline(views, Blend("mix"))
    >>> model = model.fit(frame, [["land"], ["water"], ["water"], ["water"]])
    >>> model[-1].views_
    {'words': 8, 'vectors': 2}
    >>> model.predict_names(frame[1:2])
    [['water']]
    """
    return Views(list(views))


class BesideVectors(TransformerMixin, BaseEstimator, auto_wrap_output_keys=None):
    """Rows that pass through steps of their own, and a vector for each of them, as two views.

    Takes a mapping of ``rows`` (texts, numbers or columns) and ``vectors``; this is how the command
    line puts a file of vectors beside a table.
    """

    steps_: list[tuple[str, Any]]
    n_values_: int

    def __init__(self, steps: Sequence[tuple[str, Any]], view: str = "words") -> None:
        self.steps = steps
        self.view = view

    def fit(self, X: Any, y: object = None) -> Self:
        """Fit the steps."""
        self.fit_transform(X, y)
        return self

    @all_or_nothing
    def fit_transform(self, X: Any, y: object = None, **fit_params: object) -> dict[str, Any]:
        """Fit the steps, and return the two views."""
        rows, vectors = X["rows"], as_vectors(X["vectors"])
        self.steps_ = [(name, clone(step)) for name, step in self.steps]
        for _, step in self.steps_:
            rows = step.fit_transform(rows, y)
        self.n_values_ = int(vectors.shape[1])
        return {self.view: rows, "vectors": vectors}

    def transform(self, X: Any) -> dict[str, Any]:
        """Return the two views."""
        check_is_fitted(self)
        rows = X["rows"]
        for _, step in self.steps_:
            rows = step.transform(rows)
        return {self.view: rows, "vectors": as_vectors(X["vectors"], self.n_values_)}

    @property
    def first(self) -> Any:
        """The first step; None without any."""
        return self.steps_[0][1] if self.steps_ else None

    @property
    def language_(self) -> str | None:
        """The language of the texts, if rows are texts."""
        language: str | None = getattr(self.first, "language_", None)
        return language

    def get_feature_names_out(self, input_features: object = None) -> NDArray[Any]:
        """Return the names of the features of the rows, then the numbers of the values."""
        check_is_fitted(self)
        named = [step for _, step in self.steps_ if not isinstance(step, OneToOneFeatureMixin)]
        last = named[-1] if named else None
        own = input_features if isinstance(last, ColumnTransformer) else None
        rows: Any = [] if last is None else last.get_feature_names_out(own)
        values = [f"vectors {place}" for place in range(self.n_values_)]
        return np.array([*rows, *values], dtype=object)

    def get_state(self) -> dict[str, State]:
        """Return the fitted steps."""
        check_is_fitted(self)
        return {
            "names": [name for name, _ in self.steps_],
            "steps": [as_part(name, step) for name, step in self.steps_],
            "view": self.view,
            "n_values": self.n_values_,
        }

    @classmethod
    def from_state(cls, state: Mapping[str, State]) -> Self:
        """Build from :meth:`get_state`, checked."""
        names, parts = read_names(state, "names"), read_part(state, "steps", list)
        steps = [restored(part) for part in parts if isinstance(part, Saveable)]
        if len(steps) != len(names) or not all(hasattr(step, "transform") for step in steps):
            raise ModelFormatError("steps: expected as many transformers as names")
        self = cls(list(zip(names, steps, strict=True)), read_plain(state, "view", str))
        self.steps_ = list(self.steps)
        self.n_values_ = read_count(state, "n_values")
        return self


register("methods.BesideVectors", BesideVectors)
