"""``CountVectorizer``, ``TfidfVectorizer``, ``TfidfTransformer``."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from vicinal._core.state import State, read_array, read_names, read_plain
from vicinal.errors import ModelFormatError
from vicinal.persistence.sklearn_parts.codec import (
    AsPart,
    Codec,
    columns_state,
    made,
    params_state,
    restore_columns,
)


def _words_state(model: Any, as_part: AsPart) -> dict[str, State]:
    """Return the parameters and the words in the order of the columns."""
    words = sorted(model.vocabulary_, key=model.vocabulary_.__getitem__)
    return {
        "params": params_state(model, left_out=("vocabulary",)),
        "is_fixed": bool(model.fixed_vocabulary_),
        "words": [str(word) for word in words],
    }


def _build_words(kind: str, state: Mapping[str, State]) -> Any:
    """Return a vectorizer that knows its words."""
    model = made(kind, state)
    words = read_names(state, "words")
    vocabulary = {word: column for column, word in enumerate(words)}
    if len(vocabulary) != len(words) or not words:
        raise ModelFormatError("words: expected at least one word, and each once")
    model.fixed_vocabulary_ = read_plain(state, "is_fixed", bool)
    if model.fixed_vocabulary_:
        model.vocabulary = vocabulary
    model.vocabulary_ = vocabulary
    model.build_analyzer()(" ")  # which checks the parameters
    return model


def _tfidf_state(model: Any, as_part: AsPart) -> dict[str, State]:
    """Return words and their weights; there are no weights where ``use_idf`` is False."""
    idf = np.asarray(model.idf_, dtype=np.float64) if model.use_idf else None
    return {**_words_state(model, as_part), "idf": idf}


def _build_tfidf(state: Mapping[str, State]) -> Any:
    """Return a vectorizer that knows its words and their weights."""
    model = _build_words("TfidfVectorizer", state)
    transformer = _transformer(
        {"norm": model.norm, "use_idf": model.use_idf, "smooth_idf": model.smooth_idf}
        | {"sublinear_tf": model.sublinear_tf},
        state,
        len(model.vocabulary_),
    )
    model._tfidf = transformer
    return model


def _transformer(params: Mapping[str, Any], state: Mapping[str, State], n_words: int) -> Any:
    """Return a fitted ``TfidfTransformer``."""
    from sklearn.feature_extraction.text import TfidfTransformer

    transformer: Any = TfidfTransformer(**params)
    transformer.n_features_in_ = n_words
    if transformer.use_idf:
        transformer.idf_ = read_array(state, "idf", np.float64, (n_words,))
    return transformer


def _transformer_state(model: Any, as_part: AsPart) -> dict[str, State]:
    """Return parameters and weights."""
    idf = np.asarray(model.idf_, dtype=np.float64) if model.use_idf else None
    return {"params": params_state(model), "idf": idf, **columns_state(model)}


def _build_transformer(state: Mapping[str, State]) -> Any:
    """Return a fitted ``TfidfTransformer`` that knows its columns."""
    model = made("TfidfTransformer", state)
    n_words = restore_columns(model, state) or 0
    fitted = _transformer(model.get_params(), state, n_words)
    restore_columns(fitted, state)
    return fitted


CODECS = {
    "CountVectorizer": Codec(_words_state, lambda state: _build_words("CountVectorizer", state)),
    "TfidfVectorizer": Codec(_tfidf_state, _build_tfidf),
    "TfidfTransformer": Codec(_transformer_state, _build_transformer),
}
