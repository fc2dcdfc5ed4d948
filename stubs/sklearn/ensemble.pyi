from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

class HistGradientBoostingClassifier:
    n_iter_: int
    def __init__(
        self,
        *,
        learning_rate: float = 0.1,
        max_iter: int = 100,
        max_leaf_nodes: int | None = 31,
        min_samples_leaf: int = 20,
        l2_regularization: float = 0.0,
        early_stopping: str | bool = "auto",
        n_iter_no_change: int = 10,
        random_state: int | None = None,
    ) -> None: ...
    def fit(self, X: Any, y: Any, *, X_val: Any = None, y_val: Any = None) -> Self: ...
    def decision_function(self, X: Any) -> NDArray[np.float64]: ...
    def predict_proba(self, X: Any) -> NDArray[np.float64]: ...

class RandomForestClassifier:
    def __init__(
        self,
        n_estimators: int = 100,
        *,
        min_samples_leaf: int = 1,
        n_jobs: int | None = None,
        random_state: int | None = None,
    ) -> None: ...
    def fit(self, X: Any, y: Any) -> Self: ...
    def predict_proba(self, X: Any) -> list[NDArray[np.float64]]: ...
