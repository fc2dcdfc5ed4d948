"""A writer that fails or is killed at any step leaves the old index or the new one, whole."""

import os
import shutil
import signal
from contextlib import suppress

import numpy as np
import pytest

from vicinal.datasets.generated import zipf_rows
from vicinal.errors import ModelFormatError
from vicinal.index import SegmentedIndex, segment_files
from vicinal.index.segment_store import FolderStore

pytestmark = pytest.mark.native

STEPS = ("mkdir", "fsync", "replace", "unlink", "rmdir")
"""Calls of the system by which a folder changes for good; each may be the last."""

X = zipf_rows(120, 60, 1, 6)


def build(folder):
    SegmentedIndex.build([X[:40], X[40:80]], folder)


def add(folder):
    SegmentedIndex.open(folder).add(X[80:])


def add_single_rows(folder):
    index = SegmentedIndex.open(folder)
    for row in range(80, 87):
        index.add(X[row : row + 1])


def merge(folder):
    index = SegmentedIndex.open(folder)
    assert len(index._version.segments) == 8
    index.add(X[87:88])  # the eighth single row: they become one segment
    assert len(index._version.segments) == 2


def remove(folder):
    SegmentedIndex.open(folder).remove([3, 5])


def rewrite(folder):
    SegmentedIndex.open(folder).remove(np.arange(30))


@pytest.fixture(params=["rows", "rows and postings"], autouse=True)
def stored(request, monkeypatch):
    """Postings of small segments are not written, unless a test asks for it."""
    fewest = 1 if request.param == "rows and postings" else 1_048_576
    monkeypatch.setattr(segment_files, "FEWEST_ENTRIES", fewest)
    return fewest == 1


def has_postings(folder):
    return any(folder.glob("run-*/postings-*"))


CHANGES = {"build": build, "add": add, "merge": merge, "remove": remove, "rewrite": rewrite}


def lists(folder):
    """Return every answer of the index in a folder, or None where there is no index."""
    try:
        graph = SegmentedIndex.open(folder, n_jobs=1).query_self(4)
    except ModelFormatError:
        return None
    return graph.ids.tolist(), graph.values.tolist()


def allowed_states(change, folder):
    """Return the answers before and after a change, and after each part of one made of several."""
    states = [lists(folder)]
    write = SegmentedIndex._publish

    def watched(index, *args):
        write(index, *args)
        states.append(lists(folder))

    SegmentedIndex._publish = watched
    try:
        CHANGES[change](folder)
    finally:
        SegmentedIndex._publish = write
    return [*states, lists(folder)]


@pytest.fixture
def before(tmp_path):
    """Return a function that makes a folder as it was before a change."""
    start, many = tmp_path / "start", tmp_path / "many segments"
    build(start)

    def fresh(change):
        folder = tmp_path / "index"
        shutil.rmtree(folder, ignore_errors=True)
        if change == "merge" and not many.exists():
            shutil.copytree(start, many)
            add_single_rows(many)
        if change != "build":
            shutil.copytree(many if change == "merge" else start, folder)
        return folder

    return fresh


class Failing:
    """Lets the n-th step of the system fail."""

    def __init__(self, monkeypatch, n):
        self.left = n
        for name in STEPS:
            monkeypatch.setattr(os, name, self.counted(getattr(os, name)))

    def counted(self, call):
        def step(*args, **options):
            self.left -= 1
            if self.left == 0:
                raise OSError(5, "Input/output error")
            return call(*args, **options)

        return step


@pytest.mark.parametrize("change", CHANGES)
def test_a_failure_at_every_step(change, before, stored, monkeypatch):
    states = allowed_states(change, before(change))
    assert has_postings(before("add")) == stored
    seen, n = set(), 0
    while True:
        n += 1
        folder = before(change)
        with monkeypatch.context() as patched:
            failing = Failing(patched, n)
            with suppress(OSError):
                CHANGES[change](folder)
        found = lists(folder)
        assert found in states, n
        seen.add(states.index(found))
        if failing.left > 0:
            break
        CHANGES["remove" if found is not None else "build"](folder)  # the next writer succeeds
        assert lists(folder) is not None
    assert n >= 5
    assert len(seen) >= 2


def killed_at(n, change, folder):
    """Make a change in a copy of this process that is killed at its n-th step; return its end."""
    child = os.fork()
    if child == 0:
        left = n

        def counted(call):
            def step(*args, **options):
                nonlocal left
                left -= 1
                if left == 0:
                    os.kill(os.getpid(), signal.SIGKILL)
                return call(*args, **options)

            return step

        with suppress(BaseException):
            for name in STEPS:
                setattr(os, name, counted(getattr(os, name)))
            CHANGES[change](folder)
            os._exit(0)
        os._exit(1)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
@pytest.mark.parametrize("change", ["build", "add", "merge", "rewrite"])
def test_killed_at_every_step(change, before, stored):
    states = allowed_states(change, before(change))
    killed = 0
    for n in range(1, 10):
        folder = before(change)
        end = killed_at(n, change, folder)
        assert end in (0, -signal.SIGKILL)
        killed += end == -signal.SIGKILL
        found = lists(folder)
        assert found in states
        CHANGES["remove" if found is not None else "build"](folder)
    assert killed >= 3


def test_opening_beside_a_writer_reads_the_newer_manifest(tmp_path, monkeypatch):
    """The writer replaces the manifest and removes files after the reader has read the old one."""
    build(tmp_path)
    add_single_rows(tmp_path)
    real, turns = FolderStore.segments, iter([merge, rewrite])

    def segments(self, verify):
        change = next(turns, None)
        if change is not None:
            with monkeypatch.context() as patch:
                patch.setattr(FolderStore, "segments", real)
                change(tmp_path)
        return real(self, verify)

    monkeypatch.setattr(FolderStore, "segments", segments)
    index = SegmentedIndex.open(tmp_path)
    monkeypatch.setattr(FolderStore, "segments", real)
    assert next(turns, None) is None  # both changes were made while it was opened
    found, expected = (each.query(X, 5).ids for each in (index, SegmentedIndex.open(tmp_path)))
    assert np.array_equal(found, expected)
    assert found[found >= 0].min() == 30  # the last change removed the rows before


def test_a_missing_file_of_the_current_manifest_is_still_an_error(tmp_path):
    build(tmp_path)
    next(file for file in tmp_path.rglob("*") if file.name.startswith("indices")).unlink()
    with pytest.raises(ModelFormatError, match="missing"):
        SegmentedIndex.open(tmp_path)
