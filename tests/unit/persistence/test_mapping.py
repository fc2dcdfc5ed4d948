"""Files of a loaded model that others overwrite, cut short or replace."""

import contextlib
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from model_files import parts_of
from scipy import sparse

import vicinal
from vicinal.persistence import model_file

pytestmark = pytest.mark.native


@pytest.fixture(params=["dense", "sparse"])
def saved(request: pytest.FixtureRequest, sample: Any, tmp_path: Path) -> Path:
    X = sample.X if request.param == "dense" else sparse.csr_array(sample.X)
    vicinal.MLkNN(3).fit(X, sample.Y).save(tmp_path / "live")
    return tmp_path / "live"


def overwrite(file: Path, content: bytes) -> None:
    """Write into the file of a model in place, as ``cp other live`` does."""
    size = file.stat().st_size
    with file.open("r+b") as stream:
        stream.truncate(0)
        stream.write((content * size)[: size if content else 0])


@pytest.mark.parametrize("content", [b"", b"\xff", b"\x7f", b"other"])
@pytest.mark.parametrize("is_used", [True, False])
def test_a_model_in_memory_needs_its_file_no_longer(
    saved: Path, sample: Any, content: bytes, is_used: bool
) -> None:
    expected = vicinal.load(saved).scores(sample.X_test).toarray()
    model = vicinal.load(saved)
    if is_used:
        model.predict(sample.X_test)
    overwrite(saved, content)
    np.testing.assert_array_equal(model.scores(sample.X_test).toarray(), expected)
    model.partial_fit(sample.X_test, sample.Y[: len(sample.X_test)])


@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_a_model_whose_file_is_cut_short_goes_on(saved: Path) -> None:
    """In a process of its own, which a mapped file that is cut short would end."""
    child = os.fork()
    if child == 0:
        with contextlib.suppress(BaseException):
            model = vicinal.load(saved)
            saved.write_bytes(b"")
            model.predict(np.full((3, model.n_features_in_), 0.5))
            os._exit(0)
        os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_ids_are_in_memory_where_fractions_are_mapped(saved: Path, sample: Any) -> None:
    expected = vicinal.load(saved).scores(sample.X_test).toarray()
    model = vicinal.load(saved, mmap=True)
    header, data = parts_of(saved.read_bytes())
    start = saved.stat().st_size - len(data)
    entries = [entry for entry in header.values() if entry.get("dtype", "F")[0] in "IU"]
    assert len(entries) > 3
    with saved.open("r+b") as stream:
        for entry in entries:
            first, last = entry["data_offsets"]
            stream.seek(start + first)
            stream.write(b"\x7f" * (last - first))
    np.testing.assert_array_equal(model.scores(sample.X_test).toarray(), expected)


def is_mapped(model: Any) -> bool:
    values = model.search_.X.data if sparse.issparse(model.search_.X) else model.search_.X
    while isinstance(values, np.ndarray) and not isinstance(values, np.memmap):
        values = values.base
    return isinstance(values, np.memmap)


def test_large_models_are_mapped_and_small_ones_read(
    saved: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert not is_mapped(vicinal.load(saved))
    assert is_mapped(vicinal.load(saved, mmap=True))
    total = len(parts_of(saved.read_bytes())[1])
    monkeypatch.setattr(model_file, "MAPPED_FROM", total)
    assert is_mapped(vicinal.load(saved))
    assert not is_mapped(vicinal.load(saved, mmap=False))
    monkeypatch.setattr(model_file, "MAPPED_FROM", total + 1)
    assert not is_mapped(vicinal.load(saved))


def test_windows_maps_only_on_request(saved: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """There a mapped file cannot be replaced."""
    monkeypatch.setattr(model_file, "MAPPED_FROM", 0)
    assert is_mapped(vicinal.load(saved))
    monkeypatch.setattr(model_file, "IS_WINDOWS", True)
    assert not is_mapped(vicinal.load(saved))
    assert is_mapped(vicinal.load(saved, mmap=True))


@pytest.mark.parametrize("verify", [True, False])
def test_a_mapped_reader_goes_on_while_the_file_is_replaced(
    saved: Path, sample: Any, verify: bool
) -> None:
    expected = vicinal.load(saved).scores(sample.X_test).toarray()
    model = vicinal.load(saved, mmap=True, verify=verify)
    other = vicinal.BRkNN(1).fit(sample.X[:5], sample.Y[:5])
    for _ in range(3):
        other.save(saved)
        np.testing.assert_array_equal(model.scores(sample.X_test).toarray(), expected)
    assert vicinal.load(saved).get_params() == other.get_params()
    model.save(saved)  # from the file that is no longer there
    np.testing.assert_array_equal(vicinal.load(saved).scores(sample.X_test).toarray(), expected)


def test_a_mapped_model_can_be_saved_over_itself(saved: Path, sample: Any) -> None:
    model = vicinal.load(saved, mmap=True)
    expected = model.scores(sample.X_test).toarray()
    model.save(saved)
    np.testing.assert_array_equal(vicinal.load(saved).scores(sample.X_test).toarray(), expected)


def test_no_file_stays_open(saved: Path) -> None:
    with saved.open("rb") as file:
        assert open_below(saved.parent) == [Path(file.name).resolve()]
    model = vicinal.load(saved)
    assert open_below(saved.parent) == []
    assert model.n_features_in_ == 6


def open_below(folder: Path) -> list[Path]:
    """Return the files of a folder that this process has open."""
    found = []
    for descriptor in Path("/proc/self/fd").iterdir():
        with contextlib.suppress(OSError):  # closed meanwhile, by a thread of another test too
            found.append(descriptor.readlink())
    return [file for file in found if file.is_relative_to(folder.resolve())]
