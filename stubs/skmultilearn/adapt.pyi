from typing import Any, Self

class MLkNN:
    def __init__(
        self,
        k: int = 10,
        s: float = 1.0,
        ignore_first_neighbours: int = 0,
        n_jobs: int | None = None,
    ) -> None: ...
    def fit(self, X: Any, y: Any) -> Self: ...
    def predict(self, X: Any) -> Any: ...
