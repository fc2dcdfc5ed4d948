"""Methods compared with their time limits and with scikit-multilearn-ng: medians, one process.

``python -m benchmarks.methods`` takes the data sets of the LCIF paper from ``$VICINAL_DATA``;
``--full`` adds generated data of the size of Wiki-LSHTC, and gives the peer whole data sets.
"""

import argparse
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import numpy as np
from rich.console import Console
from rich.table import Table
from scipy import sparse
from skmultilearn.adapt import MLkNN as PeerMLkNN

from benchmarks.methods_data import wiki_like
from benchmarks.recording import Measurement, record
from vicinal import LCIF, InstanceKNN, MLkNN, datasets
from vicinal._core.arrays import Csr
from vicinal.methods import NeighborEstimator
from vicinal.methods._formulas import column_graph

REPEATS = 5
PEER_ROWS = 1_000
IMDB_TRAIN = 72_551


@dataclass(frozen=True, eq=False)
class Split:
    """Rows to fit on and rows to predict."""

    name: str
    X: Csr
    Y: Csr
    Q: Csr

    def first(self, n_rows: int) -> "Split":
        """Return as many rows of each part."""
        if max(self.X.shape[0], self.Q.shape[0]) <= n_rows:
            return self
        name = f"{self.name}, {n_rows} + {min(n_rows, self.Q.shape[0])} rows"
        return Split(name, self.X[:n_rows], self.Y[:n_rows], self.Q[:n_rows])


@dataclass(frozen=True)
class Line:
    """What was measured, the figure, its target, and the figure as a number."""

    what: str
    figure: str
    bar: str
    holds: bool
    value: Measurement


def load(name: str) -> Split:
    """Return a data set of the LCIF paper, split as there."""
    data = datasets.load(name)
    if name == "imdb":
        X, Y = sparse.csr_array(data.X), sparse.csr_array(data.Y)
        return Split(name, X[:IMDB_TRAIN], Y[:IMDB_TRAIN], X[IMDB_TRAIN:])
    train, test = data.split()
    return Split(name, *(sparse.csr_array(part) for part in (train.X, train.Y, test.X)))


def seconds(run: Callable[[], object], repeats: int = REPEATS) -> float:
    """Return the median time of some runs."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return median(times)


def within(what: str, taken: float, limit: float) -> Line:
    """Return the line of a time that should not exceed a limit."""
    value = Measurement(what, taken, "s")
    return Line(what, f"{taken:.2f} s", f"at most {limit:g} s", taken <= limit, value)


def fit_and_predict(model: NeighborEstimator, split: Split, limit: float, repeats: int) -> Line:
    """Time a method from raw rows to labels."""
    taken = seconds(lambda: model.fit(split.X, split.Y).predict(split.Q), repeats)
    return within(f"{model!r}, {split.name}", taken, limit)


def against_peer(split: Split, *, whole: bool) -> Line:
    """Time ML-kNN of both libraries on the same rows.

    The other library gets all cores, and labels in its preferred format. Its loops over rows and
    labels take minutes, so it runs once, on part of the rows unless `whole`; its time grows with
    the rows at least as fast as ours.
    """
    rows = split if whole else split.first(PEER_ROWS)
    ours = seconds(lambda: MLkNN().fit(rows.X, rows.Y).predict(rows.Q))
    labels = rows.Y.toarray().astype(np.int64)
    peer = PeerMLkNN(k=10, s=1.0, n_jobs=-1)
    theirs = seconds(lambda: peer.fit(rows.X, labels).predict(rows.Q), repeats=1)
    figure = f"{theirs / ours:.0f} × ({ours:.3f} s, {theirs:.1f} s)"
    what = f"ML-kNN against scikit-multilearn-ng, {rows.name}"
    value = Measurement(what, theirs / ours, "×", "high")
    return Line(what, figure, "at least 100 ×", theirs >= 100 * ours, value)


def column_search() -> Line:
    """Search the labels most like each of 1.6 M features."""
    X, Y = wiki_like()
    Path("/proc/self/clear_refs").write_text("5")  # forget the peak of generating
    taken = seconds(lambda: column_graph(X, Y, 15), repeats=1)
    status = Path("/proc/self/status").read_text().splitlines()
    peak = sum(int(line.split()[1]) for line in status if line.startswith("VmHWM")) / 2**20
    what = f"feature kNN search, {X.shape[0]} rows × {X.shape[1]} features × {Y.shape[1]} labels"
    holds = taken <= 60 and peak <= 12
    value = Measurement(what, taken, "s")
    return Line(what, f"{taken:.1f} s, {peak:.1f} GB", "at most 60 s, 12 GB", holds, value)


def report(suite: str, lines: list[Line]) -> None:
    """Print the table, and keep the figures."""
    record(suite, [line.value for line in lines])
    table = Table("what", "measured", "bar", "holds")
    for line in lines:
        table.add_row(line.what, line.figure, line.bar, "yes" if line.holds else "no")
    Console(width=140).print(table)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--full", action="store_true", help="minutes, and 6 GB of memory")
    whole = parser.parse_args().full
    bibtex, delicious, corel5k = (load(name) for name in ("bibtex", "delicious", "corel5k"))
    lines = [
        fit_and_predict(LCIF(), bibtex, 0.6, REPEATS),
        fit_and_predict(LCIF(), delicious, 1.5, REPEATS),
        fit_and_predict(LCIF(), load("imdb"), 12, 1),
        fit_and_predict(InstanceKNN(second_order=True), delicious, 3, REPEATS),
    ]
    lines += [against_peer(split, whole=whole) for split in (bibtex, delicious, corel5k)]
    if whole:
        lines.append(column_search())
    report("methods", lines)


if __name__ == "__main__":
    main()
