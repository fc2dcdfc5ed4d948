"""Provenance of results: hash of the data, versions, machine and date."""

import hashlib
import os
import platform
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

import numpy as np
from scipy import sparse

from vicinal.datasets import Dataset

LIBRARIES = ("vicinal", "numpy", "scipy", "scikit-learn")


def provenance(dataset: Dataset | None = None) -> dict[str, str]:
    """Return the provenance to store with a result.

    Parameters
    ----------
    dataset : Dataset or None
        The data that was used; its hash is recorded.

    Examples
    --------
    >>> sorted(provenance())
    ['cores', 'cpu', 'date', 'numpy', 'python', 'scikit-learn', 'scipy', 'system', 'vicinal']
    """
    found = {name: version(name) for name in LIBRARIES}
    found |= machine() | {"date": datetime.now(UTC).date().isoformat()}
    return found if dataset is None else found | {"data": data_hash(dataset)}


def machine() -> dict[str, str]:
    """Return the processor, its cores, the system and the Python of this machine."""
    return {
        "cpu": _cpu(),
        "cores": str(os.cpu_count() or 1),
        "system": platform.system(),
        "python": platform.python_version(),
    }


def data_hash(dataset: Dataset) -> str:
    """Return the first 16 hex digits of the SHA-256 of a data set's features, labels and split.

    Examples
    --------
    >>> one = Dataset(X=[[0.5], [0.0]], Y=[[1], [0]], feature_names=("f",), label_names=("l",))
    >>> data_hash(one) == data_hash(one.subset([0, 1]))
    True
    >>> data_hash(one) == data_hash(one.subset([1, 0]))
    False
    """
    digest = hashlib.sha256(f"{dataset.X.shape} {dataset.Y.shape}".encode())
    for matrix in (dataset.X, dataset.Y):
        stored = sparse.csr_array(matrix)  # canonical in a Dataset
        digest.update(stored.indptr.astype("<i8").tobytes())
        digest.update(stored.indices.astype("<i8").tobytes())
        digest.update(stored.data.astype("<f8").tobytes())
    for rows in (dataset.train, dataset.test):
        digest.update(b"-" if rows is None else np.asarray(rows).astype("<i8").tobytes())
    return digest.hexdigest()[:16]


def _cpu() -> str:
    """Return the processor's name as reported by the system."""
    facts = Path("/proc/cpuinfo")
    if facts.is_file():
        for line in facts.read_text(encoding="utf-8", errors="replace").splitlines():
            name, _, value = line.partition(":")
            if name.strip() == "model name":
                return value.strip()
    return platform.processor() or platform.machine()
