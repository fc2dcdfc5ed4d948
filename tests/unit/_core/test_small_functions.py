"""Examples of functions that other tests reach only on the way."""

import errno
import os
import re
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

from vicinal._core.arrays import contiguous
from vicinal._core.checks import check_encodable, check_positive, check_sequence
from vicinal._core.csr import (
    bare_csr,
    check_compressed,
    checked_csr,
    is_canonical_indicator,
    no_rows,
)
from vicinal._core.files import (
    naming,
    read_npy_header,
    release_free_memory,
    replacing,
    sync_folder,
    without_nan,
)
from vicinal._core.html import class_names, in_latex
from vicinal._core.labels import aligned_columns, as_column, is_flat, label_rows, moved_columns
from vicinal._core.posterior import likelihood, wrong_cells
from vicinal._core.state import damage_if_refused
from vicinal._core.threads import library_threads, thread_count, using_threads
from vicinal._core.validation import check_features, check_rows, owned
from vicinal.errors import InvalidArgumentError, ModelFormatError


def test_contiguous():
    odd = np.frombuffer(bytes(9), dtype=np.uint8)[1:].view(np.float64)
    assert (odd.flags.aligned, contiguous(odd).flags.aligned) == (False, True)


def test_check_positive():
    with pytest.raises(
        InvalidArgumentError, match=re.escape("C: expected a number above 0, got 0.0")
    ):
        check_positive("C", 0)


def test_check_sequence():
    assert check_sequence("seeds", range(3)) == [0, 1, 2]
    with pytest.raises(
        InvalidArgumentError, match=re.escape("seeds: expected a sequence of values, got 3")
    ):
        check_sequence("seeds", 3)


def test_check_encodable():
    with pytest.raises(
        InvalidArgumentError,
        match=re.escape(
            "label_names: expected text that UTF-8 can hold, got a lone surrogate in '\\ud800'"
        ),
    ):
        check_encodable("label_names", ["calm", "\ud800"])


def test_bare_csr():
    starts = np.array([0, 1], np.int32)
    matrix = bare_csr(np.ones(1), np.array([1], np.int32), starts, (1, 2))
    np.testing.assert_equal(matrix.toarray(), np.array([[0.0, 1.0]]))


def test_no_rows():
    assert no_rows(3).shape == (0, 3)


def test_checked_csr():
    matrix = checked_csr(np.ones(2), np.array([0, 1], np.int32), np.array([0, 1, 2]), (2, 3))
    np.testing.assert_equal(matrix.toarray(), np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]))


def test_is_canonical_indicator():
    assert is_canonical_indicator(sparse.csr_array(np.eye(2)), n_labels=2)


def test_check_compressed():
    starts = np.array([0, 2, 2_000_000, -(2**31)], dtype=np.int32)
    with pytest.raises(
        InvalidArgumentError,
        match=re.escape(
            "X: expected a valid sparse structure, got an indptr that falls, or that ends at "
            "-2147483648 with 2 entries stored"
        ),
    ):
        check_compressed(starts, np.zeros(2, dtype=np.int32), 2, (3, 1), "X")


def test_sync_folder():
    sync_folder(Path())


def test_naming():
    expected = "[Errno 28] cannot be written: No space left on device: 'model.npy'"
    with pytest.raises(OSError, match=re.escape(expected)), naming(Path("model.npy")):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_replacing():
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder) / "notes.txt"
        with replacing(target) as beside:
            _ = beside.write_text("all of it")
        assert (target.read_text(), len(list(Path(folder).iterdir()))) == ("all of it", 1)


def test_without_nan():
    assert without_nan({"mean": float("nan"), "folds": [0.5, float("inf")]}) == {
        "mean": None,
        "folds": [0.5, None],
    }


def test_read_npy_header():
    import io

    stream = io.BytesIO()
    np.save(stream, np.zeros((2, 3)))
    _ = stream.seek(0)
    header = read_npy_header(stream)
    assert (header.shape, str(header.dtype), header.nbytes) == ((2, 3), "float64", 48)


def test_release_free_memory():
    release_free_memory()


def test_class_names():
    assert (class_names("ours", "", "best"), class_names("")) == ("ours best", None)


def test_in_latex():
    assert in_latex("n_neighbors & 5%") == "n\\_neighbors \\& 5\\%"


def test_aligned_columns():
    np.testing.assert_equal(
        (aligned_columns(("c", "b", "x"), known=("a", "b", "c"))),
        (np.array([2, 1, 3], dtype=np.int32), ("a", "b", "c", "x")),
    )


def test_moved_columns():
    Y = sparse.csr_array(np.array([[1, 0]], dtype=np.int32))
    assert moved_columns(Y, np.array([2, 0], dtype=np.int32), n_columns=3).toarray().tolist() == [
        [0, 0, 1]
    ]


def test_label_rows():
    with pytest.raises(
        InvalidArgumentError,
        match=re.escape(
            "Y: expected a list of label names in every row (an empty one for a row without "
            "labels), got no value in row 1"
        ),
    ):
        label_rows([["a"], float("nan")], "Y")


def test_is_flat():
    assert (
        is_flat([0, 1, 1]),
        is_flat(np.zeros(3)),
        is_flat([[0], [1]]),
        is_flat([["a"], []]),
    ) == (True, True, False, False)


def test_as_column():
    assert (as_column([0, 1]).shape, as_column([["a"], []])) == ((2, 1), [["a"], []])


def test_likelihood():
    np.testing.assert_equal(
        (likelihood(np.array([2]), np.array([2]), smoothing=1.0, n_outcomes=2)), np.array([0.75])
    )


def test_damage_if_refused():
    expected = "k: expected at least 1, got 0"
    with pytest.raises(ModelFormatError, match=expected), damage_if_refused():
        raise InvalidArgumentError("k", "at least 1", 0)


def test_library_threads():
    with using_threads(1), library_threads():
        assert thread_count(-1) == 1


def test_check_rows():
    np.testing.assert_equal(check_rows("rows", [2, 0], 3), np.array([2, 0]))
    with pytest.raises(
        InvalidArgumentError, match=re.escape("rows: expected row ids from 0 to 2, got 3")
    ):
        check_rows("rows", [3], 3)


def test_owned():
    buffer = np.zeros((1, 2))
    kept = owned(check_features(buffer), buffer)
    buffer[:] = 5
    np.testing.assert_equal(kept, np.array([[0.0, 0.0]]))


def test_wrong_cells():
    with_label, without_label = np.array([[0, 2], [1, 1]]), np.array([[1, 1], [1, 1]])
    assert wrong_cells(with_label[:1], without_label[:1], 0.0, k=1) == 1
    assert wrong_cells(with_label, without_label, 0.0, k=1) == 3
