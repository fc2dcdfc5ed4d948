"""Predictions of baselines, in the same form as those of neighbour methods."""

from scipy import sparse

from vicinal._base.arrays import Csr
from vicinal._base.indicator import check_indicator
from vicinal.baselines._classifier import MultiLabelClassifier
from vicinal.datasets import Dataset
from vicinal.scores import Scores


def baseline_answers(
    model: MultiLabelClassifier, train: Dataset, test: Dataset
) -> tuple[Csr, Scores]:
    """Fit a baseline and return its label sets and scores for the test rows."""
    model.fit(train.X, train.Y)
    predicted = check_indicator(sparse.csr_array(model.predict(test.X)))
    return predicted, model.scores(test.X)
