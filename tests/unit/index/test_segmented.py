"""What a segmented index keeps, refuses, and does within an estimator."""

import hashlib
import json
from copy import deepcopy

import numpy as np
import pytest
from scipy import sparse

import vicinal
from vicinal.datasets.generated import zipf_rows
from vicinal.errors import InvalidArgumentError, ModelFormatError
from vicinal.index import InvertedIndex, SegmentedAlgorithm, SegmentedIndex, segmented
from vicinal.index.segment_files import MANIFEST, read_manifest
from vicinal.index.segment_store import tail_to_merge

pytestmark = pytest.mark.native


@pytest.fixture
def X():
    return zipf_rows(600, 300, 1, 8)


@pytest.fixture
def small_ranges(monkeypatch):
    """Ranges of 512 entries with `max_memory` of 1 MiB and one thread."""
    monkeypatch.setattr(segmented, "BYTES_PER_ENTRY", 1024)


def same(a, b):
    assert np.array_equal(a.ids, b.ids)
    assert np.array_equal(a.values, b.values)


def test_postings_stay_within_the_limit(X, small_ranges):
    index = SegmentedIndex(X, max_memory=2**20, n_jobs=1)
    assert len(index._version.ranges) > 5
    assert index.prefers_whole_batches
    index.query(X, 3)
    kept = index._postings.nbytes
    assert 0 < kept <= 2**19
    whole = SegmentedIndex(X, max_memory=2**30, n_jobs=1)
    assert len(whole._version.ranges) == 1


def test_postings_are_built_once_where_they_fit(X):
    index = SegmentedIndex(X)
    index.query(X[:5], 3)
    (first,) = index._postings._kept.values()
    index.remove([3])
    index.query(X[:5], 3)
    (second,) = index._postings._kept.values()
    assert first.native is second.native


def test_a_copy_leaves_the_folder_alone(X, tmp_path):
    index = SegmentedIndex.build([X], tmp_path / "i")
    twin = index.copy()
    twin.add(X[:10])
    twin.remove([0, 1])
    same(index.query(X[:20], 4), InvertedIndex(X).query(X[:20], 4))
    same(SegmentedIndex.open(tmp_path / "i").query(X[:20], 4), index.query(X[:20], 4))
    other = InvertedIndex(X)
    other.add(X[:10])
    other.remove([0, 1])
    same(twin.query(X[:20], 4), other.query(X[:20], 4))


def test_pickles_and_deep_copies(X, tmp_path):
    for index in (SegmentedIndex(X), SegmentedIndex.build([X], tmp_path / "i")):
        index.remove([7])
        wanted = index.query_self(3)
        rebuild, parts = index.__reduce__()
        same(rebuild(*parts).query_self(3), wanted)
        same(deepcopy(index).query_self(3), wanted)


def test_readers_of_an_older_version_keep_its_rows(X, tmp_path):
    writer = SegmentedIndex.build([X], tmp_path / "i")
    reader = SegmentedIndex.open(tmp_path / "i")
    wanted = reader.query_self(3)
    writer.remove(np.arange(300))  # rewrites the segment and removes the older files
    assert len(list((tmp_path / "i").glob("run-*"))) == 1
    same(reader.query_self(3), wanted)
    with pytest.raises(InvalidArgumentError, match="no other process has changed"):
        reader.add(X[:1])


def test_segments_are_merged(X, tmp_path):
    index = SegmentedIndex.build([X[:5]], tmp_path / "i")
    for start in range(5, 305, 3):
        index.add(X[start : start + 3])
    assert len(index._version.segments) < 20
    assert len(list((tmp_path / "i").glob("run-*"))) == len(index._version.segments)
    same(index.query(X[:30], 5), InvertedIndex(X[:305]).query(X[:30], 5))


