from collections.abc import Callable, Iterable, Sequence
from typing import Any, Self

class CountVectorizer:
    vocabulary_: dict[str, int]
    def __init__(
        self,
        *,
        analyzer: str | Callable[[Any], Iterable[str]] = ...,
        lowercase: bool = ...,
        token_pattern: str | None = ...,
        ngram_range: tuple[int, int] = ...,
        stop_words: str | list[str] | None = ...,
        min_df: float = ...,
        max_df: float = ...,
        max_features: int | None = ...,
        vocabulary: Sequence[str] | None = ...,
        binary: bool = ...,
        dtype: Any = ...,
    ) -> None: ...
    def fit_transform(self, raw_documents: Iterable[Any], y: Any = None) -> Any: ...
    def transform(self, raw_documents: Iterable[Any]) -> Any: ...
    def get_feature_names_out(self, input_features: Any = None) -> Any: ...
    def get_stop_words(self) -> frozenset[str] | None: ...

class TfidfTransformer:
    def __init__(self, *, norm: str | None = ..., use_idf: bool = ...) -> None: ...
    def fit(self, X: Any, y: Any = None) -> Self: ...
    def fit_transform(self, X: Any, y: Any = None) -> Any: ...
    def transform(self, X: Any, copy: bool = True) -> Any: ...
