r"""The threshold that predicts as many labels on the training rows as they have.

With :math:`N = \sum_i |Y_i|` and leave-one-out scores of the training rows, the threshold *t* for
which the number of scores above *t* is closest to *N* is the (N+1)-th largest score or, if there
are ties, the next distinct score.

References
----------
L. Feremans, B. Cule, C. Vens, B. Goethals, "Combining instance and feature neighbors for efficient
multi-label classification", DSAA 2017.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from vicinal._base.arrays import Csr, Float, row_ids
from vicinal._base.state import SaveableRecord
from vicinal._base.validation import check_option
from vicinal.decision.cells import check_truth
from vicinal.decision.pooling import CellsAbove, HighestScores
from vicinal.decision.threshold import Threshold
from vicinal.scores import Scores


@dataclass(frozen=True)
class CardinalityThreshold(SaveableRecord):
    """Fit one threshold so that the predicted label cardinality is closest to the true one.

    Parameters
    ----------
    method : {"exact", "two-pass"}
        ``"exact"`` uses the order statistic. ``"two-pass"`` is the procedure of the paper: t in {0,
        0.1, …, 1}, then the best ± 0.05 in steps of 0.01; the first of equally good values wins.

    Notes
    -----
    Fitted on blocks of rows. Memory, in addition to the scores of one block: about 50 bytes per
    label of the training rows for ``"exact"`` (:class:`~vicinal.decision.pooling.HighestScores`),
    negligible for ``"two-pass"``.

    Examples
    --------
    Three labels on the training rows, so the fourth largest score:

    >>> from scipy import sparse
    >>> Y = sparse.csr_array(np.array([[1, 0], [1, 1]], dtype=np.int32))
    >>> scores = Scores.dense(np.array([[0.9, 0.35], [0.8, 0.42]]))
    >>> CardinalityThreshold().fit(scores, Y)
    Threshold(value=0.35, inclusive=False)
    >>> CardinalityThreshold("two-pass").fit(scores, Y)
    Threshold(value=0.35, inclusive=False)
    """

    method: str = "exact"

    def __post_init__(self) -> None:
        """Check the method's name."""
        check_option("method", self.method, ("exact", "two-pass"))

    def fit(self, scores: Scores, Y: Csr) -> Threshold:
        """Return the threshold fitted on leave-one-out scores and labels of the training rows."""
        check_truth(scores, Y)
        return self.fit_blocks([scores], Y)

    def fit_blocks(self, blocks: Iterable[Scores], Y: Csr) -> Threshold:
        """Return the same threshold from scores given in blocks of rows."""
        return self._fit(((scores, None) for scores in blocks), int(Y.nnz))

    def fit_weighted(self, blocks: Iterable[Scores], Y: Csr, weights: Float) -> Threshold:
        """Return the threshold that ``fit`` finds where a row of weight w is there w times.

        Memory: as for ``"exact"``, with the distinct scores in place of the labels.
        """
        return self._fit(_with_weights(blocks, weights), float(weights[row_ids(Y)].sum()))

    def _fit(self, blocks: "Blocks", wanted: float) -> Threshold:
        """Return the threshold by the method chosen."""
        return (_exact if self.method == "exact" else _two_pass)(blocks, wanted)


Blocks: TypeAlias = Iterable[tuple[Scores, Float | None]]
"""Scores of some rows, with the weights of these rows where they differ."""


def _with_weights(blocks: Iterable[Scores], weights: Float) -> Blocks:
    """Yield each block with the weights of its rows."""
    start = 0
    for scores in blocks:
        stop = start + scores.shape[0]
        yield scores, weights[start:stop]
        start = stop


def _exact(blocks: Blocks, wanted: float) -> Threshold:
    """Return the score t for which the number of scores > t is closest to `wanted`.

    The cells above t = ``values[j + 1]`` are those that score at least ``values[j]``. If two values
    of t are equally close, the larger is taken, which is the (N+1)-th largest score itself.
    """
    highest = HighestScores(wanted)
    for scores, weights in blocks:
        highest.add(scores, weights)
    values, counts = highest.merged()
    if len(values) == 0:
        return Threshold(0.0)
    passing = np.concatenate([[0], np.cumsum(counts)])
    best = int(np.argmin(np.abs(passing - wanted)))
    if best < len(values):
        return Threshold(float(values[best]))
    return Threshold(float(values[-1]), inclusive=True)  # every cell passes


def _two_pass(blocks: Blocks, wanted: float) -> Threshold:
    """Return the paper's threshold: a coarse pass over [0, 1], then a fine one around its best."""
    hundredths = range(-5, 106)
    above = CellsAbove(np.array(hundredths) / 100)
    for scores, weights in blocks:
        above.add(scores, weights)
    miss = dict(zip(hundredths, np.abs(above.counts - wanted).tolist(), strict=True))
    coarse = min(range(0, 101, 10), key=miss.__getitem__)
    return Threshold(min(range(coarse - 5, coarse + 6), key=miss.__getitem__) / 100)
