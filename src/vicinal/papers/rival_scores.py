"""What a method without neighbours answers, in the terms of the others."""

import numpy as np
from scipy import sparse

from vicinal._base.arrays import Csr, Features
from vicinal._base.indicator import check_indicator
from vicinal.datasets import Dataset
from vicinal.rivals._classifier import MultiLabelClassifier
from vicinal.scores import Scores


def rival_answers(model: MultiLabelClassifier, train: Dataset, test: Dataset) -> tuple[Csr, Scores]:
    """Fit a comparison method and return its label sets and scores of the test rows."""
    model.fit(short_indices(train.X), train.Y)
    rows = short_indices(test.X)
    return check_indicator(sparse.csr_array(model.predict(rows))), model.scores(rows)


def short_indices(X: Features) -> Features:
    """Return sparse rows with 32-bit indices, the only ones that scikit-learn's machines take."""
    if not isinstance(X, sparse.csr_array):
        return X
    indices, indptr = X.indices.astype(np.int32), X.indptr.astype(np.int32)
    return sparse.csr_array((X.data, indices, indptr), shape=X.shape)
