"""Rows are scored some at a time: bounds the memory of scores, whatever the number of rows."""

from collections.abc import Iterator

from vicinal._base.progress import blocks
from vicinal.scores import Scores
from vicinal.scoring import Scoring, Training
from vicinal.scoring.every_label import EveryLabel, rows_at_once
from vicinal.scoring.training import leave_one_out

BLOCK_ROWS = 16_384
"""Most rows scored at a time."""


def block_rows(scoring: Scoring) -> int:
    """Return how many rows to score at a time; fewer where each has a score for every label."""
    if isinstance(scoring, EveryLabel):
        return rows_at_once(scoring.Y.shape[1], most=BLOCK_ROWS)
    return BLOCK_ROWS


def training_blocks(scoring: Scoring, training: Training) -> Iterator[Scores]:
    """Yield the leave-one-out scores of the training rows."""
    for start, stop in blocks(training.n_rows, block_rows(scoring), "Scoring training rows"):
        yield leave_one_out(scoring, training, slice(start, stop))
