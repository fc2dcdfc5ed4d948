"""What killed saves left goes with the next save; what others need, or own, stays."""

import fcntl
import hashlib
import json
import shutil
import threading
from pathlib import Path
from typing import Any

import pytest

import vicinal
from vicinal.decision import Threshold
from vicinal.persistence import folder
from vicinal.persistence.save_lock import SaveLock
from vicinal.persistence.unfinished import unfinished_folder

pytestmark = pytest.mark.native


@pytest.fixture
def path(tmp_path: Path, sample: Any) -> Path:
    """A model's folder in which a save over it was killed."""
    model = vicinal.BRkNN(3).fit(sample.X, sample.Y)
    model.save(tmp_path / "m")
    for name in list(listed(tmp_path / "m")):
        shutil.copy(tmp_path / "m" / name, left(tmp_path / "m", name))
    (tmp_path / "m" / "manifest.0123456789abcdef.json").write_text("cut sho")
    return tmp_path / "m"


def left(path: Path, name: str) -> Path:
    return path / f"{name.removesuffix('.npy')}.0123456789abcdef.npy"


def names(path: Path) -> set[str]:
    return {file.name for file in path.iterdir()}


def listed(path: Path) -> set[str]:
    return folder._listed_files(folder._read_manifest(path))


def test_the_next_save_takes_them_away_and_a_load_does_not(path: Path) -> None:
    before = names(path)
    model = vicinal.load(path)
    assert names(path) == before
    model.save(path)
    assert names(path) == listed(path) | {"manifest.json"}


def test_arrays_under_plain_names_go_if_an_older_manifest_lists_them(path: Path) -> None:
    plain = listed(path)
    kept = (path / "manifest.json").read_bytes()
    vicinal.load(path).save(path)
    for name in plain:
        (path / name).write_bytes(b"of the first save")
    (path / "manifest.00000000ffffffff.json").write_bytes(kept)
    (path / "model.weights.npy").write_bytes(b"of somebody")
    vicinal.load(path).save(path)
    assert names(path) == listed(path) | {"manifest.json", "model.weights.npy"}


def test_those_of_a_save_in_progress_stay(path: Path) -> None:
    before = names(path)
    model = vicinal.load(path)
    with SaveLock(path):
        model.save(path)
        assert names(path) >= {name for name in before if "0123456789abcdef" in name}
    model.save(path)
    assert names(path) == listed(path) | {"manifest.json"}


def test_a_save_waits_while_another_tidies_up(path: Path) -> None:
    model = vicinal.load(path)
    before = names(path)
    with SaveLock(path) as tidying:
        assert tidying.is_alone()
        thread = threading.Thread(target=model.save, args=(path,))
        thread.start()
        thread.join(timeout=0.2)
        assert thread.is_alive()
        assert names(path) == before
    thread.join(timeout=60)
    assert names(path) == listed(path) | {"manifest.json"}


def test_they_stay_where_there_are_no_locks(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_locks(*args: Any) -> None:
        raise OSError(95, "Operation not supported")

    monkeypatch.setattr(fcntl, "flock", no_locks)
    before = names(path)
    vicinal.load(path).save(path)
    assert names(path) >= {name for name in before if "0123456789abcdef" in name}
    assert vicinal.load(path).n_neighbors == 3


def test_a_save_that_fails_takes_nothing_but_its_own(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before, model = names(path), vicinal.load(path)

    def full(*args: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(shutil, "copyfile", full)
    with pytest.raises(OSError, match="No space left"):
        model.save(path)
    assert names(path) == before
    with SaveLock(path) as other:
        assert other.is_alone()  # the lock went with the save


def test_folders_beside_it_stay_where_they_may_be_in_use(path: Path) -> None:
    """In progress, not begun, of another model, or not of a save at all."""
    model, beside = vicinal.load(path), path.parent
    held, empty = unfinished_folder(path), unfinished_folder(path)
    others = [beside / ".m.settings", beside / ".n.abcdefgh.unfinished", beside / "m.unfinished"]
    for each in (held, *others):
        each.mkdir(exist_ok=True)
        (each / "model.X.npy").write_bytes(b"precious")
    with SaveLock(held):
        model.save(path)
        assert names(beside) == {"m", held.name, empty.name, *(each.name for each in others)}
    model.save(path)
    assert names(beside) == {"m", empty.name, *(each.name for each in others)}


def test_a_forged_manifest_does_not_lead_a_save_to_other_files(tmp_path: Path) -> None:
    path, precious = tmp_path / "m", tmp_path / "precious.npy"
    folder.write_folder(Threshold(0.5), path)
    precious.write_bytes(b"precious")
    forge(path / "manifest.json", "../precious.npy")
    forge(path / "manifest.0123456789abcdef.json", "../precious.npy")
    folder.write_folder(Threshold(0.25), path)
    assert precious.read_bytes() == b"precious"
    assert folder.read_folder(path) == Threshold(0.25)


def forge(manifest: Path, file: str) -> None:
    """Write a manifest with a right checksum that lists `file`."""
    body = {"format": folder.FORMAT, "model": None, "arrays": {"model.x": {"file": file}}}
    text = json.dumps(body)
    manifest.write_text(f"{hashlib.sha256(text.encode()).hexdigest()}\n{text}\n")
