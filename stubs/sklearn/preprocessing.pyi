from sklearn.base import BaseEstimator, TransformerMixin

class OneHotEncoder(TransformerMixin, BaseEstimator):
    def __init__(self, *, handle_unknown: str = ...) -> None: ...
