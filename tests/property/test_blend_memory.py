"""A blend whose views are in a folder is fitted within the memory that the documentation states."""

import json
import subprocess
import sys

import numpy as np
import pytest
from scipy import sparse

from vicinal.datasets.generated import zipf_rows
from vicinal.index import SegmentedIndex

pytestmark = [
    pytest.mark.native,
    pytest.mark.skipif(sys.platform != "linux", reason="limits the data of a process"),
]

FIT = """
import json, resource, sys
from pathlib import Path
import numpy as np
from scipy import sparse
from vicinal import Blend
from vicinal._core import arrays
from vicinal._core.files import release_free_memory
from vicinal.index import SegmentedAlgorithm, SegmentedIndex, segment_files, segmented
from vicinal.methods.blend import scoring, view_folder

folder, (more, max_memory, small) = Path(sys.argv[1]), map(json.loads, sys.argv[2:])
if small:
    arrays.ENTRIES_AT_ONCE = view_folder.ENTRIES_AT_ONCE = 2**16
    segment_files.BLOCK_ENTRIES = segmented.BLOCK_ENTRIES = 2**16
    segment_files.FEWEST_ENTRIES = 1
    scoring.MOST_ROWS = scoring.MOST_SAMPLED = 200


def fitted(index, Y, algorithm):
    parts = ["votes", "local ridge", "centroids"]  # a global ridge has a limit of its own
    return Blend("mix", parts=parts, n_jobs=1, algorithm=algorithm).fit(index.X, Y)


if more:  # than what is used once the libraries are loaded; the limit counts VmData
    some = np.random.default_rng(0).integers(0, 2, (60, 30))
    index = SegmentedIndex(sparse.csr_array(some[:, :20].astype(float)), n_jobs=1)
    fitted(index, sparse.csr_array(some[:, 20:]), "auto").rank(index.X, 3)
    release_free_memory()
    lines = Path("/proc/self/status").read_text().splitlines()
    used = next(1024 * int(line.split()[1]) for line in lines if line.startswith("VmData"))
    resource.setrlimit(resource.RLIMIT_DATA, (used + more, -1))
index, Y = SegmentedIndex.open(folder / "rows", n_jobs=1), sparse.load_npz(folder / "Y.npz")
algorithm = "auto"
if max_memory:
    algorithm = SegmentedAlgorithm(max_memory, index, str(folder / "views"))
np.savez(folder / "ranked.npz", *fitted(index, Y, algorithm).rank(index.X[:50], 50))
"""
"""Fits a blend in a process of its own: no memory that others have freed is left to be used, which
no limit would count."""


def fit(folder, more=None, max_memory=None, small=False):
    """Fit in memory, or in the folder if `max_memory` is given, with no more than `more` bytes."""
    options = map(json.dumps, (more, max_memory, small))
    command = [sys.executable, "-c", FIT, str(folder), *options]
    done = subprocess.run(command, stderr=subprocess.PIPE, text=True, check=False)
    return "MemoryError" if "MemoryError" in done.stderr else done.stderr


def stated(n_rows, n_features, n_labels, labels_per_row, max_memory, blocks):
    """Return the bytes that docs/how-to/scale.md states; `blocks` is its last term."""
    rows = (50 + 12 * labels_per_row) * n_rows
    return int(max_memory + rows + 40 * n_features + 650 * n_labels + blocks)


def check(folder, n_rows, n_features, n_labels, size, max_memory, blocks, small=False):
    """Fit within the limit, which is too little for rows in memory; compare the answers."""
    parts = [zipf_rows(n_rows // 4, n_features, seed, size) for seed in range(4)]
    SegmentedIndex.build(parts, folder / "rows", max_memory=max_memory, postings=False)
    Y = zipf_rows(n_rows, n_labels, 9, 3).astype(np.int32)
    sparse.save_npz(folder / "Y.npz", Y)
    limit = stated(n_rows, n_features, n_labels, Y.nnz / n_rows, max_memory, blocks)
    assert fit(folder, limit, small=small) == "MemoryError"
    assert fit(folder, limit, max_memory, small) == ""
    with np.load(folder / "ranked.npz") as file:
        found = dict(file)
    assert fit(folder, small=small) == ""
    with np.load(folder / "ranked.npz") as expected:
        for name in expected:
            np.testing.assert_array_equal(found[name], expected[name])


def test_the_bound_with_small_blocks(tmp_path):
    check(tmp_path, 8_000, 5_000, 500, 400, 2**24, 30 * 10**6, small=True)


@pytest.mark.slow
def test_the_bound(tmp_path):
    check(tmp_path, 240_000, 400_000, 100_000, 40, 2**26, 300 * 10**6)
