"""The same operations in river, an online learning library, where it is installed.

river has no multi-label kNN: its ``neighbors.KNNClassifier`` is asked for one class per row, which
is less than what is asked of the others.
"""

import time
from importlib.util import find_spec

from benchmarks.incremental_data import Stream

MOST_ROWS = 2_000
"""Rows that river's search holds: it compares dictionaries one by one."""


def river_times(stream: Stream, calls: int) -> dict[str, list[float]] | None:
    """Return seconds per call of learning and predicting one row, None without river."""
    if find_spec("river") is None:
        return None
    from river import neighbors

    model = neighbors.KNNClassifier(10, engine=neighbors.LazySearch(window_size=MOST_ROWS))
    rows = [_as_dict(stream, number) for number in range(MOST_ROWS + calls)]
    for row, label in rows[:MOST_ROWS]:
        model.learn_one(row, label)
    learn, predict = [], []
    for row, label in rows[MOST_ROWS : MOST_ROWS + min(calls, 100)]:
        start = time.perf_counter()
        model.predict_one(row)
        middle = time.perf_counter()
        model.learn_one(row, label)
        predict.append(middle - start)
        learn.append(time.perf_counter() - middle)
    what = f"river's kNN with a window of {MOST_ROWS:,} rows, one class per row"
    return {f"learn 1 row, debtags, {what}": learn, f"predict 1 row, debtags, {what}": predict}


def _as_dict(stream: Stream, number: int) -> tuple[dict[int, float], int]:
    """Return a row as river takes it, and its first label."""
    X, Y = stream.X[number : number + 1], stream.Y[number : number + 1]
    labels = Y.indices.tolist() or [0]
    return dict(zip(X.indices.tolist(), X.data.tolist(), strict=True)), labels[0]
