"""What is written reads back as the same data set, to the bit, whatever the names and values."""

import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st
from scipy import sparse

from vicinal.datasets import Dataset
from vicinal.datasets.arff import read_meka, write_meka
from vicinal.datasets.dataset import SPARSE_BELOW
from vicinal.datasets.mulan import read_mulan, write_mulan
from vicinal.datasets.npz import read_npz, write_npz
from vicinal.datasets.tables.table_file import read_table, write_table
from vicinal.datasets.xc import read_xc, write_xc

pytestmark = pytest.mark.native

NASTY = [
    "", " ", "a b", " a ", "it's", '"', '"quoted"', "a,b", "50%", "%", "a\nb", "\n", "\r", "a\r\nb",
    "\t", "{x}", "}", "\\", "\\n", "\\'", "é", "日本語", "\u2028", "\x85", "\x0b", "\ufeff", "?",
    "0", "@data", "\n@data\n", "-C 3", "nan", "&amp;", "<x>", "&e;", "#", "[1]", "[", ":", "1:2",
    "😀",
]  # fmt: skip
in_xml = st.characters(
    min_codepoint=32,
    max_codepoint=0x1FFFF,
    exclude_categories=["Cs"],
    exclude_characters="\ufffe\uffff",
)
names = st.one_of(st.sampled_from(NASTY), st.text(max_size=5))
xml_names = st.one_of(st.sampled_from(NASTY), st.text(in_xml, max_size=5)).filter("\x0b".__ne__)
numbers = st.one_of(
    st.just(0.0),
    st.sampled_from(
        [1.0, -1.0, 5e-324, -5e-324, 1.7976931348623157e308, 0.1, 1 / 3, 1e16, 1e22, -0.0]
    ),
    st.floats(allow_nan=False, allow_infinity=False),
)
counts = st.sampled_from([0.0, 0.0, 0.0, 1.0, 2.0, 7.0])


@st.composite
def datasets(
    draw, values=numbers, feature_name=names, label_name=names, distinct=False, min_rows=0
):
    n_rows, n_features = draw(st.integers(min_rows, 5)), draw(st.integers(0, 6))
    n_labels = draw(st.integers(0, 4))
    cells = st.lists(values, min_size=n_features, max_size=n_features)
    flags = st.lists(st.booleans(), min_size=n_labels, max_size=n_labels)
    X = np.array(draw(st.lists(cells, min_size=n_rows, max_size=n_rows)), dtype=float)
    Y = np.array(draw(st.lists(flags, min_size=n_rows, max_size=n_rows)), dtype=bool)
    X = X.reshape(n_rows, n_features) * draw(st.sampled_from([1, 0]))
    named = st.lists(feature_name, min_size=n_features, max_size=n_features, unique=distinct)
    labelled = st.lists(label_name, min_size=n_labels, max_size=n_labels, unique=distinct)
    return Dataset(
        X=sparse.csr_array(X) if draw(st.booleans()) else X,
        Y=Y.reshape(n_rows, n_labels),
        feature_names=tuple(draw(named)),
        label_names=tuple(draw(labelled)),
        row_names=draw(st.none() | st.tuples(*[names] * n_rows)),
    )


def dense(X):
    return X.toarray() if sparse.issparse(X) else X


def assert_same(data, other):
    """Compare bit by bit; the sign of a zero is not kept."""
    assert data.X.shape == other.X.shape
    assert (dense(data.X) + 0.0).tobytes() == (dense(other.X) + 0.0).tobytes()
    np.testing.assert_array_equal(data.Y.toarray(), other.Y.toarray())
    assert data.feature_names == other.feature_names
    assert data.label_names == other.label_names


def assert_sparse_as_its_content(data):
    cells = data.X.shape[0] * data.X.shape[1]
    is_sparse = np.count_nonzero(dense(data.X)) < SPARSE_BELOW * cells
    assert sparse.issparse(data.X) == is_sparse


def there_and_back(data, name, write, read):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / name
        write(data, path)
        return read(path)


def test_the_comparison_sees_a_difference():
    data = Dataset([[1.0, 0.0]], [[1]], ("a", "b"), ("x",))
    for other in (
        Dataset([[np.nextafter(1, 2), 0.0]], [[1]], ("a", "b"), ("x",)),
        Dataset([[1.0, 5e-324]], [[1]], ("a", "b"), ("x",)),
        Dataset([[1.0, 0.0]], [[0]], ("a", "b"), ("x",)),
        Dataset([[1.0, 0.0]], [[1]], ("a", "c"), ("x",)),
        Dataset([[1.0, 0.0]], [[1]], ("a", "b"), ("y",)),
    ):
        with pytest.raises(AssertionError):
            assert_same(data, other)


@settings(max_examples=200, deadline=None)
@given(datasets())
def test_xc(data):
    back = there_and_back(data, "d.xc.txt", write_xc, read_xc)
    assert_same(data, back)
    assert_sparse_as_its_content(back)


def distinct_names(data):
    """Whether an ARFF file can tell all attributes apart, and has any."""
    every = data.feature_names + data.label_names
    return bool(every) and len(set(every)) == len(every)


@settings(max_examples=200, deadline=None)
@given(datasets(label_name=xml_names, distinct=True))
def test_mulan(data):
    assume(distinct_names(data))
    back = there_and_back(data, "d.arff", write_mulan, read_mulan)
    assert_same(data, back)
    assert_sparse_as_its_content(back)


@settings(max_examples=200, deadline=None)
@given(datasets(distinct=True), st.booleans())
def test_meka(data, labels_first):
    assume(distinct_names(data))

    def write(data, path):
        write_meka(data, path, labels_first=labels_first)

    back = there_and_back(data, "d.arff", write, read_meka)
    assert_same(data, back)
    assert_sparse_as_its_content(back)


@settings(max_examples=100, deadline=None)
@given(datasets(values=counts, distinct=True, min_rows=1), st.sampled_from(["jsonl", "csv", "tsv"]))
def test_table(data, ending):
    def read(path):
        return read_table(
            path,
            weighting="counts",
            vocabulary=data.feature_names,
            label_names=data.label_names,
            row_names=None if data.row_names is None else "name",
        )

    back = there_and_back(data, f"d.{ending}", write_table, read)
    assert_same(data, back)
    assert back.row_names == data.row_names


@settings(max_examples=100, deadline=None)
@given(datasets(), st.booleans())
@example(Dataset([[1.0]], [[1]], ("a\x00",), ("x",)), True)
def test_npz(data, has_split):
    if has_split:
        rows = np.arange(data.n_rows)
        data = Dataset(
            data.X, data.Y, data.feature_names, data.label_names, data.row_names,
            train=rows[::2], test=rows[1::2], source="here",
        )  # fmt: skip
    back = there_and_back(data, "d.npz", write_npz, read_npz)
    assert_same(data, back)
    assert sparse.issparse(back.X) == sparse.issparse(data.X)
    assert back.row_names == data.row_names
    assert back.source == data.source
    if has_split:
        assert back.train.tolist() == data.train.tolist()
        assert back.test.tolist() == data.test.tolist()
    else:
        assert back.train is None
