"""Words of a language: lemmas, stems, characters, and the guess of the language."""

import logging

import pytest

from vicinal.errors import InvalidArgumentError, MissingExtraError, ModelFormatError
from vicinal.preprocess import TextVectorizer, languages

FINNISH = [
    "Vanhan linnan raunioista löytyi viime kesänä keskiaikaisia rahoja ja astioita.",
    "Kirjaston kokoelmissa on tuhansia kirjoja suomalaisten kaupunkien historiasta.",
    "Lapset leikkivät pihalla, kun heidän vanhempansa keittivät kahvia keittiössä.",
    "Tutkijat kertovat, että järvien vedet ovat lämmenneet viime vuosikymmeninä.",
    "Museon uusi näyttely esittelee merimiesten elämää laivoilla ja satamissa.",
] * 5
GERMAN = [
    "In den alten Häusern der Stadt wohnten früher viele Familien mit ihren Kindern.",
    "Die Bibliothek besitzt Tausende von Büchern über die Geschichte der Wälder.",
    "Gestern haben wir auf dem Markt frische Äpfel und einige Blumen gekauft.",
] * 8
CHINESE = [
    "北京大学图书馆收藏了许多关于中国历史的书籍。",
    "昨天我们在公园里看见了很多美丽的花。",
] * 40
JAPANESE = [
    "昨日、私たちは公園で美しい花をたくさん見ました。",
    "この図書館には歴史の本があります。",
] * 40
THAI = ["ห้องสมุดแห่งนี้มีหนังสือประวัติศาสตร์มากมาย", "เมื่อวานเราเห็นดอกไม้สวยในสวน"] * 40


def words(documents, **options):
    return set(TextVectorizer(**options).fit(documents).vocabulary_)


def test_forms_of_a_word_share_a_column():
    assert words(["talo", "talon", "taloissa"], language="fi") == {"talo"}
    assert words(["Haus", "Häuser", "Häusern"], language="de") == {"haus"}
    assert words(["talo", "talon", "taloissa"]) == {"talo", "talon", "taloissa"}


def test_new_texts_are_read_in_the_language_of_the_training_texts():
    fitted = TextVectorizer(language="auto", weighting="counts").fit(FINNISH)
    assert fitted.language_ == "fi"
    row = fitted.transform(["linnassa linnoja kirjasto"])
    assert row[0, fitted.vocabulary_["linna"]] == 2
    assert row[0, fitted.vocabulary_["kirjasto"]] == 1


def test_languages_without_a_lemmatiser_get_stems():
    assert words(["etxe", "etxeak"], language="eu") == {"etxe"}


@pytest.mark.parametrize(
    ("documents", "language"),
    [(FINNISH, "fi"), (GERMAN, "de"), (CHINESE, "zh"), (JAPANESE, "ja"), (THAI, "th")],
)
def test_the_language_is_guessed_and_logged(documents, language, caplog):
    with caplog.at_level(logging.INFO, logger="vicinal"):
        assert TextVectorizer(language="auto").fit(documents).language_ == language
    (note,) = caplog.messages
    assert note.startswith("texts in ")
    assert "--language changes this" in note


@pytest.mark.parametrize(
    "documents", [FINNISH[:2], ["x1 q7 zz9"] * 200, FINNISH[:5] * 4 + GERMAN[:3] * 7]
)
def test_no_language_is_guessed_where_it_is_not_clear(documents, caplog):
    with caplog.at_level(logging.INFO, logger="vicinal"):
        assert TextVectorizer(language="auto").fit(documents).language_ is None
    assert not caplog.messages


def test_without_the_extra_auto_leaves_words_as_they_are(monkeypatch):
    monkeypatch.setattr(languages, "find_spec", lambda name: None)
    fitted = TextVectorizer(language="auto").fit(FINNISH)
    assert fitted.language_ is None
    assert "raunioista" in fitted.vocabulary_
    assert TextVectorizer(language="auto").fit(CHINESE).language_ == "zh"


@pytest.mark.parametrize(("language", "package"), [("sv", "simplemma"), ("ta", "snowballstemmer")])
def test_a_missing_extra_is_named(language, package, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, package, None)
    languages._word_forms.cache_clear()
    with pytest.raises(MissingExtraError, match=rf"{package} .*vicinal\[languages\]"):
        TextVectorizer(language=language).fit(["ett hus"])


def test_scripts_without_spaces_become_characters_and_pairs():
    assert words(["図書館 book"], language="ja") == {"図", "書", "館", "図書", "書館", "book"}


def test_thai_vowel_signs_stay_with_their_letters():
    assert "ที่" not in words(["ที่"], language="th")
    assert words(["ที่"], language="th") == {"ท", "ี", "่", "ที", "ี่"}


def test_characters_of_long_words():
    assert words(["library book"], characters=True) == {
        "library", "libra", "ibrar", "brary", "book",
    }  # fmt: skip


def test_stop_words_are_ignored_as_written_and_as_lemmas():
    assert words(["the houses were old"], language="en", stop_words=["house", "the"]) == {
        "be", "old",
    }  # fmt: skip


def test_ngrams_of_lemmas():
    found = words(["old houses"], language="en", ngram_range=(1, 2))
    assert found == {"old", "house", "old house"}


def test_places_of_lemmas_and_of_characters():
    fitted = TextVectorizer(language="en").fit(["old houses"])
    column = fitted.vocabulary_["house"]
    assert fitted.word_places("My HOUSES!") == [(3, 9, (column,))]
    fitted = TextVectorizer(language="zh").fit(["北京"])
    names = {column: name for name, column in fitted.vocabulary_.items()}
    places = fitted.word_places("在北京")
    assert [(start, stop) for start, stop, _ in places] == [(1, 2), (2, 3)]
    assert {names[column] for column in places[0].columns} == {"北", "北京"}


def test_the_language_is_saved():
    fitted = TextVectorizer(language="auto", characters=True).fit(FINNISH)
    loaded = TextVectorizer.from_state(fitted.get_state())
    assert (loaded.language, loaded.language_, loaded.characters) == ("auto", "fi", True)
    assert (loaded.transform(["linnassa"]) != fitted.transform(["linnassa"])).nnz == 0


@pytest.mark.parametrize("value", ["auto", "klingon", 3])
def test_a_damaged_language_is_refused(value):
    state = TextVectorizer(language="fi").fit(["talo"]).get_state()
    with pytest.raises(ModelFormatError, match="language"):
        TextVectorizer.from_state({**state, "language_": value})


def test_unknown_languages_are_refused():
    with pytest.raises(InvalidArgumentError, match=r"language: expected .*got 'klingon'"):
        TextVectorizer(language="klingon").fit(["talo"])
