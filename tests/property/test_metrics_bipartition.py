"""Metrics of predicted sets against their definitions, in sets."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from vicinal.metrics import evaluate

pytestmark = pytest.mark.native


@st.composite
def pairs(draw):
    shape = draw(st.integers(1, 6)), draw(st.integers(1, 6))
    shares = draw(st.tuples(*[st.sampled_from([0.0, 0.2, 0.5, 0.8, 1.0])] * 2))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    return tuple((rng.random(shape) < share).astype(np.int8) for share in shares)


def sets(matrix):
    return [set(np.flatnonzero(row).tolist()) for row in matrix]


def share(part, whole, otherwise):
    return part / whole if whole else otherwise


def mean(values):
    values = list(values)
    return sum(values) / len(values)


def f1_of(precision, recall):
    return share(2 * precision * recall, precision + recall, 0.0)


def of_rows(Y, Z, n_labels, jaccard_empty, f1_empty):
    rows = list(zip(sets(Y), sets(Z), strict=True))
    precision = mean(share(len(y & z), len(z), 0.0 if y else f1_empty) for y, z in rows)
    recall = mean(share(len(y & z), len(y), 0.0 if z else f1_empty) for y, z in rows)
    accuracy = mean(share(len(y & z), len(y | z), jaccard_empty) for y, z in rows)
    return {
        "hamming-loss": mean(len(y ^ z) / n_labels for y, z in rows),
        "subset-accuracy": mean(y == z for y, z in rows),
        "example-accuracy": accuracy,
        "jaccard-loss": 1 - accuracy,
        "example-precision": precision,
        "example-recall": recall,
        "example-f1": mean(share(2 * len(y & z), len(y) + len(z), f1_empty) for y, z in rows),
        "example-f1-of-means": f1_of(precision, recall),
        "cardinality": mean(len(z) for _, z in rows),
        "empty-share": mean(not z for _, z in rows),
    }


def of_labels(Y, Z, unused):
    columns = list(zip(sets(Y.T), sets(Z.T), strict=True))
    values = {"precision": [], "recall": [], "f1": []}
    for y, z in columns:
        none = unused if not y | z else 0.0
        values["precision"].append(share(len(y & z), len(z), none))
        values["recall"].append(share(len(y & z), len(y), none))
        values["f1"].append(share(2 * len(y & z), len(y) + len(z), none))
    tp = sum(len(y & z) for y, z in columns)
    true, given_ = sum(len(y) for y, _ in columns), sum(len(z) for _, z in columns)
    return {
        "micro-precision": share(tp, given_, 0.0),
        "micro-recall": share(tp, true, 0.0),
        "micro-f1": share(2 * tp, true + given_, 0.0),
        **{f"macro-{name}": mean(each) for name, each in values.items()},
    }


@pytest.mark.parametrize(
    ("system", "jaccard_empty", "f1_empty", "unused"),
    [
        ("vicinal", 1.0, 1.0, 0.0),
        ("sklearn", 0.0, 0.0, 0.0),
        ("mulan", 1.0, 1.0, 1.0),
        ("meka", 1.0, 0.0, 0.0),
    ],
)
@settings(deadline=None)
@given(pair=pairs())
def test_predicted_sets(pair, system, jaccard_empty, f1_empty, unused):
    Y, Z = pair
    expected = of_rows(Y, Z, Y.shape[1], jaccard_empty, f1_empty) | of_labels(Y, Z, unused)
    assert evaluate(Y, Z, conventions=system) == pytest.approx(expected)
    answer = evaluate(sparse.csc_array(Y), sparse.coo_matrix(Z), conventions=system)
    assert answer == pytest.approx(expected)
