import gzip

import numpy as np
import pytest
from scipy.io import savemat

from vicinal.datasets import Dataset, read_file, write_file
from vicinal.errors import DataFormatError, InvalidArgumentError

pytestmark = pytest.mark.native

DATA = Dataset([[1, 0, 2], [0, 1, 0]], [[1, 0], [1, 1]], ("aa", "bb", "cc"), ("x", "y"))
NAMES = ["d.arff", "d.meka.arff", "d.xc", "d.txt", "d.xc.txt", "d.jsonl", "d.csv", "d.tsv", "d.npz"]


@pytest.mark.parametrize("packing", ["", ".gz", ".bz2", ".xz", ".GZ"])
@pytest.mark.parametrize("name", NAMES)
def test_the_ending_says_the_format(tmp_path, name, packing):
    path = tmp_path / (name + packing)
    write_file(DATA, path)
    options = {"weighting": "counts"} if name[2:] in ("jsonl", "csv", "tsv") else {}
    data = read_file(path, **options)
    np.testing.assert_array_equal(data.X, DATA.X)
    np.testing.assert_array_equal(data.Y.toarray(), DATA.Y.toarray())
    assert data.feature_names == DATA.feature_names
    assert data.label_names == DATA.label_names


def test_mat_is_read(tmp_path):
    savemat(tmp_path / "d.mat", {"X": DATA.X, "Y": DATA.Y})
    assert read_file(tmp_path / "d.mat").n_labels == 2
    with pytest.raises(InvalidArgumentError, match="file_format: expected one of"):
        write_file(DATA, tmp_path / "e.mat")


def test_an_arff_is_mulans_where_an_xml_names_its_labels(tmp_path):
    text = "@relation 'r: -C 1'\n@attribute a {0,1}\n@attribute b {0,1}\n@data\n0,1\n"
    path = tmp_path / "d.arff.gz"
    path.write_bytes(gzip.compress(text.encode()))
    assert read_file(path).label_names == ("a",)
    (tmp_path / "other.xml").write_text('<labels><label name="b"/></labels>')
    assert read_file(path, xml=tmp_path / "other.xml").label_names == ("b",)
    (tmp_path / "other.xml").rename(tmp_path / "d.xml")
    assert read_file(path).label_names == ("b",)
    assert read_file(path, file_format="meka").label_names == ("a",)


def test_an_arff_that_names_no_labels(tmp_path):
    (tmp_path / "d.arff").write_text("@relation r\n@attribute a {0,1}\n@data\n0\n")
    with pytest.raises(DataFormatError, match=r"'-C n' in the relation name, or an XML file"):
        read_file(tmp_path / "d.arff")


def test_the_format_can_be_said(tmp_path):
    write_file(DATA, tmp_path / "d.dat", file_format="npz")
    assert read_file(tmp_path / "d.dat", file_format="npz").n_rows == 2
    with pytest.raises(InvalidArgumentError, match="file_format"):
        read_file(tmp_path / "d.dat", file_format="hdf5")
    with pytest.raises(InvalidArgumentError, match="path: expected a name that ends in"):
        read_file(tmp_path / "d.dat")


def test_a_missing_file_is_a_missing_file(tmp_path):
    for name in [*NAMES, "d.mat"]:
        with pytest.raises(FileNotFoundError):
            read_file(tmp_path / name)
