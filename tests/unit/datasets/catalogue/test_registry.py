"""The catalogue is consistent with itself."""

import pytest

from vicinal.datasets.catalogue import ENTRIES, entry, known
from vicinal.datasets.catalogue.download import known_checksum
from vicinal.datasets.catalogue.entries import PAPERS
from vicinal.errors import InvalidArgumentError

UNSEEN = {one.name for one in PAPERS}


def test_no_two_entries_answer_to_one_name():
    names = [name for one in ENTRIES.values() for name in (one.name, *one.aliases)]
    assert len(names) == len(set(names))
    assert all(name == name.lower() for name in names)


@pytest.mark.parametrize("one", ENTRIES.values(), ids=list(ENTRIES))
def test_checksums_are_known_for_the_files_that_were_seen(one):
    unknown = [file for file in one.recipe.files if known_checksum(one.folder, file) is None]
    assert bool(unknown) == (one.name in UNSEEN)


@pytest.mark.parametrize("one", ENTRIES.values(), ids=list(ENTRIES))
def test_entries_without_an_address_say_what_to_do(one):
    assert one.home or one.archive or one.hint or not one.recipe.files


@pytest.mark.parametrize("one", ENTRIES.values(), ids=list(ENTRIES))
def test_a_split_has_no_more_rows_than_the_data_set(one):
    assert one.size.split is None or sum(one.size.split) <= one.size.rows


def test_paper_names_lead_to_their_data_sets():
    wanted = {
        "arts": "yahoo-arts",
        "society": "yahoo-society",
        "imdb-f": "imdb",
        "wiki10": "wiki10-31k",
        "wiki-lshtc": "wiki-lshtc-325k",
        "Wiki10-31K": "wiki10-31k",
        "Wiki-LSHTC-325K": "wiki-lshtc-325k",
        "image-filtered": "image-filtered",
        "mediamill": "mediamill",
        "bookmarks": "bookmarks",
    }
    assert {name: entry(name).name for name in wanted} == wanted


def test_a_wrong_name_is_answered_with_close_ones():
    assert not known("yeats")
    with pytest.raises(InvalidArgumentError, match=r"did you mean yeast.*got 'yeats'"):
        entry("yeats")
    with pytest.raises(InvalidArgumentError, match="available"):
        entry("qqqqqqqqqqqq")
