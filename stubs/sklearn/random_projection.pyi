from sklearn.base import BaseEstimator, TransformerMixin

class GaussianRandomProjection(TransformerMixin, BaseEstimator):
    def __init__(
        self, n_components: int | str = "auto", *, random_state: object = None
    ) -> None: ...
