from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

class GridSearchCV(BaseEstimator):
    cv_results_: dict[str, Any]
    def __init__(
        self,
        estimator: BaseEstimator,
        param_grid: Mapping[str, Sequence[Any]] | Sequence[Mapping[str, Sequence[Any]]],
        *,
        scoring: Callable[[Any, Any, Any], Mapping[str, float]] | str | None = None,
        n_jobs: int | None = None,
        refit: bool | str = True,
        cv: Any = None,
    ) -> None: ...
    def fit(self, X: Any, y: Any = None) -> Self: ...

class KFold:
    def __init__(
        self, n_splits: int = 5, *, shuffle: bool = False, random_state: object = None
    ) -> None: ...
    def split(
        self, X: object, y: object = None, groups: object = None
    ) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]: ...
