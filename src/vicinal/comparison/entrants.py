"""Who is compared: methods by name, or any multi-label estimator of scikit-learn's kind."""

import hashlib
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from sklearn.base import clone

from vicinal._base.errors import InvalidArgumentError
from vicinal._base.validation import check_sequence
from vicinal.baselines import (
    ADTBoostMH,
    BinaryRelevanceSVM,
    BoosTexter,
    LabelFrequency,
    RankSVM,
)
from vicinal.estimators import METHODS, NeighborEstimator
from vicinal.estimators.stages import neighbors_of
from vicinal.selection.store import full_text

Methods: TypeAlias = Sequence[str] | Mapping[str, Any]
KNOWN: Mapping[str, Callable[..., Any]] = {
    **METHODS,
    "boostexter": BoosTexter,
    "adtboost": ADTBoostMH,
    "rank-svm": RankSVM,
    "br-svm": BinaryRelevanceSVM,
    "frequency": LabelFrequency,
}
"""Methods by name: ours, and those that the papers compare them with."""
NOT_KEPT = frozenset({"n_jobs", "verbose"})
"""Parameters on which no result depends."""


@dataclass(frozen=True, eq=False)
class Entrant:
    """A method to compare.

    Parameters
    ----------
    name : str
        What tables call it.
    estimator : scikit-learn estimator
        Never fitted itself; copies are.
    """

    name: str
    estimator: Any

    @property
    def n_neighbors(self) -> int:
        """How many neighbours it takes from a shared graph; 0 for methods that take none."""
        if not isinstance(self.estimator, NeighborEstimator):
            return 0
        return neighbors_of(self.estimator)

    def fresh(self, seed: int | None = None, n_jobs: int | None = None) -> Any:
        """Return an unfitted copy; `seed` goes where a parameter left chance open."""
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


def read_entrants(methods: Methods) -> list[Entrant]:
    """Return the methods to compare, checked.

    Parameters
    ----------
    methods : sequence of str, or mapping of str to str or estimator
        Names of ``KNOWN``; or what to call them, and such a name or an estimator.

    Examples
    --------
    >>> [entrant.n_neighbors for entrant in read_entrants(["mlknn", "feature-knn"])]
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
    return [Entrant(str(name), _estimator(what)) for name, what in given.items()]


def plain(value: object) -> object:
    """Return a parameter as JSON has it, so that equal parameters are equal and others are not.

    Arrays become the hash of their bytes; objects their text, without their address.

    Examples
    --------
    >>> plain(np.int64(3)), plain((1, None)), plain(abs)
    (3, [1, None], '<built-in function abs>')
    """
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return repr(value)
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, Mapping):
        return {str(key): plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [plain(each) for each in value]
    if isinstance(value, np.ndarray):
        digest = hashlib.sha256(np.ascontiguousarray(value).tobytes()).hexdigest()[:16]
        return f"{value.dtype} of shape {value.shape}, {digest}"
    return re.sub(r" at 0x[0-9a-f]+", "", full_text(value))


def _estimator(what: Any) -> Any:
    """Return the estimator of a name, or the one given."""
    if isinstance(what, str):
        if what not in KNOWN:
            known = ", ".join(KNOWN)
            raise InvalidArgumentError("methods", f"names of methods ({known})", repr(what))
        return KNOWN[what]()
    offers_all = all(hasattr(what, name) for name in ("fit", "predict", "get_params"))
    if isinstance(what, type) or not offers_all:
        raise InvalidArgumentError("methods", "names of methods, or estimators", repr(what))
    return what


def _last(name: str) -> str:
    """Return the name of a nested parameter without those of its owners."""
    return name.rpartition("__")[2]
