"""What estimators take, what they refuse, and in which words."""

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse

import vicinal
from vicinal.decision import LabelThresholds, Threshold
from vicinal.errors import InvalidArgumentError
from vicinal.index import build_index
from vicinal.methods import METHODS

pytestmark = pytest.mark.native


@pytest.fixture(params=METHODS)
def model(request: pytest.FixtureRequest, make_method: Any) -> Any:
    return make_method(request.param)


@pytest.mark.parametrize(
    "frame", [pd.DataFrame, lambda d: pl.DataFrame(d)], ids=["pandas", "polars"]
)
def test_frames_keep_feature_and_label_names(model: Any, frame: Any, sample: Any) -> None:
    features = {f"f{j}": sample.X[:, j] for j in range(6)}
    labels = {name: sample.Y[:, j] for j, name in enumerate("edcba")}
    plain = model.fit(sample.X, sample.Y).predict(sample.X_test)
    model.fit(frame(features), frame(labels))
    assert model.feature_names_in_.tolist() == list(features)
    assert model.label_names_ == tuple("edcba")
    test = {f"f{j}": sample.X_test[:, j] for j in range(6)}
    assert np.array_equal(model.predict(frame(test)), plain)
    with pytest.raises(ValueError, match="feature names"):
        model.predict(frame(dict(reversed(list(test.items())))))


def test_labels_as_names_answer_in_names(model: Any, sample: Any) -> None:
    names = np.array(list("edcba"))
    rows = [set(names[row == 1]) for row in sample.Y]
    model.fit(sample.X, rows)
    assert model.label_names_ == tuple("abcde")
    predicted = model.predict(sample.X_test)
    assert sparse.issparse(predicted)
    wanted = [[model.label_names_[j] for j in np.flatnonzero(row)] for row in predicted.toarray()]
    assert model.predict_names(sample.X_test) == wanted


@pytest.mark.parametrize(
    ("make", "kind", "dtype"),
    [
        (lambda Y: Y.astype(np.int8), np.ndarray, np.int8),
        (lambda Y: Y.astype(bool), np.ndarray, np.bool_),
        (lambda Y: Y.tolist(), np.ndarray, np.int64),
        (lambda Y: Y.astype(np.float16), np.ndarray, np.float64),
        (lambda Y: Y.astype(">i4"), np.ndarray, np.int32),
        (sparse.csr_array, sparse.csr_array, np.int64),
        (lambda Y: sparse.csc_matrix(Y.astype(np.float32)), sparse.csr_array, np.float32),
    ],
)
def test_predict_answers_in_kind(make: Any, kind: Any, dtype: Any, sample: Any) -> None:
    predicted = vicinal.BRkNN(3).fit(sample.X, make(sample.Y)).predict(sample.X_test)
    assert isinstance(predicted, kind)
    assert predicted.dtype == dtype
    plain = vicinal.BRkNN(3).fit(sample.X, sample.Y).predict(sample.X_test)
    answer = predicted.toarray() if sparse.issparse(predicted) else predicted
    assert np.array_equal(answer, plain)


def test_labels_as_a_column_of_lists(sample: Any) -> None:
    rows = [[f"l{label}" for label in np.flatnonzero(row)] for row in sample.Y]
    for model in (vicinal.BRkNN(3), vicinal.baselines.LabelFrequency(), vicinal.reduction.MDDM(1)):
        model.fit(sample.X, pd.Series(rows))
    further = vicinal.BRkNN(3).fit(sample.X, rows).partial_fit(sample.X[:1], pd.Series([[]]))
    assert len(further.row_ids_) == len(sample.X) + 1


def test_scores_are_sparse_only_where_absent_means_zero(sample: Any) -> None:
    Y = sparse.csr_array(sample.Y)
    votes = vicinal.BRkNN(3).fit(sample.X, Y).predict_proba(sample.X_test)
    assert isinstance(votes, sparse.csr_array)
    posteriors = vicinal.MLkNN(3).fit(sample.X, Y).predict_proba(sample.X_test)
    assert isinstance(posteriors, np.ndarray)
    assert (posteriors > 0).all()
    dense = vicinal.BRkNN(3).fit(sample.X, sample.Y).predict_proba(sample.X_test)
    assert np.array_equal(votes.toarray(), dense)


BAD_X: list[tuple[Any, str]] = [
    ([[np.nan] * 6] * 50, "NaN"),
    ([[np.inf] * 6] * 50, "infinity"),
    ([["a"] * 6] * 50, r"^X: expected numbers, got texts \(put a TextVectorizer"),
    (np.zeros((50, 6), dtype=complex), "[Cc]omplex"),
    (np.zeros(50), "two dimensions, one row per item|one-dimensional"),
    (np.zeros((0, 6)), "0 sample"),
    (np.zeros((50, 0)), "0 feature"),
    (np.zeros((5, 5, 2)), "dim"),
    (sparse.csr_array(([np.nan], ([0], [0])), shape=(50, 6)), "NaN"),
]


@pytest.mark.parametrize(("X", "message"), BAD_X)
def test_bad_features_are_refused(model: Any, X: Any, message: str, sample: Any) -> None:
    with pytest.raises((ValueError, TypeError), match=message):
        model.fit(X, sample.Y)
    model.fit(sample.X, sample.Y)
    with pytest.raises((ValueError, TypeError), match=message):
        model.predict(X)


