from typing import Any, Self

from numpy.typing import NDArray
from sklearn.base import BaseEstimator

class KMeans(BaseEstimator):
    cluster_centers_: NDArray[Any]
    def __init__(self, n_clusters: int = 8, *, random_state: Any = None) -> None: ...
    def fit(self, X: Any, y: Any = None) -> Self: ...

class MiniBatchKMeans(BaseEstimator):
    cluster_centers_: NDArray[Any]
    def __init__(self, n_clusters: int = 8, *, random_state: Any = None) -> None: ...
    def fit(self, X: Any, y: Any = None) -> Self: ...
