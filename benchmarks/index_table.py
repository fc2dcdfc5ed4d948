"""Measure every row of the published table of exact search, both libraries in turn.

``python -m benchmarks.index_table`` measures all rows; ``--only eurlex57k self-graph`` some of
them, by their first words. Each search runs once to warm up, then both libraries take turns.
Times are medians of wall-clock time, so they need an idle machine. Neighbours are judged by the
float64 cosines of the rows that either library found. ``--kept FOLDER`` stores the prepared rows
there and reads them in the next run; with ``--prepare`` nothing else is done.
"""

import argparse
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table
from scipy import sparse

from benchmarks.incremental_data import debtags
from benchmarks.index_data import Case, generated
from benchmarks.index_peers import FaissFlat, SparseDotTopn, load_peers, wrong_ids
from benchmarks.index_runs import LeftOut, OurGraph, OurSearch, call_ms, in_turn
from benchmarks.quality_split import load_split
from benchmarks.recording import Measurement, record
from vicinal import Blend, BRkNN
from vicinal._core.arrays import Csr, Features, Float
from vicinal._core.threads import thread_count
from vicinal._core.validation import as_csr
from vicinal.index import InvertedIndex
from vicinal.preprocess import TfIdf

REPEATS = 5
SINGLE_CALLS, PEER_CALLS = 10_000, 300
SAMPLE = 6_000
"""Rows of the self-graph that are searched with the other library too."""


@dataclass(frozen=True)
class Line:
    """One row of the table.

    Parameters
    ----------
    what : str
        Rows and queries.
    queries, peer_queries : int
        How many queries each library was given.
    ms, peer_ms : float
        Medians per query; `peer_ms` is nan if there is no other library.
    wrong : int
        Errors among our neighbours, -1 if they were not compared.
    tail : float
        99.9th percentile by median of single queries, else nan.
    """

    what: str
    queries: int
    peer_queries: int
    ms: float
    peer_ms: float
    wrong: int = -1
    tail: float = float("nan")

    @classmethod
    def of_calls(cls, what: str, ours: Float, theirs: Float, wrong: int = -1) -> "Line":
        """Return the line of single calls that took so many ms each."""
        median, late = np.quantile(ours, (0.5, 0.999))
        peer_ms = float(np.median(theirs)) if len(theirs) else float("nan")
        return cls(what, len(ours), len(theirs), float(median), peer_ms, wrong, late / median)

    @property
    def figures(self) -> list[Measurement]:
        """What is stored; figures that do not exist are left out."""
        every = [
            Measurement(f"{self.what}, time", self.ms, "ms per query"),
            Measurement(
                f"sparse_dot_topn or faiss, {self.what}", self.peer_ms / self.ms, "×", "high"
            ),
            Measurement(f"{self.what}, 99.9th percentile by median", self.tail, "×"),
            Measurement(f"{self.what}, wrong ids", self.wrong, "ids"),
        ]
        return [one for one in every if np.isfinite(one.value) and one.value >= 0]

    def cells(self) -> list[str]:
        """Return the row of the printed table."""
        counts = f"{self.queries:,}"
        if self.peer_queries != self.queries:
            counts += f" (peer {self.peer_queries:,})"
        ratio = self.peer_ms / self.ms
        values = (f"{self.ms:.4f}", f"{self.peer_ms:.4f}", f"{ratio:.1f} ×", f"{self.tail:.1f} ×")
        shown = ["" if value.startswith("nan") else value for value in values]
        return [self.what, counts, *shown, "" if self.wrong < 0 else str(self.wrong)]


