from collections.abc import Iterable
from typing import Any

class CountVectorizer:
    vocabulary_: dict[str, int]
    def __init__(
        self,
        *,
        token_pattern: str | None = ...,
        ngram_range: tuple[int, int] = ...,
        stop_words: str | list[str] | None = ...,
        min_df: float = ...,
        max_df: float = ...,
        binary: bool = ...,
        dtype: Any = ...,
    ) -> None: ...
    def fit_transform(self, raw_documents: Iterable[str], y: Any = None) -> Any: ...
    def transform(self, raw_documents: Iterable[str]) -> Any: ...
    def get_feature_names_out(self, input_features: Any = None) -> Any: ...
