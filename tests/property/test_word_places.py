"""Places of words in any text, against scikit-learn's own way of taking it apart."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.feature_extraction.text import CountVectorizer

from vicinal.preprocess import TextVectorizer
from vicinal.preprocess.text import TOKEN_PATTERNS

LETTERS = "aB cΣσς İßé1_-,.ﬁ\n\tあ"
documents = st.one_of(st.text(LETTERS, max_size=40), st.text(max_size=30))


@pytest.mark.parametrize("tokens", ["ascii", "unicode"])
@given(
    document=documents,
    ngrams=st.sampled_from([(1, 1), (1, 2), (2, 3)]),
    stop_words=st.sampled_from([None, ["b", "a"]]),
)
def test_words_are_those_the_vectorizer_counts(tokens, document, ngrams, stop_words):
    counter = CountVectorizer(
        token_pattern=TOKEN_PATTERNS[tokens], ngram_range=ngrams, stop_words=stop_words
    )
    counted = counter.build_analyzer()(document)
    vectorizer = TextVectorizer(tokens=tokens, ngram_range=ngrams, stop_words=stop_words)
    vectorizer.vocabulary_ = {word: column for column, word in enumerate(sorted(set(counted)))}
    vectorizer.idf_ = None
    places = vectorizer.word_places(document)
    assert {c for place in places for c in place.columns} == set(vectorizer.vocabulary_.values())
    assert all(before.stop <= after.start for before, after in pairwise(places))
    if ngrams[0] == 1:
        words = counter.build_tokenizer()(document.lower())
        kept = [word for word in words if word not in (stop_words or [])]
        assert len(places) == len(kept)
        for place, word in zip(places, kept, strict=True):
            # A letter that becomes several in lower case stands for all of them.
            assert alike(word) in alike(document[place.start : place.stop])


def alike(text):
    """Lower case without the sigma that ends a word, which depends on what follows."""
    return text.lower().replace("ς", "σ")
