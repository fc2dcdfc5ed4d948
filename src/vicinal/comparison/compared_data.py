"""The data of a comparison: data sets, files, pairs (X, Y) or texts."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from scipy import sparse

from vicinal._base.arrays import Csr, Int
from vicinal._base.errors import InvalidArgumentError
from vicinal._base.labels import indicator_of, read_labels
from vicinal._base.validation import check_features
from vicinal.datasets import Dataset, is_table, load, read_content
from vicinal.datasets.catalogue.registry import known
from vicinal.preprocess import TextVectorizer, make_steps
from vicinal.results.digest import digest_of
from vicinal.results.provenance import data_hash
from vicinal.selection.fold_source import Step
from vicinal.selection.problem import read_steps


@dataclass(frozen=True, eq=False)
class ComparedData:
    """Rows, labels and the steps that turn rows into features.

    Parameters
    ----------
    X : ndarray, csr_array, data frame, or list of str
        Rows as the caller passed them.
    Y : csr_array of int32
        Label indicator.
    label_names : tuple of str
    source : str
        Name of the data.
    train, test : ndarray of int64 or None
        Rows of a published split.
    steps : sequence of (name, transformer), or None
        Steps that turn rows into features before the comparison's own preprocessing, which is then
        skipped unless it is named; None if rows are already features.
    digest : str
        Equal only for equal data.
    """

    X: Any
    Y: Csr
    label_names: tuple[str, ...]
    source: str
    train: Int | None = None
    test: Int | None = None
    steps: Sequence[Step] | None = None
    digest: str = ""

    def preprocessing(self, preprocess: object) -> list[Step]:
        """Return the steps that each fold fits on its training rows."""
        if not isinstance(preprocess, str):
            return read_steps(preprocess)
        first = [] if self.steps is None else list(self.steps)
        is_sparse = self.steps is not None or sparse.issparse(self.X)
        return [*first, *make_steps(preprocess, is_sparse)]


def compared_data(given: Any, name: str) -> ComparedData:
    """Return the data of a comparison.

    Parameters
    ----------
    given : Dataset, ComparedData, str or path, or (X, Y)
        Rows `X` may be texts; labels `Y` an indicator or names.
    name : str
        Name of the data in error messages.

    Examples
    --------
    >>> found = compared_data((["red apple", "green pear"], [["apple"], ["pear"]]), "fruit")
    >>> found.label_names, [step for step, _ in found.preprocessing("auto")]
    (('apple', 'pear'), ['words'])
    """
    if isinstance(given, ComparedData):
        return given
    if isinstance(given, tuple | list):
        return _pair(given, name)
    if not isinstance(given, Dataset):
        if not known(str(given)) and is_table(given):
            return _table(given)
        given = load(given)
    return ComparedData(
        given.X,
        given.Y,
        given.label_names,
        given.source,
        given.train,
        given.test,
        digest=data_hash(given),
    )


def _table(path: Any) -> ComparedData:
    """Read a table: texts stay texts, everything else becomes features."""
    content = read_content(path)
    if not content.reading.reads_text_only or content.labels is None:
        return compared_data(load(path), str(path))
    names = content.reading.label_columns or tuple(
        sorted({label for row in content.labels for label in row})
    )
    return _texts(list(content.X), indicator_of(content.labels, names), names, str(path))


def _pair(given: Sequence[Any], name: str) -> ComparedData:
    """Return the rows and labels of a pair (X, Y)."""
    if len(given) != 2:
        expected = "a data set, a name, a file or a pair (X, Y)"
        raise InvalidArgumentError(f"datasets[{name!r}]", expected, f"{len(given)} parts")
    X, Y = given
    if _is_texts(X):
        labels = read_labels(Y, len(X))
        return _texts(list(map(str, X)), labels.matrix, labels.names, name)
    if hasattr(X, "iloc"):  # a frame may have columns that only a step of the caller's can read
        labels = read_labels(Y, len(X))
        digest = digest_of(repr(X.to_numpy().tolist()), labels.matrix)
        return ComparedData(X, labels.matrix, labels.names, name, digest=digest[:16])
    features = check_features(X)
    labels = read_labels(Y, features.shape[0])
    digest = digest_of(features, labels.matrix)
    return ComparedData(features, labels.matrix, labels.names, name, digest=digest[:16])


def _texts(X: list[str], Y: Csr, names: tuple[str, ...], source: str) -> ComparedData:
    """Return texts, whose words are counted as ``vicinal train`` counts them."""
    words = TextVectorizer(weighting="counts", tokens="unicode")
    digest = digest_of(repr(X), Y)[:16]
    return ComparedData(X, Y, names, source, steps=[("words", words)], digest=digest)


def _is_texts(X: Any) -> bool:
    """Tell whether rows are texts."""
    if isinstance(X, list | tuple):
        return bool(X) and all(isinstance(row, str) for row in X)
    is_column = len(getattr(X, "shape", ())) == 1
    return is_column and all(isinstance(row, str) for row in X)
