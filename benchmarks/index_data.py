"""Matrices to search in: generated with the shape of Wiki-LSHTC, or a data set of the catalogue."""

import importlib
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy import sparse

from vicinal._core.arrays import Csr, Int
from vicinal.datasets.generated import zipf_rows
from vicinal.preprocess import TfIdf

KINDS = ("binary", "uniform", "tfidf", "weighted")


@dataclass(frozen=True, eq=False)
class Case:
    """Rows to index and queries; these are not among the rows unless `places` says where."""

    name: str
    rows: Csr
    queries: Csr
    places: Int | None = None


def with_weights(matrix: Csr, kind: str, seed: int = 7) -> Csr:
    """Give entries of a binary matrix values: "uniform" in (0, 1], or "tfidf" by rarity.

    Uniform weights are the hard case: frequent features weigh as much as rare ones.
    """
    rng = np.random.default_rng(seed)
    values = 1.0 - rng.random(matrix.nnz)
    if kind == "tfidf":
        frequency = np.bincount(matrix.indices, minlength=matrix.shape[1])
        rarity = np.log((1 + matrix.shape[0]) / (1 + frequency)) + 1
        values = (1 + np.floor(-np.log(values))) * rarity[matrix.indices]
    weighted: Csr = matrix.copy()
    weighted.data = values.astype(np.float32)
    return weighted


def generated(n_rows: int, n_features: int, n_queries: int, kind: str) -> Case:
    """Rows and queries of one distribution."""
    both = zipf_rows(n_rows + n_queries, n_features, seed=1)
    if kind != "binary":
        both = with_weights(both, kind)
    name = f"generated {kind} {n_rows // 1000}k × {n_features // 1000}k"
    return Case(name, both[:n_rows], both[n_rows:])


def catalogued(name: str, n_queries: int, kind: str, *, sampled: bool = False) -> Case:
    """Return a data set's features and rows held out as queries, or some of the rows themselves.

    `kind`: "binary"; "tfidf", the weights that the library gives to words that a text has or lacks;
    or "weighted", the values of the data set, or those of :func:`with_weights` if all are 1.
    """
    path = Path(name)
    if path.suffix == ".npz":
        matrix = sparse.csr_array(sparse.load_npz(path)).astype(np.float32)
    else:
        load = importlib.import_module("vicinal.datasets").load
        matrix = sparse.csr_array(load(name).X).astype(np.float32)
    matrix.sum_duplicates()
    matrix.eliminate_zeros()
    if kind == "weighted" and set(np.unique(matrix.data)) == {1.0}:
        matrix = with_weights(matrix, "tfidf")
    elif kind != "weighted":
        matrix.data = np.ones(matrix.nnz, dtype=np.float32)
    held_out = min(n_queries, matrix.shape[0] // 4)
    order = np.random.default_rng(3).permutation(matrix.shape[0])
    chosen = order[-held_out:]
    rows, queries = matrix if sampled else matrix[order[:-held_out]], matrix[chosen]
    if kind == "tfidf":
        weigh = TfIdf().fit(rows)
        rows, queries = (sparse.csr_array(weigh.transform(each)) for each in (rows, queries))
    if sampled:
        return Case(f"{path.stem} {kind}, sampled rows left out", rows, queries, chosen)
    return Case(f"{path.stem} {kind}", rows, queries)
