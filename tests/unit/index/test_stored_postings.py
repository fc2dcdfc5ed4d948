"""Postings on disk give the answers of postings in memory, and damage is found or harmless."""

import json

import numpy as np
import pytest

from vicinal.datasets.generated import zipf_rows
from vicinal.errors import ModelFormatError
from vicinal.index import (
    InvertedIndex,
    SegmentedAlgorithm,
    SegmentedIndex,
    segment_files,
    segmented,
)
from vicinal.index.inverted import Build, Segment
from vicinal.index.segment_files import MANIFEST, read_manifest

pytestmark = pytest.mark.native


@pytest.fixture(autouse=True)
def always_stored(monkeypatch):
    """Small segments have postings too; a range has 512 entries at 1 MiB and one thread."""
    monkeypatch.setattr(segment_files, "FEWEST_ENTRIES", 1)
    monkeypatch.setattr(segmented, "BYTES_PER_ENTRY", 1024)


KINDS = {
    "binary": lambda values: np.ones_like(values),
    "constant": lambda values: np.full_like(values, 0.25),
    "weighted": lambda values: values,
}


def rows(kind, dtype=np.float32):
    X = zipf_rows(600, 300, 1, 8).astype(dtype)
    weights = np.random.default_rng(1).choice([0.5, 1.0, 1 / 3, -2.0], X.nnz)
    X.data = KINDS[kind](weights.astype(dtype))
    return X


@pytest.fixture
def X():
    return rows("binary")


def same(a, b):
    assert np.array_equal(a.ids, b.ids)
    assert np.array_equal(a.values, b.values)


def built(X, folder, **options):
    return SegmentedIndex.build([X[:200], X[200:]], folder, max_memory=2**20, n_jobs=1, **options)


@pytest.mark.parametrize("metric", ["cosine", "dot", "euclidean"])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_answers_are_those_of_memory(metric, kind, dtype, tmp_path):
    X = rows(kind, dtype)
    index, wanted = built(X, tmp_path / "i", metric=metric), InvertedIndex(X, metric)
    (segment,) = index._version.segments
    assert len(segment.postings) == len(index._version.ranges) > 5
    for Q in (X[:40], rows("weighted", dtype)[:40]):
        same(index.query(Q, 7), wanted.query(Q, 7))
    same(index.query_self(3), wanted.query_self(3))


def test_no_search_builds_postings(X, tmp_path, monkeypatch):
    index = built(X, tmp_path / "i")
    assert not index.prefers_whole_batches
    of = Segment.of.__func__

    def watched(cls, rows, ids, build, stored=None):
        assert stored is not None
        return of(cls, rows, ids, build, stored)

    monkeypatch.setattr(Segment, "of", classmethod(watched))
    same(SegmentedIndex.open(tmp_path / "i").query(X, 5), index.query(X, 5))
    assert index._postings.nbytes == 0  # all is mapped


def test_postings_that_grew_are_dropped(X, tmp_path):
    """Binary rows need postings of weights once they are asked with weights."""
    index = built(X, tmp_path / "i")
    index.query(rows("weighted")[:5], 3)
    with_weights = index._postings.nbytes
    index._postings._max_memory = with_weights
    same(index.query(rows("weighted")[:5], 3), InvertedIndex(X).query(rows("weighted")[:5], 3))
    assert index._postings.nbytes <= with_weights // 2


def test_small_segments_and_unwanted_ones_are_not_written(X, tmp_path, monkeypatch):
    plain = built(X, tmp_path / "without", postings=False)
    plain.add(X[:90])
    assert not list((tmp_path / "without").glob("run-*/postings-*"))
    index = built(X, tmp_path / "with")
    monkeypatch.setattr(segment_files, "FEWEST_ENTRIES", 2**20)
    index.add(X[:90])
    assert [len(each.postings) > 0 for each in index._version.segments] == [True, False]
    same(index.query(X, 4), plain.query(X, 4))


def test_an_older_version_keeps_its_postings(X, tmp_path):
    index = built(X, tmp_path / "i")
    older = index.copy()
    index.remove(np.arange(500))  # the segment is written again, and its files are removed
    assert len(list((tmp_path / "i").glob("run-*"))) == 1
    same(older.query(X[:9], 4), InvertedIndex(X).query(X[:9], 4))


