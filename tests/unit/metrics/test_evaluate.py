"""Names, order and choice of the metrics; what they cost."""

import inspect
import logging
import tracemalloc
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import sparse
from sklearn.linear_model import RidgeClassifier
from sklearn.multiclass import OneVsRestClassifier
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

import vicinal.metrics
from vicinal.errors import InvalidArgumentError
from vicinal.metrics import METRICS, MetricAccumulator, evaluate, metric_info, scorer
from vicinal.metrics.auc import cut
from vicinal.scores import Scores

pytestmark = pytest.mark.native

Y = [[1, 0, 1, 0], [0, 1, 0, 0], [0, 0, 0, 1]]
Z = [[1, 1, 0, 0], [0, 1, 0, 0], [0, 0, 0, 0]]
F = [[0.9, 0.5, 0.2, 0.5], [0.1, 0.8, 0.5, 0.0], [0.3, 0.3, 0.3, 0.3]]

OF_LABELS = [
    "hamming-loss",
    "subset-accuracy",
    "example-accuracy",
    "jaccard-loss",
    "example-precision",
    "example-recall",
    "example-f1",
    "example-f1-of-means",
    "micro-precision",
    "micro-recall",
    "micro-f1",
    "macro-precision",
    "macro-recall",
    "macro-f1",
    "cardinality",
    "empty-share",
]
OF_SCORES = [
    "one-error",
    "coverage",
    "coverage-normalised",
    "ranking-loss",
    "average-precision",
    "r-precision",
    "macro-auc",
    "micro-auc",
    "macro-auc-pr",
    "micro-auc-pr",
    "log-loss",
    "brier-score",
    "calibration-error",
    "precision@1",
    "precision@3",
    "precision@5",
    "recall@1",
    "recall@3",
    "recall@5",
    "f1@1",
    "f1@3",
    "f1@5",
    "ndcg@1",
    "ndcg@3",
    "ndcg@5",
]
OF_COUNTS = [
    "psp@1",
    "psp@3",
    "psp@5",
    "psndcg@1",
    "psndcg@3",
    "psndcg@5",
]


def test_the_names_follow_the_input():
    assert list(evaluate(Y, labels=Z)) == OF_LABELS
    assert list(evaluate(Y, scores=F)) == OF_SCORES
    both = evaluate(Y, Z, F, train_label_counts=[1, 2, 3, 4])
    assert list(both) == OF_LABELS + OF_SCORES + OF_COUNTS
    assert all(type(value) is float for value in both.values())


def test_the_values_of_a_hand_made_table():
    answer = evaluate(Y, Z, F, k=2)
    hand = {
        "hamming-loss": 3 / 12,  # rows differ in 2, 0, 1 of 4 cells
        "subset-accuracy": 1 / 3,
        "example-accuracy": (1 / 3 + 1 + 0) / 3,
        "example-precision": (1 / 2 + 1 + 0) / 3,
        "example-recall": (1 / 2 + 1 + 0) / 3,
        "example-f1": (1 / 2 + 1 + 0) / 3,
        "example-f1-of-means": 1 / 2,
        "micro-precision": 2 / 3,  # tp 2, fp 1, fn 2
        "micro-recall": 2 / 4,
        "micro-f1": 4 / 7,
        "macro-precision": (1 + 1 / 2 + 0 + 0) / 4,
        "macro-recall": (1 + 1 + 0 + 0) / 4,
        "macro-f1": (1 + 2 / 3 + 0 + 0) / 4,
        "cardinality": 1.0,
        "empty-share": 1 / 3,
        "one-error": 1 / 3,  # ranks of the true labels: {1, 4}, {1}, {4}
        "coverage": (3 + 0 + 3) / 3,
        "coverage-normalised": 2 / 4,
        "ranking-loss": (2 / 4 + 0 + 1) / 3,
        "average-precision": ((1 + 2 / 4) / 2 + 1 + 1 / 4) / 3,
        "precision@2": 2 / 6,
        "ndcg@2": (1 / (1 + 1 / np.log2(3)) + 1 + 0) / 3,
    }
    assert {name: answer[name] for name in hand} == pytest.approx(hand)


def test_metrics_are_chosen_by_name_in_the_order_asked():
    chosen = evaluate(Y, Z, F, metrics=["ndcg@2", "micro-f1", "one-error"])
    everything = evaluate(Y, Z, F, k=[2])
    assert list(chosen) == ["ndcg@2", "micro-f1", "one-error"]
    assert chosen == {name: everything[name] for name in chosen}


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("hamming_loss", "did you mean 'hamming-loss'"),
        ("precision@k", "did you mean 'precision@1'"),
        ("precision@0", "precision@1"),
        ("xyz", "the name of a metric .hamming-loss, .*psndcg@k., got 'xyz'"),
        (3, "psndcg@k., got 3"),
    ],
)
def test_unknown_names_get_a_hint(name, message):
    with pytest.raises(InvalidArgumentError, match=message):
        evaluate(Y, Z, F, metrics=[name])


