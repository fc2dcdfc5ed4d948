"""Score rows in blocks, so that the memory of the scores does not grow with the number of rows."""

from collections.abc import Iterator

from vicinal._base.progress import blocks
from vicinal.scores import Scores
from vicinal.scoring import Scoring, Training
from vicinal.scoring.every_label import EveryLabel, rows_at_once
from vicinal.scoring.training import leave_one_out

BLOCK_ROWS = 16_384
"""The largest number of rows scored at a time."""


def block_rows(scoring: Scoring) -> int:
    """Return how many rows to score at a time: fewer for methods that score every label."""
    if isinstance(scoring, EveryLabel):
        return rows_at_once(scoring.Y.shape[1], most=BLOCK_ROWS)
    return BLOCK_ROWS


def training_blocks(scoring: Scoring, training: Training) -> Iterator[Scores]:
    """Yield the leave-one-out scores of the training rows, block by block."""
    for start, stop in blocks(training.n_rows, block_rows(scoring), "Scoring training rows"):
        yield leave_one_out(scoring, training, slice(start, stop))
