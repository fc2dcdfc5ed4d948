"""A save that fails leaves what was there, and nothing else."""

import itertools
import multiprocessing
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.pipeline import Pipeline

import vicinal
from vicinal.errors import InvalidArgumentError, ModelFormatError
from vicinal.persistence import folder, save_lock
from vicinal.persistence.arrays import write_array
from vicinal.preprocess import MinMax

pytestmark = pytest.mark.native


class PowerCut(BaseException):
    """Not an ``Exception``: nothing may swallow it."""


@pytest.fixture
def models(sample: Any) -> list[Any]:
    return [vicinal.BRkNN(k).fit(sample.X, sample.Y) for k in (1, 5)]


def contents(path: Path) -> dict[str, bytes]:
    return {str(file.relative_to(path)): file.read_bytes() for file in path.rglob("*.*")}


def assert_nothing_but_the_model(path: Path) -> None:
    files = {file.name for file in path.iterdir()}
    assert files == folder._listed_files(folder._read_manifest(path)) | {"manifest.json"}


def cut_at(turn: int, real: Any) -> Any:
    """The real function, until its `turn`-th call."""
    calls = 0

    def function(*args: Any, **kwargs: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls == turn:
            raise PowerCut
        return real(*args, **kwargs)

    return function


@pytest.mark.parametrize("older", [True, False], ids=["over an older model", "new"])
@pytest.mark.parametrize(
    ("module", "name", "turn"),
    [
        (np, "save", 1),
        (np, "save", 3),
        (os, "fsync", 1),
        (os, "fsync", 4),
        (folder.json, "dumps", 1),
        (folder, "_read_manifest", 2),
        (folder.shutil, "copyfile", 1),
        (Path, "replace", 1),
        (Path, "rename", 1),
        (Path, "chmod", 1),
    ],
)
def test_interrupted_anywhere(
    module: Any,
    name: str,
    turn: int,
    older: bool,
    models: list[Any],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if older:
        models[0].save(tmp_path / "m")
    before = contents(tmp_path)
    with monkeypatch.context() as patch:
        patch.setattr(module, name, cut_at(turn, getattr(module, name)))
        if older == (name in ("rename", "chmod")) and name not in ("save", "fsync", "dumps"):
            models[1].save(tmp_path / "m")  # a step of the other way only
            return
        with pytest.raises(PowerCut):
            models[1].save(tmp_path / "m")
    assert contents(tmp_path) == before
    assert len(list(tmp_path.iterdir())) == int(older)


STEPS = [
    (np, "save"),
    (os, "fsync"),
    (Path, "chmod"),
    (Path, "rename"),
    (folder.shutil, "copyfile"),
    (Path, "replace"),
    (Path, "unlink"),
]


def killed_at(step: int, model: Any, path: Path) -> bool:
    """Save in a process of its own that dies before or in its `step`-th step; False if it ends."""

    def child() -> None:
        left = [step]

        def dying(real: Any) -> Any:
            def function(*args: Any, **kwargs: Any) -> Any:
                left[0] -= 1
                if left[0] == 0:
                    os._exit(9)  # nothing is tidied up
                return real(*args, **kwargs)

            return function

        for module, name in STEPS:
            setattr(module, name, dying(getattr(module, name)))
        model.save(path)
        os._exit(0)

    process = multiprocessing.get_context("fork").Process(target=child)
    process.start()
    process.join(timeout=60)
    return process.exitcode == 9


def test_killed_anywhere_one_of_the_models_is_there_whole(
    models: list[Any], sample: Any, tmp_path: Path
) -> None:
    old, new = models
    answers = [model.scores(sample.X_test).toarray() for model in models]
    assert not np.array_equal(*answers)
    found = []
    for step in itertools.count(1):
        path = tmp_path / str(step) / "m"
        old.save(path)
        was_killed = killed_at(step, new, path)
        got = vicinal.load(path).scores(sample.X_test).toarray()
        found.append([np.array_equal(got, answer) for answer in answers].index(True))
        old.save(path)
        assert np.array_equal(vicinal.load(path).scores(sample.X_test).toarray(), answers[0])
        assert_nothing_but_the_model(path)
        if not was_killed:
            break
    assert found == sorted(found)  # the older until one step, the newer after it
    assert found.count(0) > 8
    assert found.count(1) > 4


def test_a_new_model_killed_anywhere_is_whole_or_not_there(
    models: list[Any], tmp_path: Path
) -> None:
    there = []
    for step in itertools.count(1):
        path = tmp_path / str(step) / "m"
        was_killed = killed_at(step, models[0], path)
        there.append(path.exists())
        if path.exists():
            assert vicinal.load(path).get_params() == models[0].get_params()
        models[1].save(path)
        assert [entry.name for entry in path.parent.iterdir()] == ["m"]
        if not was_killed:
            break
    assert len(there) > 8
    assert there == sorted(there)  # absent until one step, there after it
    assert there[-1]


def test_saves_at_the_same_time_leave_a_whole_model(
    models: list[Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "m"
    models[0].save(path)
    real, turns = folder._write_parts, iter([True])

    def write_then_be_overtaken(*args: Any) -> Any:
        manifest = real(*args)
        if next(turns, False):
            models[0].save(path)
        return manifest

    monkeypatch.setattr(folder, "_write_parts", write_then_be_overtaken)
    models[1].save(path)
    assert vicinal.load(path).get_params() == models[1].get_params()
    assert_nothing_but_the_model(path)


def just_before_a_rename(monkeypatch: pytest.MonkeyPatch, happens: Callable[[], None]) -> None:
    """Let something happen when a file or folder is about to be renamed, once."""
    real, turns = Path.rename, iter([True])

    def rename(self: Path, target: Path) -> Path:
        if next(turns, False):
            happens()
        return real(self, target)

    monkeypatch.setattr(Path, "rename", rename)


def test_a_new_model_that_another_overtakes_replaces_it(
    models: list[Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "m"
    just_before_a_rename(monkeypatch, lambda: models[0].save(path))
    models[1].save(path)
    assert vicinal.load(path).get_params() == models[1].get_params()
    assert_nothing_but_the_model(path)
    assert [entry.name for entry in tmp_path.iterdir()] == ["m"]


def test_something_else_that_comes_meanwhile_is_not_overwritten(
    models: list[Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "m"

    def be_overtaken() -> None:
        models[0].save(path)
        (path / "notes.txt").write_text("precious")

    just_before_a_rename(monkeypatch, be_overtaken)
    with pytest.raises(InvalidArgumentError, match=r"which also holds notes\.txt"):
        models[1].save(path)
    assert vicinal.load(path).get_params() == models[0].get_params()


def test_a_full_disk_is_an_oserror_and_leaves_nothing(
    models: list[Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*args: Any, **kwargs: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(np, "save", full)
    with pytest.raises(OSError, match=r"cannot be written: No space left on device: .*\.npy"):
        models[0].save(tmp_path / "m")
    assert list(tmp_path.iterdir()) == []


def test_what_the_system_says_while_an_array_is_written_is_what_the_user_reads(
    tmp_path: Path,
) -> None:
    """NumPy reports a full disk as items requested and written; /dev/full is such a disk."""
    file = tmp_path / "full.npy"
    file.symlink_to("/dev/full")
    with pytest.raises(OSError, match="No space left on device") as caught:
        write_array(file, np.zeros(100_000))
    assert caught.value.errno == 28
    assert caught.value.filename == str(file)


def test_the_folder_is_forced_to_disk_after_the_rename(
    models: list[Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """New: the parent, once the model is in it. Replaced: the model, before older arrays go."""
    synced: list[tuple[str, bool]] = []
    real = os.fsync

    def note(descriptor: int) -> None:
        real(descriptor)
        place = Path(f"/proc/self/fd/{descriptor}").readlink()
        if place.is_dir():
            synced.append((place.name, (tmp_path / "here" / "m").is_dir()))

    monkeypatch.setattr(os, "fsync", note)
    models[0].save(tmp_path / "here" / "m")
    assert synced[-1] == ("here", True)
    models[1].save(tmp_path / "here" / "m")
    assert synced[-1] == ("m", True)


def test_an_older_model_is_replaced_as_a_whole(
    models: list[Any], sample: Any, tmp_path: Path
) -> None:
    models[0].save(tmp_path / "m")
    mapped = vicinal.load(tmp_path / "m")
    vicinal.MLkNN(3).fit(sample.X, sample.Y).save(tmp_path / "m")
    models[1].save(tmp_path / "m")
    files = {file.name for file in (tmp_path / "m").iterdir()}
    assert not any("with_label" in name for name in files)
    assert vicinal.load(tmp_path / "m").get_params() == models[1].get_params()
    assert np.array_equal(mapped.predict(sample.X_test), models[0].predict(sample.X_test))


def test_a_model_replaced_while_it_is_read_is_read_again(
    models: list[Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    models[0].save(tmp_path / "m")
    real, turns = folder._read_once, iter([True])

    def read_and_replace(*args: Any) -> Any:
        part = real(*args)
        if next(turns, False):
            models[1].save(tmp_path / "m")
        return part

    monkeypatch.setattr(folder, "_read_once", read_and_replace)
    back = vicinal.load(tmp_path / "m", verify=False)
    assert back.get_params() == models[1].get_params()


def test_what_is_no_model_is_not_overwritten(models: list[Any], tmp_path: Path) -> None:
    file, empty, page, mixed = (tmp_path / name for name in ("f", "e", "p", "x"))
    file.write_text("precious")
    empty.mkdir()
    page.mkdir()
    (page / "manifest.json").write_text('{"name": "a web page"}')
    models[0].save(mixed)
    (mixed / "notes.txt").write_text("precious")
    (tmp_path / "link").symlink_to(tmp_path / "nowhere")
    before = contents(tmp_path)
    for path in (file, empty, page, mixed, tmp_path / "link"):
        with pytest.raises(InvalidArgumentError, match=r"^path: expected a new path or an older"):
            models[1].save(path)
    assert contents(tmp_path) == before


def test_parents_are_made_and_names_may_be_odd(models: list[Any], tmp_path: Path) -> None:
    path = tmp_path / "a" / "b" / "größe [1] *.d"
    models[0].save(str(path))
    assert vicinal.load(str(path)).get_params() == models[0].get_params()
    models[1].save(path)
    assert [entry.name for entry in path.parent.iterdir()] == [path.name]


def test_a_saved_part_that_is_no_model(tmp_path: Path) -> None:
    folder.write_folder(vicinal.decision.Threshold(0.5), tmp_path / "m")
    assert folder.read_folder(tmp_path / "m") == vicinal.decision.Threshold(0.5)
    with pytest.raises(ModelFormatError, match="expected a model, got a Threshold"):
        vicinal.load(tmp_path / "m")


def test_a_model_that_is_replaced_at_every_read_is_read_once_more(
    models: list[Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    models[0].save(tmp_path / "m")
    times = iter(range(100))
    monkeypatch.setattr(folder, "_identity", lambda _: (next(times), 0))
    assert vicinal.load(tmp_path / "m").get_params() == models[0].get_params()


def test_names_that_no_file_can_hold(tmp_path: Path) -> None:
    steps = [("half \ud800", MinMax()), ("estimator", vicinal.BRkNN(1))]
    model = Pipeline(steps).fit([[1.0], [2.0]], [[1], [0]])
    with pytest.raises(InvalidArgumentError, match="model: expected names that UTF-8 can hold"):
        vicinal.save(model, tmp_path / "m")
    assert not (tmp_path / "m").exists()


def test_a_manifest_that_would_be_too_long_to_read(
    models: list[Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(folder, "MOST_MANIFEST_BYTES", 100)
    with pytest.raises(InvalidArgumentError, match="parameters of at most 100 bytes, got"):
        models[0].save(tmp_path / "m")
    assert not (tmp_path / "m").exists()


def test_folders_that_cannot_be_opened_are_saved_into_without_a_lock(
    models: list[Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As on Windows: the model is there, and nothing else is removed."""
    models[0].save(tmp_path / "m")
    left = tmp_path / "m" / "model.X.data.0123456789abcdef.npy"
    left.write_bytes(b"")
    real = os.open

    def no_folders(path: Any, *args: Any, **options: Any) -> int:
        if Path(path).is_dir():
            raise PermissionError(13, "Permission denied", str(path))
        return real(path, *args, **options)

    monkeypatch.setattr(os, "open", no_folders)
    models[1].save(tmp_path / "m")
    assert left.exists()
    assert vicinal.load(tmp_path / "m").get_params() == models[1].get_params()


def test_a_lock_that_cannot_be_taken_leaves_no_open_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stopped(*_: Any, **__: Any) -> bool:
        raise KeyboardInterrupt

    closed: list[int] = []
    real = os.close
    monkeypatch.setattr(save_lock, "lock", stopped)
    monkeypatch.setattr(os, "close", lambda number: (closed.append(number), real(number)))
    with pytest.raises(KeyboardInterrupt), save_lock.SaveLock(tmp_path):
        pass
    assert len(closed) == 1
