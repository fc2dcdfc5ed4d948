"""The readers on published data: shapes and cardinalities as measured by others."""

import os
import time
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse
from scipy.io import arff as scipy_arff
from scipy.io import loadmat

from vicinal.datasets import read_file
from vicinal.datasets.mulan import read_mulan
from vicinal.datasets.xc import read_xc

pytestmark = [pytest.mark.data, pytest.mark.native]


def find(name):
    """Return the path of a file under $VICINAL_DATA, or skip the test."""
    for folder in os.environ.get("VICINAL_DATA", "").split(":"):
        path = Path(folder) / name
        if folder and path.is_file():
            return path
    return pytest.skip(f"{name} is not under $VICINAL_DATA")


@pytest.mark.parametrize(
    ("name", "shape", "cardinality"),
    [
        ("emotions/emotions.arff", (593, 72, 6), 1.868),
        ("scene/scene-train.arff.gz", (1211, 294, 6), 1.062),
        ("yeast/yeast.arff.gz", (2417, 103, 14), 4.237),
        ("medical/medical.arff", (978, 1449, 45), 1.245),
        ("enron/enron.arff", (1702, 1001, 53), 3.378),
        ("enron/Enron-meka.arff.bz2", (1702, 1001, 53), 3.378),
        ("corel5k/Corel5k-sparse.arff", (5000, 499, 374), 3.522),
        ("bibtex/bibtex.arff.gz", (7395, 1836, 159), 2.402),
        ("delicious/delicious.arff.gz", (16105, 500, 983), 19.020),
        ("cal500/cal500.arff", (502, 68, 174), 26.044),
        ("slashdot/SLASHDOT-F.arff", (3782, 1079, 22), 1.181),
        ("slashdot/slashdot.mat", (3782, 1079, 22), 1.181),
        ("ohsumed/OHSUMED-F.arff.gz", (13929, 1002, 23), 1.663),
        ("ohsumed/ohsumed.mat", (13929, 1002, 23), 1.663),
        ("tmc2007-500/tmc2007-500.arff.gz", (28596, 500, 22), 2.158),
        ("yahoo-arts/arts.mat", (5000, 462, 26), 1.636),
        ("rcv1sub1/rcv1sub1.xc.txt.xz", (6000, 47236, 101), 2.880),
        ("reuters-k500/reutersk500.xc.txt.gz", (6000, 500, 103), 1.462),
        ("stackex-chess/stackex_chess.xc.txt.gz", (1675, 585, 227), 2.411),
    ],
)
def test_shapes(name, shape, cardinality):
    data = read_file(find(name))
    assert (data.n_rows, data.n_features, data.n_labels) == shape
    assert round(data.cardinality, 3) == cardinality


def test_nominal_features_of_birds_and_genbase():
    birds = read_file(find("birds/birds-train.arff"))
    assert birds.n_features == 258 + 1 + 12
    assert "location=10" in birds.feature_names
    assert "Swainson's Thrush" in birds.label_names
    genbase = read_mulan(find("genbase/genbase.arff.gz"), drop=["protein"])
    assert (genbase.n_rows, genbase.n_features, genbase.n_labels) == (662, 1185, 27)
    assert sparse.issparse(genbase.X)
    # Each protein has few of the motifs, so that YES, not NO, must have become 1.
    assert genbase.X.nnz < 0.01 * 662 * 1185


def test_imdb_loads_in_seconds():
    path = find("imdb/Imdb.arff.bz2")
    start = time.process_time()
    data = read_file(path)
    assert time.process_time() - start < 20
    assert (data.n_rows, data.n_features, data.n_labels) == (120919, 1001, 28)
    assert round(data.cardinality, 3) == 2.0
    assert round(data.X.nnz / data.n_rows, 1) == 19.4


def test_dense_arff_agrees_with_scipys_reader():
    path = find("emotions/emotions.arff")
    theirs, _ = scipy_arff.loadarff(str(path))
    ours = read_file(path)
    for i, name in enumerate(ours.feature_names):
        np.testing.assert_array_equal(ours.X[:, i], theirs[name])
    for i, name in enumerate(ours.label_names):
        np.testing.assert_array_equal(ours.Y.toarray()[:, i], theirs[name] == b"1")


@pytest.mark.parametrize("name", ["ohsumed/ohsumed.mat", "yahoo-arts/arts.mat"])
def test_mat_agrees_with_scipys_reader(name):
    path = find(name)
    theirs, ours = loadmat(path), read_file(path)
    train, test = ours.split()
    if "X" in theirs:
        parts = theirs["X"], theirs["Y"], theirs["Xt"], theirs["Yt"]
        X, Y, Xt, Yt = (part.toarray() for part in parts)
    else:
        X, Xt = theirs["train_data"], theirs["test_data"]
        Y, Yt = theirs["train_target"].T == 1, theirs["test_target"].T == 1
    np.testing.assert_array_equal(train.X.toarray(), X)
    np.testing.assert_array_equal(train.Y.toarray(), Y)
    np.testing.assert_array_equal(test.X.toarray(), Xt)
    np.testing.assert_array_equal(test.Y.toarray(), Yt)


def test_two_files_of_one_data_set_agree():
    """The Mulan test rows of corel16k are rows 12022 to 13765 of the full file."""
    full = read_xc(find("corel16k001/corel16k001.xc.txt.gz"))
    test = read_file(find("corel16k001/Corel16k001-test.arff.gz"))
    rows = full.subset(np.arange(12022, 13766))
    order = [full.label_names.index(name) for name in test.label_names]
    np.testing.assert_array_equal(rows.Y.toarray()[:, order], test.Y.toarray())
    np.testing.assert_array_equal(rows.X.toarray(), test.X.toarray())
