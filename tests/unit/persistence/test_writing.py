"""A save that fails leaves what was there, and nothing else."""

import hashlib
import itertools
import multiprocessing
import os
import shutil
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.pipeline import Pipeline

import vicinal
from vicinal._core import files
from vicinal.errors import InvalidArgumentError, ModelFormatError
from vicinal.persistence import model_file, read_model, write_model
from vicinal.preprocess import MinMax

pytestmark = pytest.mark.native


class PowerCut(BaseException):
    """Not an ``Exception``: nothing may swallow it."""


@pytest.fixture
def models(sample: Any) -> list[Any]:
    return [vicinal.BRkNN(k).fit(sample.X, sample.Y) for k in (1, 5)]


def contents(path: Path) -> dict[str, bytes]:
    return {str(file.relative_to(path)): file.read_bytes() for file in path.rglob("*")}


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
        (hashlib, "sha256", 1),
        (hashlib, "sha256", 3),
        (model_file.json, "dumps", 1),
        (model_file.json, "dumps", 2),
        (model_file, "_bytes", 8),
        (os, "fsync", 1),
        (shutil, "copymode", 1),
        (Path, "replace", 1),
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
        with pytest.raises(PowerCut):
            models[1].save(tmp_path / "m")
    assert contents(tmp_path) == before
    assert len(list(tmp_path.iterdir())) == int(older)


