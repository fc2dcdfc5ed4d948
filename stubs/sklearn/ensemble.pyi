from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

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
