"""The same operations in scikit-learn and in river, where they have them.

scikit-learn's neighbours cannot learn a row: its classifier is fitted again on all rows, which
copies them and searches nothing. river has no multi-label kNN: its ``neighbors.KNNClassifier`` is
asked for one class per row, which is less than what is asked of the others.
"""

import time
from collections.abc import Iterator
from importlib.util import find_spec

from scipy import sparse
from sklearn.neighbors import KNeighborsClassifier

from benchmarks.incremental_data import Stream
from benchmarks.incremental_figures import Line, timed
from vicinal._core.validation import as_csr

MOST_ROWS = 2_000
"""Rows that river's search holds: it compares dictionaries one by one."""


def scikit_learn_lines(stream: Stream, calls: int) -> Iterator[Line]:
    """Predict one row, and learn one by fitting again."""
    n = stream.n_first
    Y = stream.Y[: n + 1].toarray()
    algorithm = "brute" if sparse.issparse(stream.X) else "auto"
    model = KNeighborsClassifier(10, metric=stream.metric, algorithm=algorithm)
    model.fit(stream.X[:n], Y[:n])
    rows = [stream.row(number)[0] for number in range(calls)]
    times = timed(model.predict, rows)
    yield Line.of_times(f"predict 1 row, {stream.name}, scikit-learn's kNN", times)
    times = timed(lambda _: model.fit(stream.X[: n + 1], Y), range(5))
    yield Line.of_times(f"learn 1 row, {stream.name}, scikit-learn's kNN, fitted again", times)


def river_lines(stream: Stream, calls: int) -> Iterator[Line]:
    """Learn and predict one row with river's kNN, where it is installed."""
    found = river_times(stream, calls)
    if found is None:
        yield Line("river", "not installed")
        return
    for what, times in found.items():
        yield Line.of_times(what, times)


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
    X, Y = as_csr(stream.X[number : number + 1]), stream.Y[number : number + 1]
    labels = Y.indices.tolist() or [0]
    return dict(zip(X.indices.tolist(), X.data.tolist(), strict=True)), labels[0]