@dataclass(frozen=True)
class SparseRow:
    """A row of the table that searches sparse rows.

    Parameters
    ----------
    what : str
    measure : callable
    data : str
        Name of the prepared rows and queries.
    make : callable
        Returns them.
    k : int
    """

    what: str
    measure: Callable[[str, Case, int], Line]
    data: str
    make: Callable[[], Case]
    k: int

    def case(self, folder: Path | None) -> Case:
        """Return rows and queries, made or as an earlier run stored them."""
        if folder is None:
            return self.make()
        path = folder / self.data
        if not path.exists():
            made = self.make()
            path.mkdir(parents=True)
            sparse.save_npz(path / "rows.npz", made.rows, compressed=False)
            sparse.save_npz(path / "queries.npz", made.queries, compressed=False)
            np.save(path / "places.npy", [] if made.places is None else made.places)
        rows, queries = (
            sparse.csr_array(sparse.load_npz(path / f"{part}.npz")) for part in ("rows", "queries")
        )
        places = np.load(path / "places.npy")
        return Case(self.data, rows, queries, places if len(places) else None)

    def line(self, folder: Path | None) -> Line:
        """Measure the row."""
        return self.measure(f"{self.what}, k = {self.k}", self.case(folder), self.k)


def batch(what: str, case: Case, k: int) -> Line:
    """Measure many queries in one call."""
    index = InvertedIndex(case.rows, "cosine")
    ours: LeftOut | OurSearch = OurSearch(index, case.queries, k)
    if case.places is not None:
        ours = LeftOut(index, case.rows, case.places, k)
    peer = SparseDotTopn(case, k + (case.places is not None), thread_count())
    (ms, found), (peer_ms, peer_found) = in_turn([ours, peer], REPEATS)
    n = case.queries.shape[0]
    return Line(what, n, n, ms / n, peer_ms / n, wrong_ids(case, found, peer_found))


def self_graph(what: str, case: Case, k: int) -> Line:
    """Measure the neighbours of all rows; the other library searches for some of them."""
    n = case.rows.shape[0]
    places = np.sort(np.random.default_rng(0).permutation(n)[:SAMPLE])
    some = Case(case.name, case.rows, case.rows[places], places)
    ours = OurGraph(InvertedIndex(case.rows, "cosine"), k)
    peer = SparseDotTopn(some, k + 1, thread_count())
    (ms, (ids, values)), (peer_ms, peer_found) = in_turn([ours, peer], REPEATS)
    wrong = wrong_ids(some, (ids[places], values[places]), peer_found)
    return Line(what, n, SAMPLE, ms / n, peer_ms / SAMPLE, wrong)


def singles(what: str, case: Case, k: int) -> Line:
    """Measure one query per call, everything in Python included."""
    index, threads = InvertedIndex(case.rows, "cosine"), thread_count()
    queries = [case.queries[[i]] for i in range(min(SINGLE_CALLS, case.queries.shape[0]))]
    ours = call_ms(lambda query: index.query(query, k), queries, SINGLE_CALLS)
    few = Case(case.name, case.rows, case.queries[:PEER_CALLS])
    peer = SparseDotTopn(few, k, threads)
    theirs = call_ms(peer.search, [peer.queries[[i]] for i in range(PEER_CALLS)], PEER_CALLS)
    graphs = [index.query(query, k) for query in queries[:PEER_CALLS]]
    ids, values = (
        np.vstack([getattr(graph, part) for graph in graphs]) for part in ("ids", "values")
    )
    wrong = wrong_ids(few, (ids, values), peer())
    return Line.of_calls(what, ours, theirs, wrong)


def dense_single(what: str) -> Line:
    """Measure one dense query per call through an estimator; faiss only returns neighbours."""
    rng = np.random.default_rng(0)
    centers = rng.normal(size=(50, 384))
    rows = centers[rng.integers(0, 50, 20_000)] + rng.normal(size=(20_000, 384))
    known, queries = np.split(rows.astype(np.float32), [19_000])
    asked = [queries[[i]] for i in range(len(queries))]
    labels = (rng.random((len(known), 20)) < 0.1).astype(np.int32)
    model = BRkNN(10, metric="euclidean").fit(known, labels)
    ours = call_ms(model.predict, asked, SINGLE_CALLS)
    theirs = call_ms(FaissFlat(known, 10, thread_count()).search, asked, len(asked))
    ids = model.kneighbors(queries[:100], return_distance=False)
    exact = known.astype(np.float64)
    distances = (np.linalg.norm(exact - query, axis=1) for query in queries[:100])
    nearest = np.array([np.argsort(each, kind="stable")[:10] for each in distances])
    return Line.of_calls(what, ours, theirs, int(np.count_nonzero(ids != nearest)))


