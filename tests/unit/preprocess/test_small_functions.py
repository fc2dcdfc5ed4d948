"""Examples of functions that other tests reach only on the way."""

import re

import numpy as np
import pytest

from vicinal.errors import InvalidArgumentError
from vicinal.preprocess._base import check_frequency, reweigh
from vicinal.preprocess.languages import WordForms, check_language
from vicinal.preprocess.text import WordReader, read_documents


def test_reweigh():
    np.testing.assert_equal(
        (reweigh(np.array([[0.0, 3.0]]), lambda rows: rows.data + 1)), np.array([[0.0, 4.0]])
    )


def test_check_frequency():
    assert (check_frequency("min_df", 2), check_frequency("max_df", 1.0)) == (2, 1.0)


def test_check_language():
    assert (
        check_language("FI"),
        check_language("pt-BR"),
        check_language("hr"),
        check_language(None),
    ) == ("fi", "pt", "hbs", None)


def test_wordforms():
    forms = WordForms(characters=True)
    assert (forms["library"].features, forms["book"].features) == (
        ["library", "libra", "ibrar", "brary"],
        ["book"],
    )
    assert forms["図書館"].features == ["図", "書", "館", "図書", "書館"]


def test_wordreader():
    reader = WordReader("[a-z]+", {"the"}, (1, 2))
    assert reader.features("Row the BOAT!") == ["row", "boat", "row boat"]
    assert (
        repr(reader.places("Row the BOAT!", {"row": 0, "row boat": 1, "a": 2}))
        == "[WordPlace(start=0, stop=3, columns=(0, 1)), WordPlace(start=8, stop=12, columns=(1,))]"
    )


def test_read_documents():
    assert read_documents(("a title", "another")) == ["a title", "another"]
    with pytest.raises(
        InvalidArgumentError, match=re.escape("X: expected strings, got NoneType in row 1")
    ):
        read_documents(["a title", None])
