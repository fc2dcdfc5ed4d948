"""Words of a language: lemmas or stems, and n-grams of characters for scripts without spaces.

``simplemma`` knows lemmas (*talossa* is a form of *talo*), ``snowballstemmer`` cuts endings, and
``py3langid`` recognises languages. They are imported when a language is first used.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from importlib.util import find_spec
from threading import Lock
from typing import NamedTuple

from vicinal.errors import InvalidArgumentError, logger, optional_module

EXTRA = "languages"
LEMMAS = {
    "ar": "Arabic", "ast": "Asturian", "bg": "Bulgarian", "ca": "Catalan", "cs": "Czech",
    "cy": "Welsh", "da": "Danish", "de": "German", "el": "Greek", "en": "English",
    "eo": "Esperanto", "es": "Spanish", "et": "Estonian", "fa": "Persian", "fi": "Finnish",
    "fr": "French", "ga": "Irish", "gd": "Gaelic", "gl": "Galician", "he": "Hebrew", "hi": "Hindi",
    "hbs": "Serbo-Croatian", "hu": "Hungarian", "hy": "Armenian", "id": "Indonesian",
    "is": "Icelandic", "it": "Italian", "ka": "Georgian", "la": "Latin", "lb": "Luxembourgish",
    "lt": "Lithuanian", "lv": "Latvian", "mk": "Macedonian", "ml": "Malayalam", "ms": "Malay",
    "nb": "Norwegian", "nl": "Dutch", "nn": "Nynorsk", "pl": "Polish", "pt": "Portuguese",
    "ro": "Romanian", "ru": "Russian", "se": "Northern Sami", "sk": "Slovak", "sl": "Slovenian",
    "sq": "Albanian", "sv": "Swedish", "sw": "Swahili", "tl": "Tagalog", "tr": "Turkish",
    "uk": "Ukrainian",
}  # fmt: skip
"""Languages whose words become lemmas, by their code."""
STEMS = {"eu": "basque", "ne": "nepali", "sr": "serbian", "ta": "tamil", "yi": "yiddish"}
"""Languages whose words become stems, and the stemmers' names."""
WITHOUT_SPACES = {
    "ja": "Japanese", "km": "Khmer", "lo": "Lao", "my": "Burmese", "th": "Thai", "zh": "Chinese",
}  # fmt: skip
"""Languages without spaces between words, which are cut into n-grams of characters."""
_OTHER_CODES = {"bs": "hbs", "hr": "hbs", "no": "nb"}
LANGUAGES = (*LEMMAS, *STEMS, *WITHOUT_SPACES)

NGRAM = 5
"""Length of the n-grams of characters of longer words."""
_KANA = "\u3040-\u30ff\u31f0-\u31ff\uff66-\uff9d"
_HAN = "\u3005\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003134f"
_SCRIPTS = {
    "th": "\u0e00-\u0e7f", "lo": "\u0e80-\u0eff", "my": "\u1000-\u109f", "km": "\u1780-\u17ff",
}  # fmt: skip
_MARKS = (
    "\u0300-\u036f\u0483-\u0487\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u0610-\u061a"
    "\u064b-\u065f\u0670\u0900-\u0963\u0966-\u0dff\u0e00-\u0e3e\u0e40-\u0e4e\u0e80-\u0ece"
    "\u1000-\u1049\u1780-\u17d3"
)
WORDS = {"ascii": "[A-Za-z0-9]+", "unicode": rf"(?:[^\W_]|[{_MARKS}])+"}
"""Regular expressions of a word, with vowel signs and accents that ``\\w`` does not match."""
_UNSPACED = re.compile(f"[{_KANA}{_HAN}{''.join(_SCRIPTS.values())}]+")

FEWEST_CHARACTERS = 1000
"""Shortest sample from which a language is guessed."""
_PASSAGE = 200
_MOST_PASSAGES = 100
_CACHED_WORDS = 500_000
"""Words whose form is remembered: up to 100 MB."""


def check_language(value: object, name: str = "language") -> str | None:
    """Return the code of a language, ``"auto"``, or None."""
    if value is None:
        return None
    if isinstance(value, str):
        code = re.split("[-_]", value.lower())[0]
        code = _OTHER_CODES.get(code, code)
        if code == "auto" or code in LANGUAGES:
            return code
    expected = "'auto', None or the code of a language, such as 'en' or 'fi'"
    raise InvalidArgumentError(name, expected, repr(value), f"one of {', '.join(LANGUAGES)}")


def is_installed() -> bool:
    """Tell whether languages can be guessed, and their words made lemmas."""
    return find_spec("simplemma") is not None and find_spec("py3langid") is not None


def find_language(documents: Sequence[str]) -> str | None:
    """Return the language of most documents, and log it; None if it is not clear.

    At least 60 % of the passages of a sample must be in it. Scripts without spaces are recognised
    by their characters, other languages by ``py3langid`` if it is installed.
    """
    passages = _passages(documents)
    if sum(map(len, passages)) < FEWEST_CHARACTERS:
        return None
    found = _unspaced_language(passages)
    if found is None and is_installed():
        found = _guessed(passages)
    if found is not None:
        logger.info("texts in %s: %s (--language changes this)", *_described(found))
    return found