def test_an_estimator_uses_the_postings_of_the_folder(X, tmp_path):
    from sklearn.base import clone

    import vicinal

    Y = zipf_rows(600, 12, 2, 2)
    index = built(X, tmp_path / "i")
    model = clone(vicinal.InstanceKNN(algorithm=SegmentedAlgorithm(index=index))).fit(index.X, Y)
    assert model.search_.index._version.segments[0].postings
    other = vicinal.InstanceKNN(algorithm=SegmentedAlgorithm(index=index)).fit(X, Y)
    assert not other.search_.index._version.segments[0].postings  # other arrays: they may differ
    wanted = vicinal.InstanceKNN().fit(X, Y).predict(X)
    for each in (model, other):
        assert (each.predict(X) != wanted).nnz == 0
    model.partial_fit(X[:3], Y[:3])
    assert SegmentedIndex.open(tmp_path / "i").n_rows == 600


def test_damage_is_found(X, tmp_path):
    built(X, tmp_path / "i")
    file = min((tmp_path / "i").glob("run-*/postings-*"))
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 1
    file.write_bytes(content)
    with pytest.raises(ModelFormatError, match="checksum"):
        SegmentedIndex.open(tmp_path / "i")
    file.write_bytes(content[:-8])
    with pytest.raises(ModelFormatError, match="bytes"):
        SegmentedIndex.open(tmp_path / "i", verify=False)
    file.unlink()
    with pytest.raises(ModelFormatError, match="missing"):
        SegmentedIndex.open(tmp_path / "i", verify=False)


def test_postings_of_other_rows_are_refused(X, tmp_path):
    index = built(X, tmp_path / "i")
    files = sorted((tmp_path / "i").glob("run-*/postings-*"), key=lambda f: f.stat().st_size)
    largest = files[-1].read_bytes()
    files[0].write_bytes(largest)
    manifest = json.loads((tmp_path / "i" / MANIFEST).read_bytes().partition(b"\n")[2])
    for entry in manifest["runs"][0]["postings"]:
        entry["bytes"] = (index.folder / manifest["runs"][0]["name"] / entry["file"]).stat().st_size
    rewrite(tmp_path / "i", manifest)
    with pytest.raises(ModelFormatError, match="postings of these rows"):
        SegmentedIndex.open(tmp_path / "i", verify=False).query(X, 3)


def rewrite(folder, body):
    import hashlib

    text = json.dumps(body, indent=1).encode()
    (folder / MANIFEST).write_bytes(hashlib.sha256(text).hexdigest().encode() + b"\n" + text)


@pytest.mark.parametrize(
    "change",
    [
        {"file": "../../../etc/passwd"},
        {"start": -1},
        {"start": 7},
        {"stop": 600},
        {"bytes": "many"},
        {"sha256": None},
    ],
)
def test_a_manifest_from_anywhere_is_checked(X, tmp_path, change):
    built(X, tmp_path / "i")
    body = json.loads((tmp_path / "i" / MANIFEST).read_bytes().partition(b"\n")[2])
    body["runs"][0]["postings"][0] |= change
    rewrite(tmp_path / "i", body)
    with pytest.raises(ModelFormatError):
        SegmentedIndex.open(tmp_path / "i", verify=False)
    body["runs"][0]["postings"] = 3
    rewrite(tmp_path / "i", body)
    with pytest.raises(ModelFormatError):
        read_manifest(tmp_path / "i")


@pytest.mark.parametrize("kind", KINDS)
def test_damaged_postings_cannot_crash_a_search(kind):
    """Without checksums any byte may be another: an error, or a wrong answer, but no crash."""
    from vicinal.distances import COSINE

    X = rows(kind)[:150]
    build = Build.standard(COSINE)
    ids = np.arange(150, dtype=np.int32)
    pieces = []
    Segment.of(X, ids, build).native.store(lambda piece: pieces.append(piece.tobytes()))
    whole = b"".join(pieces)
    rng = np.random.default_rng(5)
    refused = 0
    for trial in range(400):
        memory = np.zeros(len(whole) + 64, dtype=np.uint8)
        first = -memory.ctypes.data % 64  # mapped files start at a page
        data = memory[first : first + len(whole)]
        data[:] = np.frombuffer(whole, dtype=np.uint8)
        at = int(rng.integers(0, len(whole) - 4))
        data[at : at + 4] = rng.choice([0, 1, 127, 128, 255], 4)
        if trial % 10 == 0:
            data = data[:at]
        try:
            segment = Segment.of(X, ids, build, data)
        except ValueError:
            refused += 1
            continue
        found = np.full((20, 3), -1, dtype=np.int32), np.zeros((20, 3))
        segment.search(X[:20], np.zeros(0, dtype=np.int32), found, 0, 150, 1, 32)
    assert refused > 40