def default_model(what: str) -> Line:
    """Measure one prediction per call of the default model."""
    stream = debtags()
    model = Blend().fit(stream.X[: stream.n_first], stream.Y[: stream.n_first])
    rows = [stream.row(number)[0] for number in range(SINGLE_CALLS)]
    return Line.of_calls(what, call_ms(model.predict, rows, SINGLE_CALLS), np.array([]))


def sparse_rows() -> list[SparseRow]:
    """Return the rows of the table that search sparse rows."""
    rows = []
    for kind in ("tf-idf", "uniform", "binary"):
        for name, n, m in (("100k × 200k", 100_000, 200_000), ("500k × 1M", 500_000, 1_000_000)):
            make = partial(generated, n, m, 2_000, kind.replace("-", ""))
            rows.append(SparseRow(f"{kind} {name}", batch, f"{kind}-{n}", make, 10))
    make = partial(generated, 1_780_000, 1_600_000, 1_000, "binary")
    rows.append(SparseRow("binary 1.78M × 1.6M", batch, "binary-1780000", make, 10))
    for name, n_queries in (("eurlex57k", 6_000), ("yso-finna-en", 10_000)):
        make = partial(of_split, name, n_queries)
        rows.append(SparseRow(f"{name} tf-idf", batch, name, make, 50))
        rows.append(SparseRow(f"{name} tf-idf, one query per call", singles, name, make, 50))
    make = partial(of_split, "eurlex57k", 6_000)
    rows.append(SparseRow("self-graph of eurlex57k tf-idf", self_graph, "eurlex57k", make, 50))
    make = partial(of_split, "yso-finna-en", 20_000, sampled=True)
    what = "rows of yso-finna-en tf-idf, each left out"
    rows.append(SparseRow(what, batch, "yso-finna-en-sampled", make, 50))
    return rows


OTHERS = {
    "dense 19k × 384, one query per call": dense_single,
    "default model, debtags, one row per call": default_model,
}


@lru_cache(maxsize=1)
def of_split(name: str, n_queries: int, *, sampled: bool = False) -> Case:
    """Return the training texts of a data set with tf-idf weights, and queries."""
    split = load_split(name)
    rows, queries = (presences(each) for each in (split.X, split.X_test))
    weigh = TfIdf().fit(rows)
    rows, queries = (sparse.csr_array(weigh.transform(each)) for each in (rows, queries))
    if not sampled:
        return Case(name, rows, queries[:n_queries])
    places = np.random.default_rng(3).permutation(rows.shape[0])[:n_queries]
    return Case(name, rows, rows[places], places)


def presences(features: Features) -> Csr:
    """Return which words each text has, as ones."""
    found = as_csr(features).astype(np.float32)
    found.eliminate_zeros()
    found.data[:] = 1
    return found


def show(measured: Sequence[Line]) -> None:
    """Print the table."""
    table = Table("rows", "queries", "ms/query", "peer", "ratio", "p99.9 / median", "wrong ids")
    for line in measured:
        table.add_row(*line.cells())
    Console(width=130).print(table)


def main(argv: Sequence[str] | None = None) -> int:
    """Measure the rows asked for, print them and store the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="+", help="rows whose names begin so; default: all")
    parser.add_argument("--kept", type=Path, help="folder of prepared rows")
    parser.add_argument("--prepare", action="store_true", help="fill that folder, measure nothing")
    options = parser.parse_args(argv)
    first_words = tuple(options.only or [""])
    sparse_ones = [row for row in sparse_rows() if row.what.startswith(first_words)]
    if options.prepare:
        for row in sparse_ones:
            row.case(options.kept)
        return 0
    load_peers()
    found = []
    for row in sparse_ones:
        found.append(row.line(options.kept))
        show(found[-1:])
    for what, measure in OTHERS.items():
        if what.startswith(first_words):
            found.append(measure(what))
    show(found)
    record("index-table", [figure for line in found for figure in line.figures])
    return 0


if __name__ == "__main__":
    sys.exit(main())
