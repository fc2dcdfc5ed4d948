"""The predictions of each row: its labels, and the scores of these and of the best labels."""

from collections.abc import Iterator
from typing import NamedTuple

from vicinal.cli.output import dump_json
from vicinal.cli.visible import visible
from vicinal.estimators import NeighborEstimator
from vicinal.scores import Scores
from vicinal.scoring.explaining import cells


class Prediction(NamedTuple):
    """The prediction of one row.

    ``scores`` lists the best labels first, then the predicted labels that are not among them.
    """

    row: str | int
    labels: list[str]
    scores: dict[str, float]

    def as_json(self) -> str:
        """Return one JSON line."""
        return dump_json(self._asdict())

    def as_line(self) -> str:
        """Return one line for people to read."""
        cells = (str(self.row), ", ".join(self.labels) or "(none)", f"[{self.best}]")
        return "\t".join(map(visible, cells))

    @property
    def best(self) -> str:
        """The labels and their scores, as text."""
        return ", ".join(f"{label} {value:.2f}" for label, value in self.scores.items())


def predictions(
    estimator: NeighborEstimator,
    scores: Scores,
    names: tuple[str, ...] | None,
    top: int,
    start: int = 0,
) -> Iterator[Prediction]:
    """Yield the prediction of each row, with the scores of its labels and of the `top` best.

    `names` are the names of these rows; without names, the first row has number `start`.
    """
    decided = estimator.decide(scores)
    ids, values = scores.top(top)
    label_names = estimator.label_names_
    for row in range(scores.shape[0]):
        labels = decided.indices[decided.indptr[row] : decided.indptr[row + 1]]
        scored = dict(zip(ids[row].tolist(), values[row].tolist(), strict=True))
        more = [label for label in labels.tolist() if label not in scored]
        scored |= dict(zip(more, cells(scores, row, more).tolist(), strict=True))
        yield Prediction(
            start + row if names is None else names[row],
            [label_names[label] for label in labels],
            {label_names[label]: round(value, 6) for label, value in scored.items()},
        )