STEPS = [
    (hashlib, "sha256"),
    (model_file, "_bytes"),
    (os, "fsync"),
    (shutil, "copymode"),
    (Path, "replace"),
    (Path, "unlink"),
    (Path, "iterdir"),
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


def make_old(folder: Path) -> None:
    """Let the unfinished files of a folder look as if nobody had written to them for hours."""
    for file in folder.glob(f".*{files.UNFINISHED}"):
        os.utime(file, (1, time.time() - files.STALE_SECONDS - 60))


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
        make_old(path.parent)
        old.save(path)
        assert np.array_equal(vicinal.load(path).scores(sample.X_test).toarray(), answers[0])
        assert [entry.name for entry in path.parent.iterdir()] == ["m"]
        if not was_killed:
            break
    assert found == sorted(found)  # the older until one step, the newer after it
    assert found.count(0) > 8
    assert found.count(1) > 2


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
        if path.parent.exists():
            make_old(path.parent)
        models[1].save(path)
        assert [entry.name for entry in path.parent.iterdir()] == ["m"]
        if not was_killed:
            break
    assert len(there) > 8
    assert there == sorted(there)  # absent until one step, there after it
    assert there[-1]


def test_unfinished_files_stay_where_they_may_be_in_use(models: list[Any], tmp_path: Path) -> None:
    """Of a save in progress, of another model, or not of a save at all."""
    fresh, other = tmp_path / ".m.0123456789abcdef.unfinished", tmp_path / ".n.01.unfinished"
    names = [fresh, other, tmp_path / ".m.settings", tmp_path / "m.unfinished"]
    for file in names:
        file.write_bytes(b"precious")
        if file is not fresh:
            os.utime(file, (1, 1))
    models[0].save(tmp_path / "m")
    assert {file.name for file in tmp_path.iterdir()} == {"m", *(file.name for file in names)}
    os.utime(fresh, (1, 1))
    models[0].save(tmp_path / "m")
    assert not fresh.exists()
    assert other.exists()


def just_before_the_rename(monkeypatch: pytest.MonkeyPatch, happens: Callable[[], None]) -> None:
    """Let something happen when a file is about to be renamed, once."""
    real, turns = Path.replace, iter([True])

    def replace(self: Path, target: Path) -> Path:
        if next(turns, False):
            happens()
        return real(self, target)

    monkeypatch.setattr(Path, "replace", replace)


@pytest.mark.parametrize("older", [True, False], ids=["over an older model", "new"])
def test_of_two_saves_at_the_same_time_the_last_wins(
    older: bool, models: list[Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "m"
    if older:
        models[0].save(path)
    just_before_the_rename(monkeypatch, lambda: models[0].save(path))
    models[1].save(path)
    assert vicinal.load(path).get_params() == models[1].get_params()
    assert [entry.name for entry in tmp_path.iterdir()] == ["m"]


def test_many_savers_at_once(models: list[Any], tmp_path: Path) -> None:
    path, troubles = tmp_path / "m", []

    def save(model: Any) -> None:
        try:
            for _ in range(10):
                model.save(path)
        except (OSError, ValueError) as error:
            troubles.append(error)

    threads = [threading.Thread(target=save, args=(models[i % 2],)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert troubles == []
    assert vicinal.load(path).n_neighbors in (1, 5)
    assert [entry.name for entry in tmp_path.iterdir()] == ["m"]


def test_a_full_disk_is_an_oserror_and_leaves_nothing(
    models: list[Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*args: Any, **kwargs: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match=r"cannot be written: No space left on device: '.*/m'"):
        models[0].save(tmp_path / "m")
    assert list(tmp_path.iterdir()) == []


def test_what_the_system_says_while_an_array_is_written_is_what_the_user_reads(
    models: list[Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """/dev/full is a disk without room."""
    real = Path.open

    def full(self: Path, mode: str = "r", *args: Any, **options: Any) -> Any:
        if mode == "xb":
            return real(Path("/dev/full"), "wb", 0)
        return real(self, mode, *args, **options)

    monkeypatch.setattr(Path, "open", full)
    with pytest.raises(OSError, match="No space left on device") as caught:
        models[0].save(tmp_path / "m")
    assert caught.value.errno == 28
    assert caught.value.filename == str(tmp_path / "m")


def test_file_and_folder_are_forced_to_disk(
    models: list[Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The file before it is renamed, whole; the folder after that."""
    path = tmp_path / "here" / "m"
    synced: list[tuple[str, bool]] = []
    real = os.fsync

    def note(descriptor: int) -> None:
        real(descriptor)
        place = Path(f"/proc/self/fd/{descriptor}").readlink()
        synced.append(("folder" if place.is_dir() else place.suffix, path.exists()))

    monkeypatch.setattr(os, "fsync", note)
    models[0].save(path)
    assert synced == [(".unfinished", False), ("folder", True)]
    before = path.read_bytes()
    models[1].save(path)
    assert synced[2:] == [(".unfinished", True), ("folder", True)]
    assert path.read_bytes() != before


def test_an_older_model_is_replaced_as_a_whole(
    models: list[Any], sample: Any, tmp_path: Path
) -> None:
    models[0].save(tmp_path / "m")
    mapped = vicinal.load(tmp_path / "m", mmap=True)
    vicinal.MLkNN(3).fit(sample.X, sample.Y).save(tmp_path / "m")
    models[1].save(tmp_path / "m")
    assert b"with_label" not in (tmp_path / "m").read_bytes()
    assert vicinal.load(tmp_path / "m").get_params() == models[1].get_params()
    assert np.array_equal(mapped.predict(sample.X_test), models[0].predict(sample.X_test))


def test_equal_models_have_equal_fingerprints(models: list[Any], tmp_path: Path) -> None:
    for name, model in (("a", models[0]), ("b", models[0]), ("c", models[1])):
        model.save(tmp_path / name)
    a, b, c = (model_file.read_header(tmp_path / name).fingerprint for name in "abc")
    assert a == b
    assert a != c


def test_what_is_no_model_is_not_overwritten(models: list[Any], tmp_path: Path) -> None:
    file, empty, page, tensors = (tmp_path / name for name in ("f", "e", "p", "s"))
    file.write_text("precious")
    empty.mkdir()
    page.write_text('{"name": "a web page"}')
    tensors.write_bytes(b"\x20" + bytes(7) + b'{"__metadata__":{"format":"pt"}}')
    (tmp_path / "link").symlink_to(tmp_path / "nowhere")
    before = {path: path.read_bytes() for path in (file, page, tensors)}
    for path in (file, empty, page, tensors, tmp_path / "link"):
        with pytest.raises(InvalidArgumentError, match=r"^path: expected a new path or an older"):
            models[1].save(path)
    assert {path: path.read_bytes() for path in (file, page, tensors)} == before


def test_damaged_models_and_empty_files_are_replaced(models: list[Any], tmp_path: Path) -> None:
    path = tmp_path / "m"
    path.touch()
    models[0].save(path)
    path.write_bytes(path.read_bytes()[:300])
    models[1].save(path)
    assert vicinal.load(path).get_params() == models[1].get_params()


def test_a_link_to_a_model_stays_a_link(models: list[Any], tmp_path: Path) -> None:
    models[0].save(tmp_path / "v1")
    (tmp_path / "current").symlink_to(tmp_path / "v1")
    models[1].save(tmp_path / "current")
    assert (tmp_path / "current").is_symlink()
    assert vicinal.load(tmp_path / "v1").get_params() == models[1].get_params()


def test_permissions_are_kept(models: list[Any], tmp_path: Path) -> None:
    models[0].save(tmp_path / "m")
    assert (tmp_path / "m").stat().st_mode & 0o777 == 0o666 & ~umask()
    (tmp_path / "m").chmod(0o640)
    models[1].save(tmp_path / "m")
    assert (tmp_path / "m").stat().st_mode & 0o777 == 0o640


def umask() -> int:
    value = os.umask(0)
    os.umask(value)
    return value


def test_parents_are_made_and_names_may_be_odd(models: list[Any], tmp_path: Path) -> None:
    for name in ("größe [1] *.d", "x" * 240):
        path = tmp_path / "a" / name[:5] / name
        models[0].save(str(path))
        assert vicinal.load(str(path)).get_params() == models[0].get_params()
        models[1].save(path)
        assert [entry.name for entry in path.parent.iterdir()] == [path.name]


def test_a_saved_part_that_is_no_model(tmp_path: Path) -> None:
    write_model(vicinal.decision.Threshold(0.5), tmp_path / "m")
    assert read_model(tmp_path / "m") == vicinal.decision.Threshold(0.5)
    with pytest.raises(ModelFormatError, match="expected a model, got a Threshold"):
        vicinal.load(tmp_path / "m")


def test_names_that_no_file_can_hold(tmp_path: Path) -> None:
    steps = [("half \ud800", MinMax()), ("estimator", vicinal.BRkNN(1))]
    model = Pipeline(steps).fit([[1.0], [2.0]], [[1], [0]])
    with pytest.raises(InvalidArgumentError, match="model: expected names that UTF-8 can hold"):
        vicinal.save(model, tmp_path / "m")
    assert not (tmp_path / "m").exists()


def test_a_header_that_would_be_too_long_to_read(
    models: list[Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(model_file, "MOST_HEADER_BYTES", 100)
    with pytest.raises(InvalidArgumentError, match="parameters of at most 100 bytes, got"):
        models[0].save(tmp_path / "m")
    assert not (tmp_path / "m").exists()


def test_folders_that_cannot_be_opened(
    models: list[Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As on Windows: the model is there all the same."""
    models[0].save(tmp_path / "m")
    real = os.open

    def no_folders(path: Any, *args: Any, **options: Any) -> int:
        if Path(path).is_dir():
            raise PermissionError(13, "Permission denied", str(path))
        return real(path, *args, **options)

    monkeypatch.setattr(os, "open", no_folders)
    models[1].save(tmp_path / "m")
    assert vicinal.load(tmp_path / "m").get_params() == models[1].get_params()


def test_a_file_that_cannot_be_replaced(
    models: list[Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As on Windows while a program has it mapped: one line that says so."""
    models[0].save(tmp_path / "m")

    def is_open(self: Path, target: Path) -> None:
        raise PermissionError(13, "Access is denied", str(self), None, str(target))

    monkeypatch.setattr(Path, "replace", is_open)
    says = r"cannot be replaced: no permission, or another program has it open: '.*/m'"
    with pytest.raises(PermissionError, match=says):
        models[1].save(tmp_path / "m")
    assert vicinal.load(tmp_path / "m").get_params() == models[0].get_params()
    assert [entry.name for entry in tmp_path.iterdir()] == ["m"]


def test_the_safetensors_library_reads_the_file(sample: Any, tmp_path: Path) -> None:
    safetensors = pytest.importorskip("safetensors")
    for dtype in (np.float32, np.float64):
        model = vicinal.MLkNN(3).fit(sample.X.astype(dtype), sample.Y)
        model.save(tmp_path / "m")
        with safetensors.safe_open(tmp_path / "m", "np") as file:
            assert set(file.metadata()) == {"sha256", "saved", "vicinal"}
            np.testing.assert_array_equal(file.get_tensor("model.X"), sample.X.astype(dtype))
            names = list(file.keys())
            assert len(names) == len([file.get_tensor(name) for name in names]) > 3


def test_arrays_of_other_types_are_refused(tmp_path: Path) -> None:
    class Odd:
        def get_state(self) -> dict[str, Any]:
            return {"z": np.array([1j])}

        @classmethod
        def from_state(cls, state: Any) -> "Odd":
            return cls()

    vicinal.persistence.register("tests.Odd", Odd)
    with pytest.raises(InvalidArgumentError, match=r"numbers in model\.z, got complex128"):
        write_model(Odd(), tmp_path / "m")


@pytest.mark.parametrize(
    "dtype", ["f2", "f4", "f8", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "b1", ">f8", ">i4"]
)
def test_arrays_of_every_type_and_shape(dtype: str, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    arrays = [
        rng.integers(0, 2, size=shape).astype(dtype)
        for shape in ((), (0,), (3,), (2, 0, 4), (4, 5), (1, 1, 1, 1, 1, 1, 1, 1))
    ]
    arrays.append(np.asfortranarray(arrays[4]))
    arrays.append(arrays[4][::-2, ::3])

    class Holder:
        got: Any = None

        def get_state(self) -> dict[str, Any]:
            return {"a": arrays, "b": {"0": arrays[4]}, "b.0": arrays[2]}

        @classmethod
        def from_state(cls, state: Any) -> "Holder":
            cls.got = state
            return cls()

    vicinal.persistence.register("tests.Holder", Holder)
    write_model(Holder(), tmp_path / "m")
    for mmap in (True, False):
        read_model(tmp_path / "m", mmap=mmap)
        for given, got in zip(arrays, Holder.got["a"], strict=True):
            assert got.shape == given.shape
            assert got.dtype == given.dtype.newbyteorder("=")
            np.testing.assert_array_equal(got, given)
            assert not got.flags.writeable
            assert got.flags.aligned
        np.testing.assert_array_equal(Holder.got["b"]["0"], arrays[4])
        np.testing.assert_array_equal(Holder.got["b.0"], arrays[2])
