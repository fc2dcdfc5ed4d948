from sklearn.base import BaseEstimator, TransformerMixin

class PCA(TransformerMixin, BaseEstimator):
    def __init__(self, n_components: int | None = None, *, random_state: object = None) -> None: ...
