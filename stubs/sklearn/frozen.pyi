from typing import Any

from sklearn.base import BaseEstimator

class FrozenEstimator(BaseEstimator):
    def __init__(self, estimator: Any) -> None: ...
