"""Small valid files in every format, which tests read whole or damaged."""

import io
import tempfile
from pathlib import Path

import numpy as np
from scipy import sparse
from scipy.io import savemat

from vicinal.datasets import Dataset, write_file

DATA = Dataset(
    X=sparse.csr_array(
        [[0, 1.5, 0, 0, 0, -2e-7, 0, 0, 0, 3], [0] * 10, [1, 0, 0, 0, 0, 0, 0, 0, 0, 2]]
    ),
    Y=[[1, 0, 1], [0, 0, 0], [0, 1, 1]],
    feature_names=(*"abcdefghi", "it's 5%"),
    label_names=("x", "y z", "ü"),
    row_names=("r", "s", "t"),
    train=[0, 1],
    test=[2],
)
COUNTS = Dataset(
    np.abs(DATA.X.toarray().round()), DATA.Y, DATA.feature_names, DATA.label_names, DATA.row_names
)
MEKA = b"""@relation 'r: -C 2'
@attribute a {0,1}
@attribute 'b c' {NO,YES}
@attribute "d" real
@attribute e {red,'dark green',blue}
@data
0,YES,1.5e-3,'dark green'
{0 1,2 -7, 3 blue}
% comment
{}
"""


def written(data: Dataset, name: str) -> dict[str, bytes]:
    """Return the bytes of a data set in one format, and of the files that belong to it."""
    with tempfile.TemporaryDirectory() as folder:
        write_file(data, Path(folder) / name)
        return {path.name: path.read_bytes() for path in Path(folder).iterdir()}


def matlab(name: str, packed: bool) -> dict[str, bytes]:
    """Return the bytes of a MATLAB file."""
    content = io.BytesIO()
    savemat(content, {"X": DATA.X, "Y": DATA.Y.toarray()}, do_compression=packed)
    return {name: content.getvalue()}
