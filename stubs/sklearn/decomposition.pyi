from sklearn.base import TransformerMixin

class PCA(TransformerMixin):
    def __init__(self, n_components: int, *, random_state: int | None = ...) -> None: ...
