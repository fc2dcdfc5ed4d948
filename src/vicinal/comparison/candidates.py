"""The methods to compare: names, or any scikit-learn multi-label classifier."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from sklearn.base import clone

from vicinal import baselines
from vicinal._base.errors import InvalidArgumentError
from vicinal._base.validation import check_sequence
from vicinal.estimators import NeighborEstimator
from vicinal.estimators.method import make_method
from vicinal.results.digest import plain
from vicinal.selection.grid import ANY_SEARCH, Search, search_of

Methods: TypeAlias = Sequence[str] | Mapping[str, Any]
BASELINES = tuple(getattr(baselines, name).method.name for name in baselines.__all__)
"""The baselines by name: importing them registers them."""
NOT_KEPT = frozenset({"n_jobs", "verbose"})
"""Parameters that do not affect results."""


@dataclass(frozen=True, eq=False)
class Candidate:
    """A method to compare.

    Parameters
    ----------
    name : str
        Its name in tables.
    estimator : scikit-learn estimator
        Never fitted itself; it is cloned for every fit.
    """

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
        kept = {name: plain(params[name]) for name in params if _last(name) not in NOT_KEPT}
        return {"estimator": type(self.estimator).__name__, **kept}


def read_candidates(methods: Methods) -> list[Candidate]:
    """Return the validated methods to compare.

    Parameters
    ----------
    methods : sequence of str, or mapping of str to str or estimator
        Names of methods and baselines, or ``module:Class``; or a mapping from display names to such
        a name or an estimator.

    Examples
    --------
    >>> [each.n_neighbors for each in read_candidates(["mlknn", "feature-knn"])]
    [10, 0]
    """
    if isinstance(methods, str):
        methods = [methods]
    given: Mapping[str, Any] = (
        methods
        if isinstance(methods, Mapping)
        else {name: name for name in check_sequence("methods", methods)}
    )
    if len(given) < 1:
        raise InvalidArgumentError("methods", "at least one method", "none")
    return [Candidate(str(name), _estimator(what)) for name, what in given.items()]


def _estimator(what: Any) -> Any:
    """Return the estimator with a name, or the given estimator."""
    if isinstance(what, str):
        return make_method(what, {})
    offers_all = all(hasattr(what, name) for name in ("fit", "predict", "get_params"))
    if isinstance(what, type) or not offers_all:
        raise InvalidArgumentError("methods", "names of methods, or estimators", repr(what))
    return what


def _last(name: str) -> str:
    """Return the last component of a nested parameter's name."""
    return name.rpartition("__")[2]
