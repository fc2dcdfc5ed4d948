"""Explanations of every method on random data full of ties and edge cases."""

import inspect
import json
import warnings
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.special import expit

from vicinal.errors import InvalidArgumentError
from vicinal.methods import METHODS
from vicinal.methods._formulas import one_by_one
from vicinal.methods.blend.scoring import LEAST_PROBABILITY

pytestmark = [pytest.mark.native, pytest.mark.filterwarnings("ignore")]

PALETTES = {
    "binary": [0.0, 0.0, 1.0],
    "constant": [0.7],
    "counts": [0.0, 0.0, 1.0, 2.0, 3.0],
    "signed": [0.0, 1.0, -1.0, 2.0],
    "thirds": [0.0, 0.1, 0.2, 1 / 3, 0.7],
}
EXTREME = [0.0, 1e-200, 1e200, 1e-170, 1.0, 1e150, 1e6 + 1]
VARIANTS: dict[str, list[dict[str, Any]]] = {
    "brknn": [{}, {"variant": "a"}, {"variant": "b"}],
    "mlknn": [{}, {"smoothing": 0.0}],
    "dmlknn": [{"tolerance": 0}, {"tolerance": 1, "smoothing": 0.0}],
    "lamlknn": [{"n_clusters": 1}, {"n_clusters": 3, "random_state": 0}],
    "iblr": [{}, {"augment": True}],
    "instance-knn": [{}, {"second_order": True}, {"power": 2.0}],
    "feature-knn": [
        {"aggregate": aggregate, "neighbors_of": of}
        for aggregate in ("mean", "max", "kept-mean")
        for of in ("feature", "label")
    ],
    "label-ridge": [{}, {"max_features": 2}, {"kernel": "rbf"}],
    "local-ridge": [{}, {"alpha": 1e-3}, {"center": True}],
    "lcif": [{"mixing": 0.3}, {"mixing": 1.0, "aggregate": "max"}, {"second_order": True}],
}


@st.composite
def problems(draw):
    palette = PALETTES[draw(st.sampled_from(sorted(PALETTES)))]
    metric = draw(st.sampled_from(["euclidean", "cosine", "dot"]))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n, m, n_labels, k = (int(rng.integers(1, most + 1)) for most in (14, 6, 5, 6))
    fill = rng.choice([0.0, 0.4, 1.0])
    X, Q = (rng.choice(palette, size=(k, m)) * (rng.random((k, m)) < fill) for k in (n, 3))
    Q[0] = X[rng.integers(n)]
    Y = (rng.random((n, n_labels)) < rng.choice([0.0, 0.3, 0.6, 1.0])).astype(int)
    if rng.integers(2):
        X, Q = sparse.csr_array(X), sparse.csr_array(Q)
    return X, Y, Q, k, metric


def fitted(name, variant, X, Y, k, metric):
    kind = METHODS[name]
    ks = {key: k for key in inspect.signature(kind).parameters if key.startswith("n_neighbors")}
    return kind(**ks, **variant, metric=metric).fit(X, Y)


def close(a: float, b: float) -> bool:
    return abs(a - b) <= 1e-12 * max(1.0, abs(a), abs(b))


@pytest.mark.parametrize(
    ("name", "variant"),
    [(name, variant) for name in METHODS for variant in VARIANTS.get(name, [{}])],
    ids=str,
)
@settings(max_examples=40)
@given(problem=problems())
def test_parts_add_up_to_the_score(name, variant, problem):
    X, Y, Q, k, metric = problem
    model = fitted(name, variant, X, Y, k, metric)
    scores = model.scores(Q).toarray()
    n_labels = Y.shape[1]
    for row, why in enumerate(model.explain(Q, labels=range(n_labels))):
        assert [one.label for one in why.labels] == list(model.label_names_)
        for label, one in enumerate(why.labels):
            assert one.score == scores[row, label]
            assert close(one.base + sum(part.share for part in one.parts), one.value)
            given_score = one.value if one.scale == "score" else float(expit(one.value))
            if name == "blend":  # no candidate has a smaller probability
                given_score = max(given_score, LEAST_PROBABILITY)
            assert close(given_score, one.score)


@settings(max_examples=60)
@given(problem=problems())
def test_votes_share_alike_whatever_the_order_they_are_added_in(problem):
    X, Y, Q, k, metric = problem
    model = fitted("mlknn", {}, X, Y, k, metric)
    labels = list(range(Y.shape[1]))
    near = model.search_.query(model._read_new_X(Q), k)
    for row in range(3):
        one = near.queries(row, row + 1)
        own = model.scoring_.explain(one, labels)
        stepwise = one_by_one(model.scoring_, one, labels)
        for mine, other in zip(own, stepwise, strict=True):
            assert close(mine.base, other.base)
            assert close(mine.total, other.total)
            shares = mine.terms[0].shares
            assert len(set(shares[shares != 0].tolist())) <= 1


@settings(max_examples=60)
@given(problem=problems())
def test_shared_features_add_up_to_the_similarity(problem):
    X, Y, Q, k, metric = problem
    model = fitted("brknn", {}, X, Y, k, metric)
    if metric == "euclidean":
        return
    for why in model.explain(Q):
        for neighbor in why.neighbors:
            assert close(sum(part.share for part in neighbor.shared), neighbor.value)


@settings(max_examples=40)
@given(problem=problems())
def test_default_labels_are_the_predicted_and_the_best(problem):
    X, Y, Q, k, metric = problem
    model = fitted("brknn", {"variant": "a"}, X, Y, k, metric)
    ids, _ = model.rank(Q, 2)
    scores, names = model.scores(Q).toarray(), model.predict_names(Q)
    for row, why in enumerate(model.explain(Q, top=2)):
        expected = {*(model.label_names_[label] for label in ids[row]), *names[row]}
        assert {one.label for one in why.labels} == expected
        order = [(-one.score, model.label_names_.index(one.label)) for one in why.labels]
        assert order == sorted(order)
        assert list(why.predicted) == names[row]
        assert [one.score for one in why.labels] == [
            scores[row, model.label_names_.index(one.label)] for one in why.labels
        ]


@pytest.mark.parametrize("name", METHODS)
@settings(max_examples=25)
@example(seed=734, metric="euclidean")  # without all rows that support a label, no row is left
@given(seed=st.integers(0, 2**32 - 1), metric=st.sampled_from(["euclidean", "cosine", "dot"]))
def test_values_of_any_size(name, seed, metric):
    rng = np.random.default_rng(seed)
    X, Q = (rng.choice(EXTREME, size=(rows, 3)) for rows in (6, 2))
    Y = (rng.random((6, 2)) < 0.5).astype(int)
    try:
        model = fitted(name, {}, X, Y, 3, metric)
        model.scores(Q)
    except InvalidArgumentError:
        return  # weights that are infinite give no scores to explain
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            found = model.explain(Q, labels=[0, 1], what_if=True)
        except InvalidArgumentError:
            assert name == "local-ridge"  # without a feature its weights may be infinite too
            return
        json.loads(found.to_json())
        assert found.to_html()
    for why in found:
        for one in why.labels:
            assert close(one.base + sum(part.share for part in one.parts), one.value)
