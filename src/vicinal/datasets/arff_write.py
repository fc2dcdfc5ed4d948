"""The lines of an ARFF file, from a data set."""

from collections import Counter
from collections.abc import Iterator
from itertools import chain

import numpy as np

from vicinal._base.errors import InvalidArgumentError
from vicinal.datasets.arff_header import quoted
from vicinal.datasets.cells import number_texts, sparse_rows
from vicinal.datasets.dataset import Dataset


def arff_lines(dataset: Dataset, relation: str, labels_first: bool) -> Iterator[str]:
    """Yield the lines of an ARFF file with numeric features and labels {0,1}.

    Rows are written in sparse notation if the features are sparse.
    """
    features = [f"@attribute {quoted(name)} numeric\n" for name in dataset.feature_names]
    labels = [f"@attribute {quoted(name)} {{0,1}}\n" for name in dataset.label_names]
    yield f"@relation {quoted(relation)}\n\n"
    yield from labels + features if labels_first else features + labels
    yield "\n@data\n"
    X = dataset.X
    if isinstance(X, np.ndarray) and dataset.n_features:
        yield from _dense_lines(dataset, X, labels_first)
    else:
        yield from _sparse_lines(dataset, labels_first)


def _dense_lines(dataset: Dataset, X: np.ndarray, labels_first: bool) -> Iterator[str]:
    Y = dataset.Y
    for row in range(dataset.n_rows):
        marks = ["0"] * dataset.n_labels
        for label in Y.indices[Y.indptr[row] : Y.indptr[row + 1]].tolist():
            marks[label] = "1"
        cells = number_texts(X[row])
        yield ",".join(marks + cells if labels_first else cells + marks) + "\n"


def _sparse_lines(dataset: Dataset, labels_first: bool) -> Iterator[str]:
    label_at = 0 if labels_first else dataset.n_features
    feature_at = dataset.n_labels if labels_first else 0
    for labels, features, values in sparse_rows(dataset):
        marks = [f"{label + label_at} 1" for label in labels]
        cells = [f"{i + feature_at} {value}" for i, value in zip(features, values, strict=True)]
        yield "{" + ",".join(marks + cells if labels_first else cells + marks) + "}\n"


def check_attribute_names(dataset: Dataset) -> None:
    """Raise if a name occurs twice: ARFF files identify attributes by name."""
    counts = Counter(chain(dataset.feature_names, dataset.label_names))
    name, count = counts.most_common(1)[0] if counts else ("", 0)
    if count > 1:
        raise InvalidArgumentError(
            "dataset", "different names for all features and labels", f"{name!r} twice"
        )
    if not counts:
        raise InvalidArgumentError("dataset", "at least one feature or label", "none")