BAD_Y: list[tuple[Any, str]] = [
    (None, r"^Y: expected labels, got None \(fit\(X, Y\)"),
    (np.full((50, 2), 2), "^Y: expected values 0 and 1 only, got 2"),
    (np.full((50, 2), np.nan), "^Y: expected values 0 and 1 only, got nan"),
    (np.full((50, 2), "x"), "^Y: expected values 0 and 1"),
    (np.arange(50), "^Y: expected a list of label names per row.*one-dimensional multiclass"),
    (["a"] * 50, "^Y: expected a list of label names per row.*got one string per row"),
    (np.where(np.arange(50) % 2, 1, -1), "^Y: expected a list of label names per row"),
    (np.zeros((49, 2)), "^Y: expected 50 rows"),
    (np.zeros((50, 0)), "^Y: expected at least one label"),
    ([["a"]] * 49, "^Y: expected 50 rows"),
    ([["a"]] * 49 + [[3]], "^Y: expected label names"),
    ([[]] * 50, "^Y: expected at least one label"),
    (sparse.csr_array(np.full((50, 2), 3)), "^Y: expected values 0 and 1 only, got 3"),
    (pd.DataFrame({"a": ["yes"] * 50}), "^Y: expected"),
]


@pytest.mark.parametrize(("Y", "message"), BAD_Y, ids=range(len(BAD_Y)))
def test_bad_labels_are_refused_by_name(Y: Any, message: str, sample: Any) -> None:
    with pytest.raises(InvalidArgumentError, match=message):
        vicinal.BRkNN().fit(sample.X, Y)


BAD_PARAMS: list[tuple[dict[str, Any], str]] = [
    ({"metric": "manhattan"}, "^metric: expected one of"),
    ({"threshold": "best"}, "^threshold: expected"),
    ({"threshold": float("nan")}, "^threshold: expected a finite number"),
    ({"threshold": True}, "^threshold: expected"),
    ({"threshold": Threshold}, "^threshold: expected"),
    ({"threshold": LabelThresholds(np.zeros(3))}, "^values: expected 5 thresholds, got 3"),
    ({"never_empty": "yes"}, "^never_empty: expected"),
    ({"n_jobs": 0}, "^n_jobs: expected"),
    ({"n_jobs": 1.5}, "^n_jobs: expected"),
]


@pytest.mark.parametrize(("params", "message"), BAD_PARAMS, ids=repr)
def test_bad_parameters_are_refused_at_fit(
    model: Any, params: dict[str, Any], message: str, sample: Any
) -> None:
    model.set_params(**params)
    with pytest.raises(InvalidArgumentError, match=message):
        model.fit(sample.X, sample.Y)


@pytest.mark.parametrize("value", [0, -1, 2.0, "3", None, True])
def test_bad_numbers_of_neighbours(model: Any, value: Any, sample: Any) -> None:
    for key in [key for key in model.get_params() if key.startswith("n_neighbors")]:
        changed = {other: 3 for other in model.get_params() if other.startswith("n_neighbors")}
        model.set_params(**{**changed, key: value})
        with pytest.raises(InvalidArgumentError, match=f"^{key}: expected an integer"):
            model.fit(sample.X, sample.Y)


def test_another_number_of_features(model: Any, sample: Any) -> None:
    model.fit(sample.X, sample.Y)
    with pytest.raises(ValueError, match="5 features"):
        model.predict(sample.X_test[:, :5])


def graphs(sample: Any) -> dict[str, tuple[Any, str]]:
    """Graphs that will not do at fit, and the words that say why."""
    index = build_index(sample.X, "euclidean")
    return {
        "other rows": (build_index(sample.X[:9], "euclidean").query_self(3), "50 queries among 50"),
        "too narrow": (index.query_self(2), "at least 4 neighbours per row"),
        "with itself": (index.query(sample.X, 4), "row 0 as its own neighbour"),
        "no graph": (np.zeros((50, 4)), "a NeighborGraph"),
    }


@pytest.mark.parametrize("what", ["other rows", "too narrow", "with itself", "no graph"])
def test_wrong_graphs_at_fit(what: str, sample: Any) -> None:
    graph, message = graphs(sample)[what]
    with pytest.raises(InvalidArgumentError, match=f"^graph: expected.*{message}"):
        vicinal.BRkNN(4).fit(sample.X, sample.Y, graph=graph)


def test_wrong_graphs_at_predict(sample: Any) -> None:
    model = vicinal.BRkNN(4).fit(sample.X, sample.Y)
    near, cosine = (build_index(sample.X, metric) for metric in ("euclidean", "cosine"))
    for graph, message in [
        (near.query(sample.X_test[:3], 4), "20 queries among 50"),
        (near.query(sample.X_test, 3), "at least 4 neighbours"),
        (cosine.query(sample.X_test, 4), "model's metric, euclidean"),
        ("graph", "a NeighborGraph"),
    ]:
        with pytest.raises(InvalidArgumentError, match=f"^graph: expected.*{message}"):
            model.predict(sample.X_test, graph=graph)


@pytest.mark.parametrize(
    "method", ["predict", "predict_proba", "predict_names", "rank", "scores", "kneighbors"]
)
def test_not_fitted_yet(model: Any, method: str, sample: Any) -> None:
    with pytest.raises(ValueError, match="not fitted"):
        getattr(model, method)(sample.X_test)


def test_other_columns_are_refused_with_a_remedy(sample: Any) -> None:
    model = vicinal.MLkNN(3).fit(sample.X, sample.Y)
    with pytest.raises(ValueError, match=r"expecting 6 features as input \(prepare new rows"):
        model.predict(sample.X[:, :2])