def test_metrics_that_are_no_names_are_refused():
    with pytest.raises(InvalidArgumentError, match="metrics: expected a sequence of values, got 3"):
        evaluate(Y, Z, F, metrics=3)


@pytest.mark.parametrize(
    ("name", "given", "lacking"),
    [
        ("micro-f1", {"scores": F}, "labels"),
        ("coverage", {"labels": Z}, "scores"),
        ("psp@1", {"scores": F}, "train_label_counts"),
    ],
)
def test_a_metric_says_what_it_needs(name, given, lacking):
    with pytest.raises(InvalidArgumentError, match=f"{lacking}: expected a value, which {name}"):
        evaluate(Y, metrics=name, **given)


NOTHING = np.zeros((3, 4), dtype=int)


@pytest.mark.parametrize("system", ["vicinal", "sklearn", "mulan", "meka"])
@pytest.mark.parametrize("k", [1, 3])
@pytest.mark.parametrize(("truth", "labels"), [(Y, Z), (NOTHING, NOTHING), (Y, NOTHING)])
def test_each_metric_has_a_function(system, k, truth, labels):
    counts = [1, 2, 3, 4]
    expected = evaluate(truth, labels, F, k=k, train_label_counts=counts, conventions=system)
    assert len(expected) == len(METRICS)
    for name, info in METRICS.items():
        function = getattr(vicinal.metrics, name.replace("-", "_").replace("@k", "_at_k"))
        depends = "conventions" in inspect.signature(function).parameters
        extra = {"conventions": system} if depends else {}
        if info.needs_counts:
            extra["train_label_counts"] = counts
        if name.endswith("@k") and k != 1:  # which it is unless told
            extra["k"] = k
        of_labels_alone = name in ("cardinality", "empty-share")
        arguments = (
            (labels,) if of_labels_alone else (truth, labels if info.needs == "labels" else F)
        )
        value = expected[name.replace("@k", f"@{k}")]
        np.testing.assert_equal(function(*arguments, **extra), value, err_msg=name)


@pytest.mark.parametrize("name", [name for name in METRICS if name.endswith("@k")])
def test_a_depth_is_at_least_one(name):
    function = getattr(vicinal.metrics, name.replace("@k", "_at_k"))
    extra = {"train_label_counts": [1, 2, 3, 4]} if METRICS[name].needs_counts else {}
    with pytest.raises(InvalidArgumentError, match="k: expected an integer of at least 1"):
        function(Y, F, k=0, **extra)


def test_the_catalogue_knows_which_side_is_better():
    low = {name for name, info in METRICS.items() if info.better == "low"}
    assert low == {
        "hamming-loss",
        "jaccard-loss",
        "one-error",
        "coverage",
        "coverage-normalised",
        "ranking-loss",
        "log-loss",
        "brier-score",
        "calibration-error",
    }
    assert {name for name, info in METRICS.items() if info.better == "none"} == {
        "cardinality",
        "empty-share",
    }
    assert metric_info("psp@7").needs_counts
    assert metric_info("psp@7").k == 7


