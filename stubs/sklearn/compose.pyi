from collections.abc import Sequence
from typing import Any

from sklearn.base import BaseEstimator, TransformerMixin

class ColumnTransformer(TransformerMixin, BaseEstimator):
    def __init__(
        self,
        transformers: Sequence[tuple[str, Any, Any]],
        *,
        remainder: Any = ...,
        sparse_threshold: float = ...,
    ) -> None: ...
