"""A blend whose views are in a folder answers like one in memory, bit for bit."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

import vicinal
from vicinal import Blend
from vicinal._core import arrays
from vicinal.errors import ModelFormatError
from vicinal.index import SegmentedAlgorithm, SegmentedIndex, segment_files
from vicinal.methods.blend import view_folder

pytestmark = pytest.mark.native

LEAST = 2**20


def random_data(seed, n_labels):
    rng = np.random.default_rng(seed)
    n, m = int(rng.integers(3, 60)), int(rng.integers(2, 25))
    X = np.where(rng.random((n, m)) < 0.25, rng.integers(1, 4, (n, m)), 0).astype(float)
    if rng.random() < 0.5:
        X *= rng.random((n, m)).round(2) + 0.1
    X[rng.integers(0, n)] = 0
    X[0] = X[1]
    Y = (rng.random((n, n_labels)) < rng.choice([0.05, 0.3])).astype(np.int32)
    Y[rng.integers(0, n)] = 0
    Q = np.where(rng.random((9, m)) < 0.3, rng.integers(1, 4, (9, m)), 0).astype(float)
    kind = rng.choice(["float32", "float64"])
    return sparse.csr_array(X.astype(kind)), sparse.csr_array(Y), sparse.csr_array(Q)


def on_disk(X, Y, folder, **params):
    chunks = [X[: len(X.indptr) // 2], X[len(X.indptr) // 2 :]]
    index = SegmentedIndex.build([c for c in chunks if c.shape[0]], folder / "rows")
    algorithm = SegmentedAlgorithm(LEAST, index, str(folder / "views"))
    return Blend(algorithm=algorithm, **params).fit(index.X, Y)


def same(a, b, Q):
    first, second = a.scores(Q), b.scores(Q)
    np.testing.assert_array_equal(first.base, second.base)
    for name in ("indptr", "indices", "data"):
        np.testing.assert_array_equal(getattr(first.values, name), getattr(second.values, name))
    np.testing.assert_array_equal(a.predict(Q).toarray(), b.predict(Q).toarray())


@given(seed=st.integers(0, 100_000), n_labels=st.sampled_from([1, 3, 40]))
@settings(max_examples=25, deadline=None)
def test_answers_are_those_of_the_model_in_memory(seed, n_labels, tmp_path_factory):
    folder = tmp_path_factory.mktemp("blend")
    X, Y, Q = random_data(seed, n_labels)
    plain = Blend(random_state=3).fit(X, Y)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(segment_files, "FEWEST_ENTRIES", 1)
        patch.setattr(arrays, "ENTRIES_AT_ONCE", 16)  # several blocks of rows
        stored = on_disk(X, Y, folder, random_state=3)
    same(plain, stored, Q)
    stored.save(folder / "model")
    same(plain, vicinal.load(folder / "model"), Q)
    # Rows that are learned afterwards are in memory.
    known = sparse.csr_array(Y[:3])
    same(plain.partial_fit(Q[:3], known), stored.partial_fit(Q[:3], known), Q)
    stored.save(folder / "learned")
    same(plain, vicinal.load(folder / "learned"), Q)


def test_views_are_mapped_not_copied(tmp_path, monkeypatch):
    monkeypatch.setattr(segment_files, "FEWEST_ENTRIES", 1)
    X, Y, _ = random_data(1, 40)
    for view in on_disk(X, Y, tmp_path).scoring_.views:
        for part in (view.rows.X.data, view.rows.X.indices):
            while isinstance(part.base, np.ndarray):
                part = part.base
            assert isinstance(part, np.memmap)
        assert view.rows.index.nbytes < 64 * X.shape[0]


def test_the_centroids_are_written_some_features_at_a_time(tmp_path):
    X, Y, _ = random_data(2, 40)
    sizes = []
    for number, memory in enumerate((1, 10**9)):
        folder = tmp_path / str(number)
        folder.mkdir()
        sizes.append(view_folder.write_centroids(folder, X, Y, memory))
    assert sizes[0] == sizes[1]
    for name in view_folder.ARRAYS:
        assert (tmp_path / "0" / name).read_bytes() == (tmp_path / "1" / name).read_bytes()


def damaged_view(folder):
    X, Y, _ = random_data(4, 40)
    on_disk(X, Y, folder).save(folder / "model")
    return next((folder / "views").iterdir())


@pytest.mark.parametrize("name", list(view_folder.ARRAYS))
def test_a_damaged_file_is_refused(tmp_path, name):
    file = damaged_view(tmp_path) / name
    file.write_bytes(file.read_bytes()[:-4])
    with pytest.raises(ModelFormatError, match=f"{name}: expected"):
        vicinal.load(tmp_path / "model")


def test_lists_that_cannot_be_read_are_refused(tmp_path):
    file = damaged_view(tmp_path) / "labels"
    labels = np.fromfile(file, dtype=np.int32)
    labels[-1] = 40
    labels.tofile(file)
    with pytest.raises(ModelFormatError, match="damaged"):
        vicinal.load(tmp_path / "model")


@pytest.mark.parametrize("text", ["", "[]", '{"format": "vicinal view 1"}', '{"sizes": 3}'])
def test_a_damaged_description_is_refused(tmp_path, text):
    (damaged_view(tmp_path) / "view.json").write_text(text)
    with pytest.raises(ModelFormatError, match=r"view\.json"):
        vicinal.load(tmp_path / "model")


def test_an_interrupted_write_is_done_again(tmp_path, monkeypatch):
    X, Y, Q = random_data(5, 40)

    def fails(*arguments):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(view_folder, "write_centroids", fails)
        with pytest.raises(KeyboardInterrupt):
            on_disk(X, Y, tmp_path)
    same(Blend().fit(X, Y), on_disk(X, Y, tmp_path), Q)