def random_sparse(rng, n_rows, n_labels, per_row):
    ids = np.sort(rng.integers(0, n_labels // per_row, (n_rows, per_row)), axis=1)
    ids += np.arange(per_row) * (n_labels // per_row)  # rising and distinct
    values = rng.integers(1, 5, ids.size) / 4
    starts = np.arange(0, ids.size + 1, per_row)
    return sparse.csr_array((values, ids.ravel(), starts), shape=(n_rows, n_labels))


def test_many_labels_are_not_made_dense():
    rng = np.random.default_rng(0)
    n_rows, n_labels = 200, 300_000
    truth = random_sparse(rng, n_rows, n_labels, 4) > 0
    scores = Scores.sparse(random_sparse(rng, n_rows, n_labels, 30), base=rng.random(n_labels))
    counts = rng.integers(0, 100, n_labels)
    tracemalloc.start()
    try:
        evaluate(truth, truth, scores, train_label_counts=counts, n_train_rows=1000)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 60e6  # dense, one byte a cell would be as much; some 20 arrays of L are not


def test_threads_do_not_change_a_bit():
    rng = np.random.default_rng(1)
    truth = random_sparse(rng, 500, 900, 5) > 0
    scores = Scores.sparse(random_sparse(rng, 500, 900, 40), base=rng.integers(0, 4, 900) / 4)
    answers = [evaluate(truth, truth, scores, n_jobs=jobs, k=[3]) for jobs in (1, 2, 7)]
    assert answers[0] == answers[1] == answers[2]


def test_labels_that_score_below_all_others_change_nothing():
    rng = np.random.default_rng(2)
    truth, dense = rng.random((40, 8)) < 0.3, rng.integers(0, 5, (40, 8)) / 4
    names = ["one-error", "coverage", "average-precision", "precision@3", "ndcg@3"]
    base = np.concatenate([np.zeros(8), np.full(100_000, -1.0)])
    stored = sparse.csr_array(dense)
    stored.resize((40, 100_008))
    wide = sparse.csr_array(truth)
    wide.resize((40, 100_008))
    for system in ("vicinal", "mulan"):
        few = evaluate(truth, scores=dense, metrics=names, conventions=system)
        many = evaluate(wide, scores=Scores.sparse(stored, base), metrics=names, conventions=system)
        assert many == few


def test_one_dimensional_labels_are_one_label():
    truth, predicted, scores = [1, 0, 1], np.array([1, 1, 1]), np.array([0.9, 0.4, 0.6])
    columns = [np.asarray(each)[:, None] for each in (truth, predicted, scores)]
    assert evaluate(truth, predicted, scores) == evaluate(*columns)
    running = MetricAccumulator(metrics=["micro-f1", "macro-auc"])
    running.add(truth[:1], predicted[:1], scores[:1]).add(truth[1:], predicted[1:], scores[1:])
    assert running.result() == evaluate(*columns, metrics=["micro-f1", "macro-auc"])


@pytest.mark.parametrize(
    "model",
    [
        KNeighborsClassifier(3),
        make_pipeline(StandardScaler(), KNeighborsClassifier(3)),
        OneVsRestClassifier(LinearSVC()),
    ],
)
def test_scorers_of_other_libraries_models(model):
    """As the metric of the scores of each label; a label that no training row has scores 0."""
    rng = np.random.default_rng(0)
    X = rng.random((40, 3))
    Y = np.column_stack([X[:, 0] > 0.5, X[:, 1] > 0.3, np.zeros(40)]).astype(int)
    if isinstance(model, OneVsRestClassifier):
        Y[:, 2] = Y[:, 0]
        scores = model.fit(X, Y).decision_function(X)
    else:
        each = model.fit(X, Y).predict_proba(X)
        scores = np.column_stack([each[0][:, 1], each[1][:, 1], np.zeros(40)])
    truth = np.roll(Y, 1, axis=0)
    wanted = evaluate(truth, scores=scores, metrics=["ranking-loss"])["ranking-loss"]
    assert 0 < wanted < 1
    assert scorer("ranking-loss")(model, X, truth) == -wanted


def test_scorers_of_models_without_scores():
    model = RidgeClassifier().fit([[0.0], [1.0]], [[0, 1], [1, 0]])
    plain = SimpleNamespace(predict=model.predict)
    with pytest.raises(InvalidArgumentError, match="estimator: expected one with predict_proba"):
        scorer("ranking-loss")(plain, [[0.0]], [[0, 1]])
    assert scorer("subset-accuracy")(plain, [[0.0]], [[0, 1]]) == 1.0


def area_of(scores, truth, most):
    """The macro-AUC of one label over rows that come in two blocks, and how it was made."""
    running = MetricAccumulator(metrics="macro-auc", most_scores=most)
    for part in np.array_split(np.arange(len(scores)), 2):
        running.add(truth[part, None], scores=scores[part, None])
    return running.result()["macro-auc"], running


def test_scores_are_cut_where_there_are_too_many_and_it_is_said_once(caplog):
    scores = 1 + np.arange(8) / 2**40
    truth = np.array([0, 1, 0, 1, 1, 0, 1, 1])
    with caplog.at_level(logging.INFO, logger="vicinal"):
        exact, running = area_of(scores, truth, 8)
        assert running.exact_areas
        assert not caplog.records
        whole = evaluate(truth[:, None], scores=scores[:, None], metrics="macro-auc")["macro-auc"]
        assert exact == whole
        rough, running = area_of(scores, truth, 7)
        assert not running.exact_areas
        assert rough == 0.5  # all scores are the same in their first 33 digits
        running.result()
    assert [record.getMessage() for record in caplog.records] == [
        "areas under curves: more than 7 different scores; compared by their first 33 binary digits"
    ]
    np.testing.assert_array_equal(cut(scores, 52), scores)
    np.testing.assert_array_equal(cut(scores, 32), np.ones(8))
    scattered = 2.0 ** np.arange(8)
    assert area_of(scattered, truth, 1)[1]._state.tally.digits == 0


def test_a_base_score_that_no_cell_has_takes_no_place_among_the_scores():
    """Both rows store the label, so two scores are all there are."""
    scores = Scores.sparse(sparse.csr_array(np.array([[0.5], [0.75]])))
    running = MetricAccumulator(metrics="macro-auc", most_scores=2).add([[0], [1]], scores=scores)
    assert running.result() == {"macro-auc": 1.0}
    assert running.exact_areas


def test_one_right_and_one_wrong_cell_have_an_area():
    found = evaluate([[1, 0]], scores=[[0.9, 0.1]], metrics="micro-auc")
    assert found["micro-auc"] == 1.0
    running = MetricAccumulator(metrics="micro-auc").add([[1, 0]], scores=[[0.9, 0.1]])
    assert running.result()["micro-auc"] == 1.0
    for truth in ([[1, 1]], [[0, 0]]):
        running = MetricAccumulator(metrics="micro-auc").add(truth, scores=[[0.9, 0.1]])
        assert np.isnan(running.result()["micro-auc"])
