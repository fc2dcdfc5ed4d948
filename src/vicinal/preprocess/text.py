"""Turn documents into bags of words."""

import inspect
import itertools
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from vicinal._core.arrays import Csr, Features, Float
from vicinal._core.checks import (
    WEIGHTINGS,
    all_or_nothing,
    check_encodable,
    check_flag,
    check_integer,
    check_option,
)
from vicinal._core.state import State, damage_if_refused, read_names, read_value
from vicinal._core.validation import canonical_csr
from vicinal.errors import InvalidArgumentError, ModelFormatError
from vicinal.preprocess._base import check_frequency, reweigh
from vicinal.preprocess.languages import WORDS, WordForms, check_language, find_language, word_forms
from vicinal.preprocess.tfidf import inverse_frequency, read_idf, tfidf_weights


class WordPlace(NamedTuple):
    """A word of a document that is part of at least one column.

    Parameters
    ----------
    start, stop : int
        Positions in the original document; `stop` is excluded.
    columns : tuple of int
        The columns of the word and of the n-grams that contain it, in increasing order.
    """

    start: int
    stop: int
    columns: tuple[int, ...]


class WordReader:
    """Finds the words of documents and the features that they become."""

    def __init__(
        self,
        pattern: str,
        stop_words: Collection[str],
        ngram_range: tuple[int, int],
        forms: WordForms | None = None,
    ) -> None:
        self._pattern = re.compile(pattern)
        self._stop_words = stop_words
        self._low, self._high = ngram_range
        self._keeps_case = forms is not None  # German nouns are looked up with their capital
        self._forms = WordForms(unspaced=False) if forms is None else forms

    def features(self, document: str) -> list[str]:
        """Return the features of a document, each as often as it occurs."""
        words = self._pattern.findall(self._cased(document))
        if self._stop_words:
            words = [word for word in words if not self._is_ignored(word)]
        found = [self._forms[word] for word in words]
        features = [name for form in found for _, _, name in form.spans] if self._low == 1 else []
        for size in range(max(self._low, 2), self._high + 1):
            runs = (found[at : at + size] for at in range(len(found) - size + 1))
            features += [" ".join([form.name for form in run]) for run in runs]
        return features

    def places(self, document: str, vocabulary: Mapping[str, int]) -> list[WordPlace]:
        """Return the words of a document that are in the vocabulary, alone or in an n-gram."""
        cased = self._cased(document)
        original = _original_places(document, cased)
        found = [m for m in self._pattern.finditer(cased) if not self._is_ignored(m[0])]
        shared = self._ngram_columns([self._forms[match[0]].name for match in found], vocabulary)
        places = []
        for match, columns in zip(found, shared, strict=True):
            for start, stop, own in self._pieces(match[0], vocabulary):
                if own or columns:
                    first, last = match.start() + start, match.start() + stop - 1
                    every = tuple(sorted(own | columns))
                    places.append(WordPlace(original[first], original[last] + 1, every))
        return places

    def _cased(self, document: str) -> str:
        """Return the document as the words are looked for in it."""
        return document if self._keeps_case else document.lower()

    def _is_ignored(self, word: str) -> bool:
        return word.lower() in self._stop_words or self._forms[word].name in self._stop_words

    def _ngram_columns(self, names: Sequence[str], vocabulary: Mapping[str, int]) -> list[set[int]]:
        """Return the columns of the n-grams of two or more words that contain each word."""
        columns: list[set[int]] = [set() for _ in names]
        for size in range(max(self._low, 2), self._high + 1):
            for first in range(len(names) - size + 1):
                column = vocabulary.get(" ".join(names[first : first + size]))
                if column is not None:
                    for place in range(first, first + size):
                        columns[place].add(column)
        return columns

    def _pieces(
        self, word: str, vocabulary: Mapping[str, int]
    ) -> Iterable[tuple[int, int, set[int]]]:
        """Return parts of a word that do not overlap, and the columns that contain each part."""
        spans = self._forms[word].spans if self._low == 1 else ((0, len(word), ""),)
        cuts = sorted({cut for start, stop, _ in spans for cut in (start, stop)})
        for first, last in itertools.pairwise(cuts):
            names = [name for start, stop, name in spans if start <= first and last <= stop]
            yield first, last, {vocabulary[name] for name in names if name in vocabulary}


