from collections.abc import Iterable
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

class CountVectorizer:
    vocabulary_: dict[str, int]
    def __init__(
        self,
        *,
        lowercase: bool = True,
        token_pattern: str = ...,
        max_features: int | None = None,
        min_df: float | int = 1,
        vocabulary: Any = None,
        binary: bool = False,
        dtype: Any = ...,
    ) -> None: ...
    def fit_transform(self, raw_documents: Iterable[str], y: Any = None) -> Any: ...
    def transform(self, raw_documents: Iterable[str]) -> Any: ...
    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]: ...

class TfidfTransformer:
    def __init__(
        self,
        *,
        norm: str | None = "l2",
        use_idf: bool = True,
        smooth_idf: bool = True,
        sublinear_tf: bool = False,
    ) -> None: ...
    def fit(self, X: Any, y: Any = None) -> Self: ...
    def transform(self, X: Any, copy: bool = True) -> Any: ...
