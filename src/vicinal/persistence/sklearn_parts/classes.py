"""Where scikit-learn keeps the classes that can be saved; loaded when first needed."""

from importlib import import_module
from typing import Any

HOMES = {
    "CountVectorizer": "sklearn.feature_extraction.text",
    "TfidfVectorizer": "sklearn.feature_extraction.text",
    "TfidfTransformer": "sklearn.feature_extraction.text",
    "StandardScaler": "sklearn.preprocessing",
    "MinMaxScaler": "sklearn.preprocessing",
    "MaxAbsScaler": "sklearn.preprocessing",
    "Normalizer": "sklearn.preprocessing",
    "OneHotEncoder": "sklearn.preprocessing",
    "TruncatedSVD": "sklearn.decomposition",
    "FeatureUnion": "sklearn.pipeline",
    "ColumnTransformer": "sklearn.compose",
    "Pipeline": "sklearn.pipeline",
}


def sklearn_class(name: str) -> Any:
    """Return a class by name.

    Examples
    --------
    >>> sklearn_class("Normalizer")()
    Normalizer()
    """
    return getattr(import_module(HOMES[name]), name)