def _original_places(document: str, lowered: str) -> list[int] | range:
    """Return the original position of each character of the document, maybe in lower case."""
    if len(lowered) == len(document):
        return range(len(document))
    lengths = [len(character.lower()) for character in document]
    return [place for place, length in enumerate(lengths) for _ in range(length)]


def read_documents(X: object, name: str = "X") -> list[str]:
    """Return the documents of a list, an array, a pandas or polars series, or any iterable."""
    expected = "a one-dimensional collection of strings"
    if isinstance(X, str | bytes | Mapping) or not isinstance(X, Iterable):
        hint = "put a single text into a list: [text]" if isinstance(X, str) else ""
        raise InvalidArgumentError(name, expected, type(X).__name__, hint)
    shape = getattr(X, "shape", (0,))
    if len(shape) != 1:
        # This refuses data frames too: iterating one would give its column names.
        hint = "choose one column of a frame: frame['text']" if hasattr(X, "columns") else ""
        raise InvalidArgumentError(name, expected, f"shape {shape}", hint)
    documents = []
    for row, document in enumerate(X):
        if not isinstance(document, str):
            got = f"{type(document).__name__} in row {row}"
            raise InvalidArgumentError(name, "strings", got, "use '' for a missing text")
        documents.append(str(document))
    return documents


TOKEN_PATTERNS = {"ascii": "[a-z0-9]+", "unicode": r"[^\W_]+"}
"""Regular expressions of a word in a lower-case document."""

MOST_WORDS = 100
"""The longest n-grams: a document of n words has up to n of each length."""


_LEFT_OUT = {"sublinear": False, "language": None, "language_": None, "characters": False}
"""Values that a saved model does not state."""


