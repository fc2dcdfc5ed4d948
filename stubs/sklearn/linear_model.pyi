from typing import Any, Self

from numpy.typing import NDArray

class LogisticRegression:
    def __init__(
        self, *, C: float = 1.0, solver: str = "lbfgs", random_state: int | None = None
    ) -> None: ...
    def fit(self, X: Any, y: Any) -> Self: ...
    def predict_proba(self, X: Any) -> NDArray[Any]: ...
