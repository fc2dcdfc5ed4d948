from typing import Any

class Indexer:
    @staticmethod
    def gen(feature_mat: Any, indexer_type: str = ..., **params: Any) -> Any: ...

class LabelEmbeddingFactory:
    @staticmethod
    def create(Y: Any, X: Any, method: str = ...) -> Any: ...
