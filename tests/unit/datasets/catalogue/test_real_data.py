"""Every data set that is on this machine comes out as the catalogue says."""

import re
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

from vicinal import datasets
from vicinal.datasets.catalogue import ENTRIES, entry
from vicinal.datasets.catalogue.download import at_hand, data_folders, finder, verify
from vicinal.datasets.mulan import read_mulan

pytestmark = [pytest.mark.data, pytest.mark.native]
SLOW = {"eurlex57k", "yso-finna-en", "wiki-lshtc-325k", "wiki10-31k", "bookmarks", "mediamill"}


def need(name):
    if not at_hand(entry(name)):
        pytest.skip(f"{name} is not in a folder of $VICINAL_DATA")
    return entry(name)


def names():
    return [pytest.param(name, marks=pytest.mark.slow if name in SLOW else ()) for name in ENTRIES]


@pytest.mark.parametrize("name", names())
def test_shape_split_and_cardinality(name):
    one = need(name)
    data = datasets.load(name)
    assert data.X.shape == (one.size.rows, one.size.features)
    assert data.Y.shape == (one.size.rows, one.size.labels)
    assert data.Y.nnz / one.size.rows == pytest.approx(one.size.cardinality, abs=0.0005001)
    split = None if data.train is None else (len(data.train), len(data.test))
    assert split == one.size.split
    if sparse.issparse(data.X):
        assert data.X.has_canonical_format
        assert data.X.nnz < data.X.shape[0] * data.X.shape[1] / 2


@pytest.mark.parametrize("name", list(ENTRIES))
def test_files_have_the_known_checksums(name):
    one = need(name)
    for file in one.recipe.files:
        verify(finder(one)(file), one.folder)


def readme_rows():
    """Yield the table beside the data: folder, rows, features, labels, cardinality."""
    for folder in data_folders():
        if (folder / "README.md").is_file():
            for line in Path(folder / "README.md").read_text(encoding="utf-8").splitlines():
                cells = [cell.strip() for cell in line.strip("|").split("|")]
                if len(cells) == 13 and re.match(r"\d", cells[3]):
                    yield cells[0], *cells[3:7]


def test_the_table_beside_the_data_agrees():
    rows = list(readme_rows())
    if not rows:
        pytest.skip("no README.md with a table in a folder of $VICINAL_DATA")
    # Attributes that are no features (genbase), or are several (birds).
    columns = {"genbase": 1186 - 1, "birds": 260 - 1 + 12}
    for folder, n, m, labels, cardinality in rows:
        if folder == "makupalat":  # read as a file, not by a name of the catalogue
            continue
        one = entry("debtags-text" if folder == "debtags" else folder)
        if folder != "reuters21578":
            assert one.size.rows == int(re.match(r"\d+", n)[0]), folder
        split = re.findall(r"(\d+) \+ (?:6000 dev \+ )?(\d+)", n if ".mat" not in n else "")
        if split:
            assert one.size.split == tuple(map(int, split[-1])), folder
        if m != "text":
            assert one.size.features == columns.get(folder, int(m)), folder
        assert one.size.labels == int(labels), folder
        assert one.size.cardinality == float(cardinality), folder


@pytest.mark.parametrize("number", ["001", "002", "003"])
def test_corel16k_test_rows_are_those_of_mulan(number):
    one = need(f"corel16k{number}")
    find = finder(one)
    published = read_mulan(find(f"Corel16k{number}-test.arff.gz"), find(f"Corel16k{number}.xml"))
    data = datasets.load(one.name)
    assert published.feature_names == data.feature_names
    order = [published.label_names.index(name) for name in data.label_names]
    assert (sparse.csr_array(published.X) != sparse.csr_array(data.X)[data.test]).nnz == 0
    assert (published.Y[:, order] != data.Y[data.test]).nnz == 0


def test_full_files_hold_the_rows_of_the_split():
    one = need("emotions")
    full = read_mulan(finder(one)("emotions.arff"), finder(one)("emotions.xml"))
    np.testing.assert_array_equal(full.X, datasets.load("emotions").X)


def test_ohsumed_mat_has_the_rows_of_the_meka_file_in_order():
    need("ohsumed-mat")
    meka, mat = datasets.load("ohsumed-meka"), datasets.load("ohsumed-mat")
    assert (meka.X != mat.X).nnz == 0
    assert (meka.Y != mat.Y).nnz == 0


def test_enron_meka_is_the_full_file_of_mulan():
    need("enron-meka")
    mulan = read_mulan(finder(entry("enron"))("enron.arff"), finder(entry("enron"))("enron.xml"))
    meka = datasets.load("enron-meka")
    assert meka.label_names == mulan.label_names
    assert (meka.X != mulan.X).nnz == 0
    assert (meka.Y != mulan.Y).nnz == 0
