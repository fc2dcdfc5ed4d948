r"""PCut: each label is predicted for the same share of rows as in the training data.

.. math:: t_l : \quad \#\{i : f(x_i, l) > t_l\} \approx x \cdot \#\{i : y_i(l) = 1\}

The original strategy ranks the rows of a batch and assigns the label to the best of them, so the
prediction for a row depends on the other rows. Here the share is converted into a threshold on the
scores of the training rows, so each row is predicted independently of the others.

References
----------
Y. Yang, "A study of thresholding strategies for text categorization", SIGIR 2001.
"""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from vicinal._base.arrays import Csr
from vicinal._base.state import SaveableRecord
from vicinal._base.validation import check_real
from vicinal.decision.cells import check_truth
from vicinal.decision.label_pooling import HighestOfLabels
from vicinal.decision.label_sweep import sweep_cells
from vicinal.decision.threshold import LabelThresholds
from vicinal.scores import Scores


@dataclass(frozen=True)
class PCut(SaveableRecord):
    """Fit one threshold per label so that the label is predicted as often as it is true.

    Parameters
    ----------
    factor : float
        The *x* above: values above 1 predict labels more often than in training, values below 1
        less often.

    Notes
    -----
    If two thresholds are equally close to the desired count, the higher is taken. Each threshold
    lies midway between successive scores.

    Fitted on blocks of rows. Cost: sorting the stored scores of each block. Memory, in addition to
    one block: about 100 × `factor` bytes per label of the training rows
    (:class:`~vicinal.decision.label_pooling.HighestOfLabels`).

    Examples
    --------
    >>> from scipy import sparse
    >>> Y = sparse.csr_array(np.array([[1, 0], [1, 0], [0, 1]], dtype=np.int32))
    >>> scores = Scores.dense(np.array([[0.75, 0.5], [0.5, 0.25], [0.25, 0.125]]))
    >>> PCut().fit(scores, Y).values
    array([0.375, 0.375])
    """

    factor: float = 1.0

    def __post_init__(self) -> None:
        """Check the factor."""
        check_real("factor", self.factor, low=0)

    def fit(self, scores: Scores, Y: Csr) -> LabelThresholds:
        """Return the thresholds fitted on scores and labels of the training rows."""
        check_truth(scores, Y)
        return self.fit_blocks([scores], Y)

    def fit_blocks(self, blocks: Iterable[Scores], Y: Csr) -> LabelThresholds:
        """Return the same thresholds from scores given in blocks of rows."""
        n_labels = int(Y.shape[1])
        wanted = self.factor * np.bincount(Y.indices, minlength=n_labels)
        highest = HighestOfLabels(wanted)
        for scores in blocks:
            highest.add(scores)
        sweep = sweep_cells(highest.merged())
        if len(sweep.labels) == 0:
            return LabelThresholds(np.zeros(n_labels))
        best = sweep.first_best(-np.abs(sweep.predicted - wanted[sweep.labels]))
        return LabelThresholds(sweep.thresholds[best])