def _described(language: str) -> tuple[str, str]:
    """Return the name of a language, and what happens to its words."""
    if language in WITHOUT_SPACES:
        return WITHOUT_SPACES[language], "features are characters and pairs of characters"
    if language in STEMS:
        return STEMS[language].capitalize(), "words are reduced to their stems"
    return LEMMAS[language], "words are reduced to their dictionary forms"


def _passages(documents: Sequence[str]) -> list[str]:
    """Return passages from documents that are spread over the whole collection."""
    passages, open_parts, length = [], [], 0
    step = max(len(documents) // 1000, 1)
    for document in documents[::step]:
        part = document[: 2 * _PASSAGE]
        open_parts.append(part)
        length += len(part)
        if length >= _PASSAGE:
            passages.append("\n".join(open_parts))
            open_parts, length = [], 0
        if len(passages) == _MOST_PASSAGES:
            return passages
    return [*passages, "\n".join(open_parts)] if length else passages


def _unspaced_language(passages: Sequence[str]) -> str | None:
    """Return the language whose script most letters are in, if it is written without spaces."""
    text = "".join(passages)
    n_letters = sum(map(str.isalpha, text))
    if 2 * sum(map(len, _UNSPACED.findall(text))) < n_letters:
        return None
    counts = {code: len(re.findall(f"[{signs}]", text)) for code, signs in _SCRIPTS.items()}
    kana, han = (len(re.findall(f"[{signs}]", text)) for signs in (_KANA, _HAN))
    counts |= {"ja": 10 * kana, "zh": han}  # a tenth of kana distinguishes Japanese from Chinese
    return max(counts, key=counts.__getitem__) if n_letters else None


def _guessed(passages: Sequence[str]) -> str | None:
    """Return the language of most passages, if we know its words."""
    from py3langid import classify

    votes = Counter(classify(passage)[0] for passage in passages)
    code, count = votes.most_common(1)[0]
    code = _OTHER_CODES.get(code, code)
    return code if code in LANGUAGES and count >= 0.6 * len(passages) else None


class WordForm(NamedTuple):
    """A word as it is counted."""

    name: str
    spans: tuple[tuple[int, int, str], ...]

    @property
    def features(self) -> list[str]:
        """The features, each as often as it occurs."""
        return [name for _, _, name in self.spans]


class WordForms(dict[str, WordForm]):
    """The forms of words, computed when they are first asked for."""

    def __init__(
        self,
        normal: Callable[[str], str] = str.lower,
        characters: bool = False,
        unspaced: bool = True,
    ) -> None:
        super().__init__()
        self._normal, self._characters, self._unspaced = normal, characters, unspaced

    def __missing__(self, word: str) -> WordForm:
        """Compute the form of a word."""
        if len(self) >= _CACHED_WORDS:
            self.clear()
        form = self[word] = self._form(word)
        return form

    def _form(self, word: str) -> WordForm:
        spans: list[tuple[int, int, str]] = []
        done = 0
        for run in _UNSPACED.finditer(word) if self._unspaced else ():
            spans += self._spaced(word, done, run.start())
            spans += _character_spans(word, run.start(), run.end())
            done = run.end()
        if not done:
            name = self._normal(word)
            return WordForm(name, tuple(self._word_spans(name, 0, len(word))))
        return WordForm(word, (*spans, *self._spaced(word, done, len(word))))

    def _spaced(self, word: str, start: int, stop: int) -> Iterable[tuple[int, int, str]]:
        """Return the features of a part in a script with spaces."""
        if start == stop:
            return ()
        return self._word_spans(self._normal(word[start:stop]), start, stop)

    def _word_spans(self, name: str, start: int, stop: int) -> Iterable[tuple[int, int, str]]:
        names = [name]
        if self._characters and len(name) > NGRAM:
            names += [name[at : at + NGRAM] for at in range(len(name) - NGRAM + 1)]
        return [(start, stop, each) for each in names]


def _character_spans(word: str, start: int, stop: int) -> list[tuple[int, int, str]]:
    """Return single characters and pairs of neighbouring characters."""
    ones = [(at, at + 1, word[at]) for at in range(start, stop)]
    return ones + [(at, at + 2, word[at : at + 2]) for at in range(start, stop - 1)]


def word_forms(language: str | None, characters: bool) -> WordForms | None:
    """Return the forms of the words of a language; None if words are used as they are written."""
    return None if language is None and not characters else _word_forms(language, characters)


@lru_cache(maxsize=8)
def _word_forms(language: str | None, characters: bool) -> WordForms:
    return WordForms(_normal_form(language), characters)


def _normal_form(language: str | None) -> Callable[[str], str]:
    """Return the function from a word to its lemma or stem, in lower case."""
    if language in STEMS:
        stemmers = optional_module("snowballstemmer", EXTRA)
        stem, lock = stemmers.stemmer(STEMS[language]).stemWord, Lock()

        def stemmed(word: str) -> str:
            with lock:  # a stemmer keeps the word that it is working on
                return str(stem(word.lower()))

        return stemmed
    if language in LEMMAS:
        lemmatize = optional_module("simplemma", EXTRA).lemmatize
        return lambda word: str(lemmatize(word, language)).lower()
    return str.lower
