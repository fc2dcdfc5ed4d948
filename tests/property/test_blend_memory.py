"""A blend whose views are in a folder is fitted within the memory that the documentation states."""

import os
import resource
import sys
import traceback
from pathlib import Path

import numpy as np
import pytest

from vicinal import Blend
from vicinal._core import arrays
from vicinal._core.files import release_free_memory
from vicinal.datasets.generated import zipf_rows
from vicinal.index import SegmentedAlgorithm, SegmentedIndex, segment_files, segmented
from vicinal.methods.blend import scoring, view_folder

pytestmark = [
    pytest.mark.native,
    pytest.mark.skipif(sys.platform != "linux", reason="limits the data of a process"),
    pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning"),
]

PARTS = ["votes", "local ridge", "centroids"]
"""A global ridge has a limit of its own: `max_memory` of the blend."""


def stated(n_rows, n_features, n_labels, labels_per_row, max_memory, blocks):
    """Return the bytes that docs/how-to/scale.md states; `blocks` is its last term."""
    rows = (130 + 8 * labels_per_row) * n_rows
    return int(max_memory + rows + 40 * n_features + 650 * n_labels + blocks)


def used():
    """Return the data of this process: what the limit counts."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(1024 * int(line.split()[1]) for line in lines if line.startswith("VmData"))


def is_enough(more, call):
    """Tell whether a call ends in a copy of this process that gets no more than so many bytes."""
    child = os.fork()
    if child == 0:
        try:
            resource.setrlimit(resource.RLIMIT_DATA, (used() + more, -1))
            call()
            os._exit(0)
        finally:
            traceback.print_exc()
            os._exit(1)
    return os.waitpid(child, 0)[1] == 0


def check(folder, n_rows, n_features, n_labels, size, max_memory, blocks):
    """Fit within the limit, which is too little for rows in memory; compare the answers."""
    parts = [zipf_rows(n_rows // 4, n_features, seed, size) for seed in range(4)]
    SegmentedIndex.build(parts, folder / "rows", max_memory=max_memory, postings=False)
    Q, parts = parts[0][:50], None
    Y = zipf_rows(n_rows, n_labels, 9, 3).astype(np.int32)
    limit = stated(n_rows, n_features, n_labels, Y.nnz / n_rows, max_memory, blocks)

    def in_memory():
        X = SegmentedIndex.open(folder / "rows").X
        return Blend("mix", parts=PARTS, n_jobs=1).fit(X, Y)

    def in_folder():
        index = SegmentedIndex.open(folder / "rows", n_jobs=1)
        algorithm = SegmentedAlgorithm(max_memory, index, str(folder / "views"))
        model = Blend("mix", parts=PARTS, n_jobs=1, algorithm=algorithm).fit(index.X, Y)
        np.savez(folder / "ranked.npz", *model.rank(Q, 50))

    release_free_memory()
    assert not is_enough(limit, in_memory)
    assert is_enough(limit, in_folder)
    with np.load(folder / "ranked.npz") as found:
        for expected, name in zip(in_memory().rank(Q, 50), found, strict=True):
            np.testing.assert_array_equal(found[name], expected)


def test_the_bound_with_small_blocks(tmp_path, monkeypatch):
    for module in (arrays, view_folder):
        monkeypatch.setattr(module, "ENTRIES_AT_ONCE", 2**16)
    for module in (segment_files, segmented):
        monkeypatch.setattr(module, "BLOCK_ENTRIES", 2**16)
    monkeypatch.setattr(segment_files, "FEWEST_ENTRIES", 1)
    monkeypatch.setattr(scoring, "MOST_ROWS", 200)
    monkeypatch.setattr(scoring, "MOST_SAMPLED", 200)
    check(tmp_path, 8_000, 5_000, 500, 400, 2**24, 50 * 10**6)


@pytest.mark.slow
def test_the_bound(tmp_path):
    check(tmp_path, 240_000, 400_000, 100_000, 40, 2**26, 300 * 10**6)
