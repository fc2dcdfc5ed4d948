"""What is written has reached the disk when the writer returns: the calls of fsync are counted."""

import os
import stat
from dataclasses import dataclass, field

import numpy as np
import pytest

import vicinal
from vicinal._core.files import append_json_line
from vicinal.datasets import Dataset, write_file
from vicinal.datasets.generated import zipf_rows
from vicinal.index import SegmentedIndex

pytestmark = [pytest.mark.durability, pytest.mark.native]

Y = np.arange(24).reshape(12, 2) % 3 == 0


@dataclass
class Synced:
    """The files and folders that were synced, in order, as ``(inode, size or None)``."""

    calls: list[tuple[int, int | None]] = field(default_factory=list)

    def note(self, descriptor):
        found = os.fstat(descriptor)
        is_folder = stat.S_ISDIR(found.st_mode)
        self.calls.append((found.st_ino, None if is_folder else found.st_size))

    def files(self):
        return [call for call in self.calls if call[1] is not None]

    def folders(self):
        return [inode for inode, size in self.calls if size is None]

    def check(self, target):
        """Assert that each file was synced when complete, and the folder of `target` after it."""
        for file in [target] if target.is_file() else target.rglob("*"):
            found = file.stat()
            if file.is_file() and found.st_size:
                assert (found.st_ino, found.st_size) in self.calls, file
        assert self.calls[-1][1] is None
        assert {target.parent.stat().st_ino, target.stat().st_ino} & {self.calls[-1][0]}


@pytest.fixture
def synced(monkeypatch):
    seen, real = Synced(), os.fsync
    assert real is not os.fstat  # the fixture of the other tests is off

    def sync(descriptor):
        seen.note(descriptor)
        real(descriptor)

    monkeypatch.setattr(os, "fsync", sync)
    return seen


def test_a_line_is_one_call_and_its_folder_one_more_when_the_file_is_new(synced, tmp_path):
    append_json_line(tmp_path / "lines", {"a": 1})
    assert synced.folders() == [tmp_path.stat().st_ino]
    append_json_line(tmp_path / "lines", {"a": 2})
    assert len(synced.files()) == 2
    assert len(synced.folders()) == 1


@pytest.mark.parametrize(("name", "files"), [("d.npz", 1), ("d.arff", 2), ("d.xc.gz", 3)])
def test_each_file_of_a_data_set_is_one_call_and_its_folder_one(synced, tmp_path, name, files):
    data = Dataset(np.eye(12), Y, [f"f{i}" for i in range(12)], ["a", "b"])
    write_file(data, tmp_path / name)
    synced.check(tmp_path / name)
    assert (len(synced.files()), len(synced.folders())) == (files, files)


def test_a_saved_model(synced, tmp_path):
    model = vicinal.MLkNN(3).fit(np.eye(12), Y)
    model.save(tmp_path / "model")
    synced.check(tmp_path / "model")
    before = len(synced.calls)
    model.save(tmp_path / "model")
    synced.check(tmp_path / "model")
    assert len(synced.calls) > before


def test_an_index_on_disk(synced, tmp_path):
    X = zipf_rows(120, 60, 1, 6)
    index = SegmentedIndex.build([X[:40], X[40:80]], tmp_path / "index")
    synced.check(tmp_path / "index")
    before = len(synced.files())
    index.add(X[80:])
    synced.check(tmp_path / "index")
    assert len(synced.files()) > before
