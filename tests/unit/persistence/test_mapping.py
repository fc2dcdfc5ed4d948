"""Files of a loaded model that others overwrite or cut short."""

import contextlib
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse

import vicinal
from vicinal.persistence import arrays

pytestmark = pytest.mark.native


@pytest.fixture(params=["dense", "sparse"])
def saved(request: pytest.FixtureRequest, sample: Any, tmp_path: Path) -> Path:
    X = sample.X if request.param == "dense" else sparse.csr_array(sample.X)
    vicinal.MLkNN(3).fit(X, sample.Y).save(tmp_path / "live")
    return tmp_path / "live"


def overwrite(folder: Path, content: bytes) -> None:
    """Write into the files of a model in place, as ``cp other/* live/`` does."""
    for file in folder.iterdir():
        size = file.stat().st_size
        with file.open("r+b") as stream:
            stream.truncate(0)
            stream.write((content * size)[: size if content else 0])


@pytest.mark.parametrize("content", [b"", b"\xff", b"\x7f", b"other"])
@pytest.mark.parametrize("is_used", [True, False])
def test_a_model_in_memory_needs_its_files_no_longer(
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
def test_a_model_whose_files_are_cut_short_goes_on(saved: Path) -> None:
    """In a process of its own, which a mapped file that is cut short would end."""
    child = os.fork()
    if child == 0:
        with contextlib.suppress(BaseException):
            model = vicinal.load(saved)
            for file in saved.iterdir():
                file.write_bytes(b"")
            model.predict(np.full((3, model.n_features_in_), 0.5))
            os._exit(0)
        os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_ids_are_in_memory_where_fractions_are_mapped(saved: Path, sample: Any) -> None:
    expected = vicinal.load(saved).scores(sample.X_test).toarray()
    model = vicinal.load(saved, mmap=True)
    ids = [file for file in saved.glob("*.npy") if np.load(file).dtype.kind in "iu"]
    assert ids
    for file in ids:
        file.write_bytes(b"\x7f" * file.stat().st_size)
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
    total = sum(file.stat().st_size for file in saved.glob("*.npy"))
    monkeypatch.setattr(arrays, "MAPPED_FROM", total)
    assert is_mapped(vicinal.load(saved))
    assert not is_mapped(vicinal.load(saved, mmap=False))
    monkeypatch.setattr(arrays, "MAPPED_FROM", total + 1)
    assert not is_mapped(vicinal.load(saved))


def test_no_file_stays_open(saved: Path) -> None:
    with (saved / "manifest.json").open() as file:
        assert open_below(saved) == [Path(file.name).resolve()]
    model = vicinal.load(saved)
    assert open_below(saved) == []
    assert model.n_features_in_ == 6


def open_below(folder: Path) -> list[Path]:
    """Return the files of a folder that this process has open."""
    found = []
    for descriptor in Path("/proc/self/fd").iterdir():
        with contextlib.suppress(OSError):  # closed meanwhile, by a thread of another test too
            found.append(descriptor.readlink())
    return [file for file in found if file.is_relative_to(folder.resolve())]
