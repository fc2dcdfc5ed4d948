r"""SCut: a threshold for each label, best for that label's F1 on the training rows.

.. math:: t_l = \arg\max_t \frac{2\,tp_l(t)}{\#\{i : f(x_i, l) > t\} + \#\{i : y_i(l) = 1\}}

Rare labels overfit: one lucky row decides. SCutFBR.1 sets the threshold of a label whose best F1
stays below *fbr* to its highest training score.

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
    """Fit a threshold for each label that makes its F1 best on the training rows (SCut).

    Parameters
    ----------
    min_positives : int
        A label that fewer training rows carry is rare: its threshold is its highest training score,
        so it is predicted only on a higher one.
    fbr : float
        So is a label whose best F1 is below this.

    Notes
    -----
    Of equally good thresholds the highest is taken; each lies midway between successive scores.
    Cost: one sort of the stored scores. Memory: the scores of all training rows at once and about
    150 bytes a stored one, and a label: what lies between two scores of a label's rows matters when
    a third row that carries it scores between them.

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