def test_wider_numbers_are_not_rounded(X, tmp_path):
    index = SegmentedIndex.build([X[:5]], tmp_path / "i", "dot")
    other = InvertedIndex(X[:5].astype(np.float64), "dot")
    for start in range(5, 50):
        rows = X[[start]].astype(np.float64) / 3
        index.add(rows)
        other.add(rows)
    same(SegmentedIndex.open(tmp_path / "i").query_self(5), other.query_self(5))


def test_few_segments_after_many_additions():
    sizes, written = [100_000], 0
    for _ in range(20_000):
        sizes.append(5)
        merged = tail_to_merge(sizes)
        if merged:
            sizes[-merged:] = [sum(sizes[-merged:])]
            written += sizes[-1]
    assert len(sizes) < 40
    assert sum(sizes) == 200_000
    assert written < 8 * 100_000


def test_rows_of_the_folder_are_mapped(X, tmp_path):
    index = SegmentedIndex.build([X[:300], X[300:]], tmp_path / "i")
    mapped = index.X
    assert (mapped != X).nnz == 0
    assert not mapped.data.flags.owndata
    assert not mapped.data.flags.writeable
    index.add(X[:1])
    with pytest.raises(InvalidArgumentError, match="not been changed, got one whose rows"):
        _ = index.X


def test_parts_of_mapped_rows_are_not_copied(X, tmp_path):
    (segment,) = SegmentedIndex.build([X], tmp_path / "i")._version.segments
    some = segment.rows(7, 9)  # SciPy copies arrays of less than half the size of what they view
    assert (some != X[7:9]).nnz == 0
    assert np.shares_memory(some.indices, segment.indices)
    assert np.shares_memory(some.data, segment.values)


def test_bad_input_is_named(X, tmp_path):
    with pytest.raises(InvalidArgumentError, match="at least one chunk"):
        SegmentedIndex.build([], tmp_path / "a")
    with pytest.raises(InvalidArgumentError, match="300 features"):
        SegmentedIndex.build([X, X[:, :5]], tmp_path / "b")
    with pytest.raises(InvalidArgumentError, match=r"chunks\[1\]"):
        SegmentedIndex.build([X, "rows"], tmp_path / "c")
    with pytest.raises(InvalidArgumentError, match="type float32, as in the first chunk"):
        SegmentedIndex.build([X, X.astype(np.float64)], tmp_path / "d")
    with pytest.raises(ModelFormatError, match="found no index"):
        SegmentedIndex.open(tmp_path / "b")
    with pytest.raises(InvalidArgumentError, match="max_memory"):
        SegmentedIndex(X, max_memory=10)
    (tmp_path / "e").mkdir()
    (tmp_path / "e" / "thesis.txt").touch()
    with pytest.raises(InvalidArgumentError, match=r"thesis\.txt"):
        SegmentedIndex.build([X], tmp_path / "e")


def test_a_failed_build_leaves_a_folder_that_can_be_built(X, tmp_path):
    with pytest.raises(InvalidArgumentError, match="features"):
        SegmentedIndex.build([X, X[:, :5]], tmp_path / "i")
    index = SegmentedIndex.build([X], tmp_path / "i")
    assert len(list((tmp_path / "i").glob("run-*"))) == 1
    same(index.query(X[:5], 3), InvertedIndex(X).query(X[:5], 3))


@pytest.mark.parametrize("name", ["indptr", "indices", "values", "ids"])
def test_damage_is_found(X, tmp_path, name):
    SegmentedIndex.build([X], tmp_path / "i")
    (file,) = (tmp_path / "i").glob(f"run-*/{name}")
    content = bytearray(file.read_bytes())
    content[-1] ^= 0x7F
    file.write_bytes(content)
    with pytest.raises(ModelFormatError):
        SegmentedIndex.open(tmp_path / "i")
    if name != "values":  # what native code trusts is checked in any case
        with pytest.raises(ModelFormatError):
            SegmentedIndex.open(tmp_path / "i", verify=False)
    file.write_bytes(content[:-4])
    with pytest.raises(ModelFormatError, match="bytes"):
        SegmentedIndex.open(tmp_path / "i", verify=False)
    file.unlink()
    with pytest.raises(ModelFormatError, match="missing"):
        SegmentedIndex.open(tmp_path / "i")