@dataclass(eq=False, repr=False, kw_only=True)
class TextVectorizer(TransformerMixin, BaseEstimator, auto_wrap_output_keys=None):
    """Turn documents into sparse rows with one column per word, in alphabetical order.

    Documents are converted to lower case; words are sequences of letters and digits. Words that do
    not occur in the training documents are ignored. Words are counted by scikit-learn's
    ``CountVectorizer``.

    Parameters
    ----------
    weighting : {"binary", "counts", "tfidf"}
        The value of a word in a document: 1, its number of occurrences, or :class:`TfIdf` of these.
    tokens : {"unicode", "ascii"}
        Whether words consist of the letters and digits of any script, or of a to z and 0 to 9 only.
    sublinear : bool
        Replace a count c by 1 + ln c, before tf-idf.
    min_df, max_df : int or float
        Ignore words that occur in fewer or more documents: an int is their number, a float their
        share.
    max_features : int or None
        Keep only this many of the most frequent words: those in most documents if the weighting is
        binary, else those with most occurrences. Ties are resolved in alphabetical order.
    ngram_range : (int, int)
        Smallest and largest length of n-grams of words, at most 100: (1, 2) adds pairs of words.
    stop_words : "english", list of str, or None
        Words to ignore; ``"english"`` is scikit-learn's list.
    language : str or None
        The code of a language, such as ``"fi"``: words become lemmas by ``simplemma``, or stems by
        ``snowballstemmer`` for languages without a lemmatiser. Chinese, Japanese, Thai, Lao, Khmer
        and Burmese have no spaces between words; they become characters and pairs of characters.
        ``"auto"`` guesses the language from a sample of the training documents and logs it; None
        uses words as they are written. Requires ``pip install 'vicinal[languages]'``, without
        which ``"auto"`` recognises only the languages without spaces.
    characters : bool
        Add the sequences of five characters of longer words, which finds parts of compound words.

    Attributes
    ----------
    language_ : str or None
        The language of the documents; None if words are used as they are written.
    vocabulary_ : dict of str to int
        The column of each word.
    idf_ : ndarray of float64, shape (n_words,), or None
        None unless the weighting is tf-idf.

    Examples
    --------
    >>> vectorizer = TextVectorizer(weighting="counts").fit(["Row, row your boat", "a boat"])
    >>> vectorizer.get_feature_names_out()
    array(['a', 'boat', 'row', 'your'], dtype=object)
    >>> vectorizer.transform(["row a row-boat in"]).toarray()
    array([[1., 1., 2., 0.]])

    With a language, the forms of a word share a column. This needs the extra ``languages``.

    >>> TextVectorizer(language="fi").fit(["talo", "talossa", "taloista"]).vocabulary_
    {'talo': 0}
    """

    weighting: str = "binary"
    tokens: str = "unicode"
    sublinear: bool = False
    min_df: int | float = 1
    max_df: int | float = 1.0
    max_features: int | None = None
    ngram_range: tuple[int, int] = (1, 1)
    stop_words: str | list[str] | None = None
    language: str | None = None
    characters: bool = False
    language_: str | None = field(init=False, default=None)
    vocabulary_: dict[str, int] = field(init=False)
    idf_: Float | None = field(init=False)

    def fit(self, X: object, y: object = None) -> Self:
        """Learn the words of the documents."""
        self.fit_transform(X)
        return self

    @all_or_nothing
    def fit_transform(self, X: object, y: object = None, **fit_params: object) -> Features:
        """Learn the words of the documents, and return the documents as rows."""
        given = self._parameters()
        max_features, language = given["max_features"], given["language"]
        documents = read_documents(X)
        self.language_ = find_language(documents) if language == "auto" else language
        counter = self._counter()
        try:
            counts = _fresh(counter.fit_transform(documents))
        except ValueError as error:
            # All parameters are valid at this point: the cause is that they leave no word.
            raise InvalidArgumentError(
                "X", "documents with words within min_df, max_df and stop_words", str(error)
            ) from None
        words = counter.get_feature_names_out()
        totals = np.bincount(counts.indices, weights=counts.data, minlength=counts.shape[1])
        kept = np.sort(np.argsort(-totals, kind="stable")[:max_features])
        counts = canonical_csr(counts[:, kept])
        self.vocabulary_ = {str(word): column for column, word in enumerate(words[kept])}
        self.idf_ = inverse_frequency(counts, True) if self.weighting == "tfidf" else None
        return self._weighted(counts)

    def transform(self, X: object) -> Features:
        """Return the documents as sparse rows of float64."""
        check_is_fitted(self)
        counter = self._counter()
        counter.vocabulary_ = self.vocabulary_
        return self._weighted(_fresh(counter.transform(read_documents(X))))

    def word_places(self, document: str) -> list[WordPlace]:
        """Return the positions of those words of a document that have a column.

        Examples
        --------
        >>> vectorizer = TextVectorizer().fit(["Row, row your boat"])
        >>> [(place.start, place.stop) for place in vectorizer.word_places("My Boat: rows, row")]
        [(3, 7), (15, 18)]
        """
        check_is_fitted(self)
        (text,) = read_documents([document], "document")
        return self._reader().places(text, self.vocabulary_)

    def get_feature_names_out(self, input_features: object = None) -> NDArray[Any]:
        """Return the words, in the order of the columns."""
        check_is_fitted(self)
        return np.array(list(self.vocabulary_), dtype=object)

    def _parameters(self) -> dict[str, Any]:
        """Return the parameters, checked."""
        most = self.max_features
        return {
            "weighting": check_option("weighting", self.weighting, WEIGHTINGS),
            "tokens": check_option("tokens", self.tokens, TOKEN_PATTERNS),
            "sublinear": check_flag("sublinear", self.sublinear),
            "min_df": check_frequency("min_df", self.min_df),
            "max_df": check_frequency("max_df", self.max_df),
            "max_features": most if most is None else check_integer("max_features", most, low=1),
            "ngram_range": _check_ngram_range(self.ngram_range),
            "stop_words": _check_stop_words(self.stop_words),
            "language": check_language(self.language),
            "characters": check_flag("characters", self.characters),
        }

    def get_state(self) -> dict[str, State]:
        """Return the parameters, the words in the order of the columns, the idf."""
        check_is_fitted(self)
        state = self._parameters() | {"language_": self.language_}
        state |= {"ngram_range": list(state["ngram_range"])}
        state = {k: v for k, v in state.items() if k not in _LEFT_OUT or v != _LEFT_OUT[k]}
        return {**state, "vocabulary": [*self.vocabulary_], "idf": self.idf_}

    @classmethod
    def from_state(cls, state: Mapping[str, State]) -> Self:
        """Build from :meth:`get_state`, checked."""
        known: dict[str, Any] = {**_LEFT_OUT, **state}
        names = inspect.signature(cls).parameters
        given: dict[str, Any] = {name: read_value(known, name) for name in names}
        self = cls(**given)
        with damage_if_refused():
            vars(self).update(self._parameters())
            self.language_ = check_language(known["language_"])
        if self.language_ == "auto":
            raise ModelFormatError("language_: expected the code of a language, got 'auto'")
        words = read_names(state, "vocabulary")
        self.vocabulary_ = {word: column for column, word in enumerate(words)}
        if len(self.vocabulary_) != len(words) or not words:
            raise ModelFormatError("vocabulary: expected at least one word, and no word twice")
        self.idf_ = read_idf(state, len(words)) if self.weighting == "tfidf" else None
        return self

    def _counter(self) -> CountVectorizer:
        """Return scikit-learn's word counter for the parameters, which are checked."""
        given = self._parameters()
        options = {"binary": given["weighting"] == "binary", "dtype": np.float64}
        options |= {name: given[name] for name in ("min_df", "max_df")}
        if word_forms(self.language_, self.characters) is not None:
            # The reader finds words and n-grams and leaves out stop words.
            return CountVectorizer(analyzer=self._reader().features, token_pattern=None, **options)
        options |= {name: given[name] for name in ("ngram_range", "stop_words")}
        return CountVectorizer(token_pattern=TOKEN_PATTERNS[self.tokens], **options)

    def _reader(self) -> WordReader:
        """Return what finds the words of a document."""
        given = self._parameters()
        forms = word_forms(self.language_, self.characters)
        patterns = TOKEN_PATTERNS if forms is None else WORDS
        ignored = CountVectorizer(stop_words=given["stop_words"]).get_stop_words() or ()
        return WordReader(patterns[self.tokens], ignored, given["ngram_range"], forms)

    def _weighted(self, counts: Csr) -> Features:
        """Return the weighted rows; the counter has already made binary counts."""
        if self.weighting != "tfidf" and self.sublinear:
            return reweigh(counts, lambda stored: 1.0 + np.log(stored.data))
        if self.weighting != "tfidf":
            return counts
        idf = self.idf_
        if idf is None:
            expected = "the same weighting as at fit, which was not 'tfidf'"
            raise InvalidArgumentError("weighting", expected, repr(self.weighting))
        return reweigh(counts, lambda stored: tfidf_weights(stored, idf, self.sublinear, "l2"))

    def __sklearn_tags__(self) -> Tags:
        """Return scikit-learn's tags: the input is documents, not rows of numbers."""
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        tags.input_tags.two_d_array = False
        return tags


def _fresh(counts: Any) -> Csr:
    """Return a new canonical matrix, because the counter's matrix has outdated sorting flags."""
    return canonical_csr(
        sparse.csr_array((counts.data, counts.indices, counts.indptr), shape=counts.shape)
    )


def _check_ngram_range(value: object) -> tuple[int, int]:
    """Return the smallest and largest length of n-grams."""
    if not isinstance(value, tuple | list) or len(value) != 2:
        raise InvalidArgumentError("ngram_range", "two integers", repr(value))
    low = check_integer("ngram_range", value[0], low=1)
    high = check_integer("ngram_range", value[1], low=low)
    if high > MOST_WORDS:
        raise InvalidArgumentError("ngram_range", f"n-grams of at most {MOST_WORDS} words", high)
    return low, high


def _check_stop_words(value: object) -> str | list[str] | None:
    """Return None, "english", or a list of words."""
    if value is None or (isinstance(value, str) and value == "english"):
        return value
    if isinstance(value, list | tuple | set | frozenset) and all(
        isinstance(word, str) for word in value
    ):
        check_encodable("stop_words", list(value))
        return sorted(value) if isinstance(value, set | frozenset) else [*value]
    raise InvalidArgumentError("stop_words", "'english', a list of strings or None", repr(value))
