"""The door: names, files, options, and what is told of the catalogue."""

import json

import numpy as np
import pytest
from scipy import sparse

from vicinal import datasets
from vicinal.datasets import catalogue, formats
from vicinal.errors import DataFormatError, DataNotFoundError, InvalidArgumentError

pytestmark = pytest.mark.native
TRAIN = b"2 3 2\n0 0:1 2:2\n1 1:1\n"
TEST = b"1 3 2\n0,1 0:1\n"


@pytest.fixture
def stored(folders, toy, monkeypatch):
    """Put the toy data set into the catalogue and its files into a given folder."""
    monkeypatch.setitem(catalogue.ENTRIES, "toy", toy)
    (folders / "b" / "toy").mkdir(parents=True)
    (folders / "b" / "toy" / "train.txt").write_bytes(TRAIN)
    (folders / "b" / "toy" / "test.txt").write_bytes(TEST)
    return folders


def test_a_split_becomes_training_rows_then_test_rows(stored):
    data = datasets.load("toy")
    X = data.X.toarray() if sparse.issparse(data.X) else data.X
    np.testing.assert_array_equal(X, [[1, 0, 2], [0, 1, 0], [1, 0, 0]])
    np.testing.assert_array_equal(data.Y.toarray(), [[1, 0], [0, 1], [1, 1]])
    assert data.train.tolist() == [0, 1]
    assert data.test.tolist() == [2]
    assert data.source == "toy"


def test_capitals_do_not_matter(stored):
    assert datasets.load("ToY").source == "toy"


def test_a_file_is_read_as_such(stored):
    path = stored / "b" / "toy" / "train.txt"
    for given in (path, str(path)):
        assert datasets.load(given, file_format="xc").n_rows == 2


def test_a_name_wins_over_a_file_called_the_same(stored, monkeypatch):
    monkeypatch.chdir(stored)
    (stored / "toy").write_bytes(TEST)
    assert datasets.load("toy").n_rows == 3
    assert datasets.load("./toy", file_format="xc").n_rows == 1


def test_verify_compares_the_files(stored, known):
    assert datasets.load("toy", verify=True).n_rows == 3
    known["toy/test.txt"] = "0" * 64
    with pytest.raises(DataFormatError, match="SHA-256 000"):
        datasets.load("toy", verify=True)


def test_an_option_the_data_set_does_not_have_is_refused(stored):
    with pytest.raises(InvalidArgumentError, match=r"weighting: .* option of toy \(max_bytes\)"):
        datasets.load("toy", weighting="tfidf")
    with pytest.raises(InvalidArgumentError, match=r"option of debtags \(none\)"):
        datasets.load("debtags", max_bytes=3)


def test_options_reach_the_reader(stored):
    with pytest.raises(DataFormatError):
        datasets.load("toy", max_bytes=3)


def test_what_is_neither_name_nor_file_is_told_apart(folders):
    with pytest.raises(InvalidArgumentError, match="did you mean emotions"):
        datasets.load("emotion")
    with pytest.raises(DataNotFoundError, match=r"nowhere/data\.arff: no such file"):
        datasets.load("nowhere/data.arff")


def test_available_is_sorted_and_knows_what_is_available(stored):
    listings = formats.available()
    names = [listing.entry.name for listing in listings]
    assert names == sorted(catalogue.ENTRIES)
    assert {one.entry.name for one in listings if one.at_hand} == {"toy", "debtags"}


def test_describe_gives_plain_values(stored):
    facts = datasets.describe("toy")
    assert json.loads(json.dumps(facts)) == facts
    assert facts["rows"] == 3
    assert (facts["train"], facts["test"]) == (2, 1)
    assert facts["at_hand"] is True
    assert datasets.describe("imdb-f")["train"] is None
