"""What a method without neighbours answers, in the terms of the others."""

from scipy import sparse

from vicinal._base.arrays import Csr
from vicinal._base.indicator import check_indicator
from vicinal.baselines._classifier import MultiLabelClassifier
from vicinal.datasets import Dataset
from vicinal.scores import Scores


def baseline_answers(
    model: MultiLabelClassifier, train: Dataset, test: Dataset
) -> tuple[Csr, Scores]:
    """Fit a comparison method and return its label sets and scores of the test rows."""
    model.fit(train.X, train.Y)
    predicted = check_indicator(sparse.csr_array(model.predict(test.X)))
    return predicted, model.scores(test.X)
