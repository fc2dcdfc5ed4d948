r"""SCut: one threshold per label that maximises the label's F1 on the training rows.

.. math:: t_l = \arg\max_t \frac{2\,tp_l(t)}{\#\{i : f(x_i, l) > t\} + \#\{i : y_i(l) = 1\}}

For rare labels this overfits, because a single row may determine the threshold. If the best F1 of a
label is below *fbr*, SCutFBR.1 uses the label's highest training score as its threshold.

References
----------
Y. Yang, "A study of thresholding strategies for text categorization", SIGIR 2001.
D. Lewis, Y. Yang, T. Rose, F. Li, "RCV1: a new benchmark collection for text categorization
research", JMLR 5 (2004).
"""

from dataclasses import dataclass

import numpy as np

from vicinal._base.arrays import Csr
from vicinal._base.state import SaveableRecord
from vicinal._base.validation import check_integer, check_real
from vicinal.decision.label_sweep import sweep_labels
from vicinal.decision.threshold import LabelThresholds
from vicinal.scores import Scores


@dataclass(frozen=True)
class PerLabelThreshold(SaveableRecord):
    """Fit one threshold per label that maximises its F1 on the training rows (SCut).

    Parameters
    ----------
    min_positives : int
        A label with fewer training rows is rare: its threshold is its highest training score, so it
        is only predicted for a higher score.
    fbr : float
        A label whose best F1 is below this value is treated in the same way.

    Notes
    -----
    Among equally good thresholds the highest wins. Each threshold lies midway between successive
    scores. Cost: one sort of the stored scores. Memory: the scores of all training rows at once and
    about 150 bytes per stored score and per label. No score can be dropped early, because a later
    row with the label may score between two others.

    Examples
    --------
    >>> from scipy import sparse
    >>> Y = sparse.csr_array(np.array([[1, 0], [1, 0], [0, 1]], dtype=np.int32))
    >>> scores = Scores.dense(np.array([[0.75, 0.5], [0.5, 0.25], [0.25, 0.125]]))
    >>> PerLabelThreshold(min_positives=1).fit(scores, Y).values.round(3)
    array([0.375, 0.125])
    >>> PerLabelThreshold(min_positives=2).fit(scores, Y).values
    array([0.375, 0.5  ])
    """

    min_positives: int = 3
    fbr: float = 0.0

    def __post_init__(self) -> None:
        """Check the fields."""
        check_integer("min_positives", self.min_positives, low=0)
        check_real("fbr", self.fbr, low=0, high=1)

    def fit(self, scores: Scores, Y: Csr) -> LabelThresholds:
        """Return the thresholds fitted on scores and labels of the training rows."""
        n_labels = scores.shape[1]
        sweep = sweep_labels(scores, Y)
        if len(sweep.labels) == 0:
            return LabelThresholds(np.zeros(n_labels))
        positives = np.bincount(Y.indices, minlength=n_labels)
        both = sweep.predicted + positives[sweep.labels]
        f1 = 2 * sweep.tp / np.maximum(both, 1)
        best = sweep.first_best(f1)
        rare = (positives < self.min_positives) | (f1[best] < self.fbr)
        return LabelThresholds(sweep.thresholds[np.where(rare, sweep.nothing(), best)])