@pytest.mark.parametrize(
    "change",
    [
        {"metric": "taxicab"},
        {"n_ids": -1},
        {"runs": [{"name": "../../etc"}]},
        {"runs": 3},
        {"surprise": 1},
        {"max_memory": "much"},
        {"format": "something else"},
    ],
)
def test_a_manifest_from_anywhere_is_checked(X, tmp_path, change):
    SegmentedIndex.build([X], tmp_path)
    file = tmp_path / MANIFEST
    body = json.loads(file.read_bytes().partition(b"\n")[2])
    text = json.dumps({**body, **change}).encode()
    file.write_bytes(hashlib.sha256(text).hexdigest().encode() + b"\n" + text)
    with pytest.raises(ModelFormatError):
        read_manifest(tmp_path)


@pytest.mark.parametrize("method", ["InstanceKNN", "MLkNN", "LCIF"])
def test_estimators_predict_the_same(X, tmp_path, method, small_ranges):
    Y = zipf_rows(600, 12, 2, 2)
    kind = getattr(vicinal, method)
    plain = kind().fit(X[:500], Y[:500])
    rows = SegmentedIndex.build([X[:200], X[200:500]], tmp_path / "i").X
    model = kind(algorithm=SegmentedAlgorithm(2**20)).fit(rows, Y[:500])
    assert model.search_.prefers_whole_batches
    assert np.shares_memory(model.search_.X.indices, rows.indices)
    for gone in (3, 5):
        wanted, found = plain.rank(X[400:], 5), model.rank(X[400:], 5)
        assert np.array_equal(wanted[0], found[0])
        assert np.array_equal(wanted[1], found[1])
        assert (model.predict(X[400:]) != plain.predict(X[400:])).nnz == 0
        model.partial_fit(X[500:], Y[500:])
        plain.partial_fit(X[500:], Y[500:])
        model.forget([gone, 400 + gone])
        plain.forget([gone, 400 + gone])
    model.save(tmp_path / "model")
    again = vicinal.load(tmp_path / "model")
    assert again.algorithm == "segmented"
    assert np.array_equal(again.rank(X[400:], 5)[1], plain.rank(X[400:], 5)[1])


def test_rows_without_entries(tmp_path):
    empty = sparse.csr_array((5, 4))
    index = SegmentedIndex.build([empty], tmp_path / "i")
    assert (index.query(np.eye(4), 2).ids == -1).all()
    assert SegmentedIndex(empty, "euclidean").query_self(2).ids[0].tolist() == [1, 2]


@pytest.mark.parametrize("text", [b"", b"{", b"[]", b"3"])
def test_a_manifest_that_is_no_json_object(X, tmp_path, text):
    SegmentedIndex.build([X], tmp_path)
    file = tmp_path / MANIFEST
    file.write_bytes(hashlib.sha256(text).hexdigest().encode() + b"\n" + text)
    with pytest.raises(ModelFormatError, match="expected format"):
        read_manifest(tmp_path)
    file.write_bytes(b"0" * 64 + b"\n" + text)
    with pytest.raises(ModelFormatError, match="its checksum does not match"):
        read_manifest(tmp_path)


def test_a_file_is_no_folder_for_an_index(X, tmp_path):
    (tmp_path / "notes.txt").write_text("precious")
    with pytest.raises(InvalidArgumentError, match="folder: expected a new folder or an existing"):
        SegmentedIndex.build([X], tmp_path / "notes.txt")
    assert (tmp_path / "notes.txt").read_text() == "precious"


def test_all_rows_may_go(X):
    index = SegmentedIndex(X[:4])
    index.remove(np.arange(4))
    index.compact()
    assert (index.query(X[:2], 3).ids == -1).all()
    index.add(X[4:6])
    assert index.query(X[4:5], 1).ids.tolist() == [[4]]
