from collections.abc import Callable, Mapping, Sequence
from typing import Any, Self

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
