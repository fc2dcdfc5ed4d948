"""The methods to compare: names, or any scikit-learn multi-label classifier."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self, TypeAlias

from scipy import sparse
from sklearn.base import BaseEstimator, clone

from vicinal import baselines
from vicinal._core.arrays import Csr, Int
from vicinal._core.checks import check_sequence
from vicinal._core.labels import indicator_of, read_labels
from vicinal._core.validation import check_features
from vicinal.datasets import Dataset, is_table, load, read_content
from vicinal.datasets.catalogue import known
from vicinal.errors import InvalidArgumentError
from vicinal.methods import NeighborEstimator
from vicinal.methods.pipeline import estimator_of
from vicinal.methods.registry import make_method
from vicinal.preprocess import make_steps
from vicinal.results import data_hash, digest_of, plain, source_hash
from vicinal.scores import Scores
from vicinal.selection import tune
from vicinal.selection.folds import Step, count_words, is_texts, read_steps
from vicinal.selection.grid import ANY_SEARCH, Search, search_of

Methods: TypeAlias = Sequence[str] | Mapping[str, Any]
BASELINES = tuple(getattr(baselines, name).method.name for name in baselines.__all__)
"""The baselines by name: importing them registers them."""
NOT_KEPT = frozenset({"n_jobs", "verbose"})
"""Parameters that do not affect results."""


@dataclass(frozen=True, eq=False)
class Candidate:
    """A method to compare."""

    name: str
    estimator: Any

    @property
    def n_neighbors(self) -> int:
        """The number of neighbours it uses from a shared graph; 0 for methods that use none."""
        if not isinstance(self.estimator, NeighborEstimator):
            return 0
        return self.estimator.needed_neighbors()

    @property
    def search(self) -> Search:
        """How its neighbours are searched; for a method that uses none, any search works."""
        return search_of(self.estimator) if self.n_neighbors else ANY_SEARCH

    def fresh(self, seed: int | None = None, n_jobs: int | None = None) -> Any:
        """Return an unfitted copy; `seed` replaces every random_state that is None."""
        copy = clone(self.estimator)
        params = copy.get_params()
        changed: dict[str, object] = {
            name: seed
            for name, value in params.items()
            if value is None and name.rpartition("__")[2] == "random_state"
        }
        if n_jobs is not None and "n_jobs" in params:
            changed["n_jobs"] = n_jobs
        return copy.set_params(**changed) if changed else copy

    def settings(self) -> dict[str, object]:
        """Return the parameters on which results depend, as plain values."""
        params = self.estimator.get_params()
        kept = {
            name: plain(value)
            for name, value in params.items()
            if name.rpartition("__")[2] not in NOT_KEPT
        }
        return {"estimator": type(self.estimator).__name__, **kept}

    def source(self, steps: Sequence[Step] = ()) -> str:
        """Return a hash of the code of the method and of preprocessing from outside the library."""
        return source_hash(self.estimator, *(step for _, step in steps))


def read_candidates(methods: Methods) -> list[Candidate]:
    """Return the validated methods to compare."""
    if isinstance(methods, str):
        methods = [methods]
    if not isinstance(methods, Mapping):
        methods = {name: name for name in check_sequence("methods", methods)}
    if not methods:
        raise InvalidArgumentError("methods", "at least one method", "none")
    return [Candidate(str(name), _estimator(what)) for name, what in methods.items()]


def _estimator(what: Any) -> Any:
    """Return the estimator with a name, or the given estimator."""
    if isinstance(what, str):
        return make_method(what, {})
    offers_all = all(hasattr(what, name) for name in ("fit", "predict", "get_params"))
    if isinstance(what, type) or not offers_all:
        raise InvalidArgumentError("methods", "names of methods, or estimators", repr(what))
    return what


@dataclass(eq=False, repr=False)
class Tuned(BaseEstimator):
    """Tune a method's settings by cross-validation on the rows it is fitted on.

    Parameters
    ----------
    method : str
        A name of ``METHODS``, or ``module:Class``.
    metric : str
        The metric to optimise.
    cv : int
        Number of inner folds.
    params : mapping of parameter to value, or None
        Parameters that are the same in every setting.
    fast : bool
        Try every third value first, then those around the best.
    random_state : int or None
        Random seed for the inner folds and for stochastic methods.
    n_jobs : int or None
        Number of threads; None uses all available ones.

    Attributes
    ----------
    chosen_ : dict of parameter to value
    model_ : estimator
        Fitted on all rows with the chosen setting.

    Examples
    --------
    >>> X = [[0.0], [0.1], [0.2], [1.0], [1.1], [1.2], [2.0], [2.1]]
    >>> Y = [[1, 0]] * 3 + [[0, 1]] * 3 + [[1, 0]] * 2
    >>> Tuned("brknn", "hamming-loss", cv=2).fit(X, Y).chosen_
    {'variant': 'base', 'n_neighbors': 1}
    """

    method: str
    metric: str
    cv: int = 5
    params: Mapping[str, object] | None = None
    fast: bool = True
    random_state: int | None = None
    n_jobs: int | None = None

    def fit(self, X: object, Y: object) -> Self:
        """Choose the settings by cross-validation, then fit on all rows."""
        names = ("metric", "cv", "params", "fast", "random_state", "n_jobs")
        given = {name: getattr(self, name) for name in names}
        given |= {"metrics": [self.metric], "progress": False, "preprocess": None}
        result = tune(self.method, X, Y, **given)
        if not result.complete or result.estimator is None:
            raise KeyboardInterrupt  # tuning would return the best setting so far
        self.model_: Any = estimator_of(result.estimator)
        self.chosen_ = dict(result.best[self.metric].params)
        return self

    def predict(self, X: object) -> Any:
        """Return the label indicator of each row."""
        return self.model_.predict(X)

    def scores(self, X: object) -> Scores:
        """Return the scores of every row and label."""
        found: Scores = self.model_.scores(X)
        return found

    def decide(self, scores: Scores) -> Csr:
        """Return the label indicator that follows from scores."""
        decided: Csr = self.model_.decide(scores)
        return decided


@dataclass(frozen=True, eq=False)
class ComparedData:
    """Rows, labels and the steps that turn rows into features."""

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
    """Return the data of a comparison."""
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
    names = content.label_names
    return _texts(list(content.X), indicator_of(content.labels, names), names, str(path))


def _pair(given: Sequence[Any], name: str) -> ComparedData:
    """Return the rows and labels of a pair (X, Y)."""
    if len(given) != 2:
        expected = "a data set, a name, a file or a pair (X, Y)"
        raise InvalidArgumentError(f"datasets[{name!r}]", expected, f"{len(given)} parts")
    X, Y = given
    if is_texts(X):
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
    digest = digest_of(repr(X), Y)[:16]
    return ComparedData(X, Y, names, source, steps=[count_words()], digest=digest)
