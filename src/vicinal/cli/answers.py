"""What a model says about each row: its labels, and the scores of these and of the best."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from scipy import sparse

from vicinal._base.arrays import Float, Int32
from vicinal.cli.output import dump_json
from vicinal.cli.visible import visible
from vicinal.estimators import NeighborEstimator
from vicinal.scores import Scores


class Prediction(NamedTuple):
    """What a model says of one row.

    ``scores`` has the best labels first, then those that are predicted but not among the best.
    """

    row: str | int
    labels: list[str]
    scores: dict[str, float]

    def as_json(self) -> str:
        """Return one JSON line."""
        return dump_json(self._asdict())

    def as_line(self) -> str:
        """Return one line for a person."""
        cells = (str(self.row), ", ".join(self.labels) or "(none)", f"[{self.best}]")
        return "\t".join(map(visible, cells))

    @property
    def best(self) -> str:
        """The labels with their scores, as text."""
        return ", ".join(f"{label} {value:.2f}" for label, value in self.scores.items())


def predictions(
    estimator: NeighborEstimator,
    scores: Scores,
    names: tuple[str, ...] | None,
    top: int,
    start: int = 0,
) -> Iterator[Prediction]:
    """Yield for each row its name, its labels, and the scores of these and of the `top` best.

    `names` are those of the rows; without them, the first row has number `start`.
    """
    decided = estimator.decide(scores)
    ids, values = scores.top(top)
    label_names = estimator.label_names_
    for row in range(scores.shape[0]):
        labels = decided.indices[decided.indptr[row] : decided.indptr[row + 1]]
        scored = dict(zip(ids[row].tolist(), values[row].tolist(), strict=True))
        more = np.array([label for label in labels if label not in scored], dtype=np.int32)
        scored |= dict(zip(more.tolist(), label_scores(scores, row, more).tolist(), strict=True))
        yield Prediction(
            start + row if names is None else names[row],
            [label_names[label] for label in labels],
            {label_names[label]: round(value, 6) for label, value in scored.items()},
        )


def label_scores(scores: Scores, row: int, labels: Int32) -> Float:
    """Return the scores of some labels of one row, whether stored or not.

    Examples
    --------
    >>> stored = sparse.csr_array(np.array([[0.9, 0.0, 0.5]]))
    >>> found = Scores.sparse(stored, base=np.array([0.1, 0.2, 0.3]))
    >>> label_scores(found, 0, np.array([1, 2], dtype=np.int32))
    array([0.2, 0.5])
    """
    stored = scores.values
    if not isinstance(stored, sparse.csr_array):
        of_row: Float = stored[row, labels]
        return of_row
    start, stop = stored.indptr[row], stored.indptr[row + 1]
    ids = stored.indices[start:stop]
    place = np.searchsorted(ids, labels)
    found = scores.base[labels].copy()
    is_there = place < len(ids)
    is_there[is_there] = ids[place[is_there]] == labels[is_there]
    found[is_there] = stored.data[start:stop][place[is_there]]
    return found
