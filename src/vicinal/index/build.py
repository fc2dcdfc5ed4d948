"""Create indexes: the best one for the data, a named one, or a caller's own."""

from collections.abc import Callable
from typing import cast

from scipy import sparse

from vicinal._core.arrays import Features
from vicinal._core.validation import check_features
from vicinal.distances import get_distance
from vicinal.errors import InvalidArgumentError, did_you_mean
from vicinal.index.approximate import ApproximateIndex
from vicinal.index.dense import DenseIndex
from vicinal.index.inverted import InvertedIndex
from vicinal.index.protocol import Index, IndexFactory
from vicinal.index.reference import ReferenceIndex
from vicinal.index.segmented import SegmentedAlgorithm


def exact_index(X: object, metric: str, n_jobs: int | None = None) -> Index:
    """Return an exact index over the rows of `X`: inverted if `X` is sparse, otherwise dense."""
    if get_distance(metric).native_code is None:
        return ReferenceIndex(X, metric)
    if sparse.issparse(X):
        return InvertedIndex(X, metric, n_jobs=n_jobs)
    return DenseIndex(X, metric, n_jobs=n_jobs)


def small_world_index(X: object, metric: str, n_jobs: int | None = None) -> Index:
    """Return an approximate index over dense rows, and an exact one over sparse rows."""
    if sparse.issparse(X):
        return exact_index(X, metric, n_jobs)
    return ApproximateIndex(X, metric, n_jobs=n_jobs, measures_once=True)


_FACTORIES: dict[str, IndexFactory] = {
    "auto": exact_index,
    "inverted": lambda X, metric, n_jobs: InvertedIndex(X, metric, n_jobs=n_jobs),
    "dense": lambda X, metric, n_jobs: DenseIndex(X, metric, n_jobs=n_jobs),
    "approximate": lambda X, metric, n_jobs: ApproximateIndex(X, metric, n_jobs=n_jobs),
    "hnsw": small_world_index,
    "reference": lambda X, metric, n_jobs: ReferenceIndex(X, metric),
    SegmentedAlgorithm.saved_as: SegmentedAlgorithm(),
}
EXACT = ("auto", "inverted", "dense")
"""Names of the exact indexes in memory."""
_OURS = frozenset(_FACTORIES)
"""Built-in indexes validate their input and need no further checks."""


def register_index(name: str, factory: IndexFactory) -> None:
    """Register an index under a name for ``algorithm=``. Models that use it can then be saved.

    Parameters
    ----------
    name : str
        A name that no other factory uses.
    factory : callable
        ``factory(X, metric, n_jobs)`` returns an :class:`~vicinal.index.protocol.Index`.
    """
    if _FACTORIES.setdefault(name, factory) is not factory:
        raise InvalidArgumentError("name", "a name that is not taken", repr(name))


def algorithm_names() -> tuple[str, ...]:
    """Return the names that ``algorithm=`` accepts."""
    return tuple(_FACTORIES)


def index_factory(algorithm: object) -> IndexFactory:
    """Return the factory for ``algorithm=``, given a registered name or a factory."""
    if isinstance(algorithm, str) and algorithm in _FACTORIES:
        factory = _FACTORIES[algorithm]
        return factory if algorithm in _OURS else _checked(factory)
    if callable(algorithm):
        return _checked(algorithm)
    names = ", ".join(map(repr, _FACTORIES))
    expected = f"one of {names} or a factory (X, metric, n_jobs) -> Index"
    hint = did_you_mean(algorithm, _FACTORIES)
    raise InvalidArgumentError("algorithm", expected, repr(algorithm), hint)


def algorithm_name(algorithm: object) -> str:
    """Return the name that represents ``algorithm=`` in a saved model."""
    for name, factory in _FACTORIES.items():
        if algorithm == name or algorithm is factory:
            return name
        if getattr(algorithm, "saved_as", None) == name:  # such as SegmentedAlgorithm(max_memory)
            return name
    raise InvalidArgumentError(
        "algorithm",
        "a name, or a factory registered with vicinal.index.register_index, to save the model",
        repr(algorithm),
    )


def can_forget(algorithm: object, metric: str) -> bool:
    """Tell whether the indexes of ``algorithm=`` are known to remove rows, before one is built."""
    factory = _FACTORIES.get(algorithm) if isinstance(algorithm, str) else algorithm
    if isinstance(factory, SegmentedAlgorithm) or getattr(factory, "is_mutable", None) is True:
        return True  # a class of indexes may declare it
    return algorithm in EXACT and get_distance(metric).native_code is not None


def build_index(
    X: object, metric: str, n_jobs: int | None = None, algorithm: object = "auto"
) -> Index:
    """Return an index over the rows of `X`.

    Parameters
    ----------
    X : ndarray or sparse array, shape (n, m)
        Rows to search.
    metric : str
        Name of a distance (:mod:`vicinal.distances`).
    n_jobs : int or None
        Number of threads; None uses all available ones.
    algorithm : str or callable
        ``"auto"`` for an exact index (inverted if `X` is sparse, otherwise dense), another
        registered name, or a factory ``(X, metric, n_jobs) -> Index``.

    Examples
    --------
    >>> build_index([[0.0], [1.0], [5.0]], "euclidean").query([[2.0]], 1).ids
    array([[1]], dtype=int32)
    """
    name = get_distance(metric).name
    rows = X if isinstance(algorithm, str) and algorithm in _OURS else check_features(X)
    return index_factory(algorithm)(cast("Features", rows), name, n_jobs)


def _checked(factory: Callable[..., object]) -> IndexFactory:
    """Return a caller's factory, wrapped in a check of the index that it builds."""

    def build(X: Features, metric: str, n_jobs: int | None) -> Index:
        index = factory(X, metric, n_jobs)
        if not isinstance(index, Index):
            missing = [name for name in _MEMBERS if not hasattr(index, name)]
            raise InvalidArgumentError(
                "algorithm",
                "a factory of indexes (vicinal.index.Index)",
                f"a {type(index).__name__} without {', '.join(missing)}",
            )
        if (index.metric, index.n_rows, index.n_features) != (metric, *X.shape):
            raise InvalidArgumentError(
                "algorithm",
                f"an index of {X.shape[0]} rows × {X.shape[1]} features by {metric}",
                f"{index.n_rows} × {index.n_features} by {index.metric}",
            )
        return index

    return build


_MEMBERS = ("metric", "n_rows", "n_features", "nbytes", "query", "query_self")
