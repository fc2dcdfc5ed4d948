"""One SVM a label against scikit-learn's own; the label-frequency baseline."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.svm import SVC, LinearSVC

from vicinal.baselines import BinaryRelevanceSVM, LabelFrequency
from vicinal.decision import CrossValidated, MetricThreshold, NeverEmpty, RCut, Threshold
from vicinal.metrics import micro_f1
from vicinal.scores import Scores

pytestmark = pytest.mark.native


@pytest.mark.parametrize(
    ("kernel", "machine"),
    [
        ("linear", LinearSVC(C=2.0, loss="hinge", random_state=0, max_iter=10_000)),
        ("poly", SVC(C=2.0, kernel="poly", degree=2)),
        ("rbf", SVC(C=2.0, kernel="rbf")),
    ],
)
def test_scores_are_those_of_one_machine_a_label(sample, kernel, machine):
    model = BinaryRelevanceSVM(kernel=kernel, C=2.0, degree=2).fit(sample.X, sample.Y)
    for label, scores in enumerate(model.decision_function(sample.X_test).T):
        own = machine.fit(sample.X, sample.Y[:, label] == 1)
        np.testing.assert_allclose(scores, own.decision_function(sample.X_test))
    expected = model.decision_function(sample.X_test) > 0
    np.testing.assert_array_equal(model.predict(sample.X_test), expected)


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_labels_of_every_row_or_none(sample, kernel):
    Y = sample.Y.copy()
    Y[:, 1], Y[:, 3] = 1, 0
    predicted = BinaryRelevanceSVM(kernel=kernel).fit(sample.X, Y).predict(sample.X_test)
    assert predicted[:, 1].all()
    assert not predicted[:, 3].any()


def test_one_threshold_is_the_best_on_the_training_rows(sample):
    model = BinaryRelevanceSVM(C=0.01, threshold="one-threshold").fit(sample.X, sample.Y)
    scores = model.decision_function(sample.X)
    best = max(micro_f1(sample.Y, (scores > t).astype(int)) for t in np.unique(scores) - 1e-9)
    assert micro_f1(sample.Y, model.predict(sample.X)) == pytest.approx(best)
    plain = BinaryRelevanceSVM(C=0.01).fit(sample.X, sample.Y)
    assert micro_f1(sample.Y, plain.predict(sample.X)) < best


@pytest.mark.parametrize(
    ("threshold", "rule"),
    [
        (None, Threshold(0.0)),
        (-0.5, Threshold(-0.5)),
        (RCut(2), RCut(2)),
        (MetricThreshold("example-f1"), MetricThreshold("example-f1")),
    ],
)
def test_rules(sample, threshold, rule):
    model = BinaryRelevanceSVM(threshold=threshold).fit(sample.X, sample.Y)
    fitted = rule.fit(model.scores(sample.X), sparse.csr_array(sample.Y.astype(np.int32)))
    expected = fitted.decide(model.scores(sample.X_test)).toarray()
    np.testing.assert_array_equal(model.predict(sample.X_test), expected)


@pytest.mark.parametrize(
    "bad",
    [
        {"kernel": "cubic"},
        {"C": 0.0},
        {"threshold": "best"},
        {"threshold": RCut},
        {"threshold": CrossValidated(RCut())},
        {"threshold": NeverEmpty(CrossValidated(RCut()))},
        {"max_iter": 0},
        {"degree": 0},
    ],
)
def test_parameters_are_checked(sample, bad):
    for Y in (sample.Y, np.ones_like(sample.Y)):  # where no machine is trained, too
        with pytest.raises(ValueError, match=f"^{next(iter(bad))}: expected"):
            BinaryRelevanceSVM(**bad).fit(sample.X, Y)


def test_frequencies_whatever_the_features():
    Y = [[1, 0, 1], [1, 0, 0], [1, 0, 0], [1, 0, 1]]
    model = LabelFrequency().fit(np.random.default_rng(0).random((4, 3)), Y)
    np.testing.assert_array_equal(model.predict_proba(np.zeros((2, 3))), [[1.0, 0.0, 0.5]] * 2)
    np.testing.assert_array_equal(model.predict(np.zeros((2, 3))), [[1, 0, 1]] * 2)
    assert isinstance(model.scores(np.zeros((2, 3))), Scores)
