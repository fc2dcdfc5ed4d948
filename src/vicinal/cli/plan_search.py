"""Estimate time, memory and cost of a large search from constants measured on a small one."""

import json as json_format
import math
import os
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from vicinal.cli.output import JsonFlag, errors, print_facts, print_json
from vicinal.errors import InvalidArgumentError

if TYPE_CHECKING:
    from vicinal._core.arrays import Csr, Float

SEEN_SCALE, SEEN_EXPONENT = 0.385, 0.86
"""How many of F features occur among E entries drawn by Zipf's law
(:func:`vicinal.datasets.generated.zipf_rows`): a share of 1 - exp(-scale (E / F) ** exponent), off
by at most 2 % for E / F from 0.3 to 5."""

SLOW_GROWTH_UP_TO = 2e6
"""Up to so many rows, the time of a query grows by the measured power of their number; from there
on in proportion to it, as far as runs of 10 million rows can tell."""


@dataclass(frozen=True)
class Constants:
    """Speed of one core, as measured by :func:`vicinal.cli.plan_search.calibrated`.

    The defaults were measured with binary rows and 30 neighbours on an otherwise idle AMD EPYC
    machine; a search over tf-idf weights takes about four times as long.

    `ns_per_row`: time of one query per row, in a search of `measured_rows` rows, if rows and
    queries have `entries_per_row` entries.
    `row_exponent`: the time of a query grows with this power of the number of rows, up to 2
    million: the more rows, the nearer the neighbours found so far, and the fewer rows have to be
    examined.
    `entries_per_row`: entries per row when `ns_per_row` was measured. The time grows with the
    entries of the query times those of the rows.
    `build_ns_per_entry`: processor time to build the index.
    `write_ns_per_entry`: processor time to write rows to a folder and to check them when it is
    opened.
    `index_bytes_per_entry`, `index_bytes_per_feature`: on disk, and in the page cache of the
    machines that search; a feature counts in each range of rows in which it occurs.
    `merge_ns_per_neighbor`: time to merge one neighbour of one shard into a list.
    `disk_mb_per_second`: how fast files are written to disk and, if memory does not hold the
    index, read.
    `model_slowness`: how much longer the default model takes, besides its searches, than
    :class:`ModelSpeed` says.
    """

    ns_per_row: float = 0.217
    measured_rows: float = 400_000.0
    row_exponent: float = 0.79
    entries_per_row: float = 40.9
    build_ns_per_entry: float = 70.0
    write_ns_per_entry: float = 11.0
    index_bytes_per_entry: float = 6.0
    index_bytes_per_feature: float = 21.6
    merge_ns_per_neighbor: float = 45.0
    disk_mb_per_second: float = 200.0
    model_slowness: float = 1.0

    def query_seconds(self, rows: float, entries: float) -> float:
        """Return the time of a query on one core: rows of so many entries each."""
        slow = min(rows, SLOW_GROWTH_UP_TO)
        grown = math.pow(slow / self.measured_rows, self.row_exponent - 1.0)
        return 1e-9 * self.ns_per_row * rows * grown * (entries / self.entries_per_row) ** 2


@dataclass(frozen=True)
class Workload:
    """The rows to search and the number of queries."""

    rows: float
    entries: float
    features: float = 1e6
    labels: float = 0.0
    labels_per_row: float = 3.0
    neighbors: int = 15
    queries: float = 1e6
    value_bytes: int = 4

    def __post_init__(self) -> None:
        """Raise if the numbers are not positive or exceed what an index can hold."""
        from vicinal._core.checks import check_positive
        from vicinal.index._common import MOST_IDS

        for name in ("rows", "entries", "features", "neighbors", "queries"):
            check_positive(name, getattr(self, name))
        if self.rows >= MOST_IDS:
            raise InvalidArgumentError("rows", "fewer than 2^31 - 1 row ids", f"{self.rows:g}")


@dataclass(frozen=True)
class Machines:
    """The machines that are available."""

    workers: int | None = None
    cores: int = 16
    memory_gb: float = 64.0
    price_per_hour: float = 0.0
    build_gb: float = 2**30 / 1e9

    @property
    def range_entries(self) -> float:
        """The largest number of entries of a range; each core builds one range at a time."""
        from vicinal.index.segmented import BYTES_PER_ENTRY

        return self.build_gb * 1e9 / (2 * BYTES_PER_ENTRY * self.cores)


@dataclass(frozen=True)
class SearchPlan:
    """Estimated resources; seconds are wall-clock time with all workers in parallel."""

    disk_gb: float
    index_gb: float
    ranges: int
    labels_gb: float
    graph_gb: float
    workers: int
    fits_in_memory: bool
    seconds_to_write: float
    seconds_to_build_index: float
    seconds_per_million_queries: float
    seconds_for_queries: float
    seconds_for_graph: float
    network_kb_per_query: float
    cost: float


def plan(work: Workload, machines: Machines, constants: Constants) -> SearchPlan:
    """Return the estimated resources for a workload.

    If half of the workers' memory can hold the index, they are read from the page cache;
    otherwise they are read from disk once per million queries. If no number of workers is given, it
    is the smallest that can hold the index.
    """
    entries = work.rows * work.entries
    ranges, index = stored_index(work, machines, constants)
    usable = machines.memory_gb * 1e9 / 2
    needed = max(1, math.ceil(index / usable))
    workers = needed if machines.workers is None else machines.workers
    fits = workers >= needed
    cores = workers * machines.cores
    search = workers * constants.query_seconds(work.rows / workers, work.entries)
    shards = max(cores, math.ceil(index / usable * machines.cores))
    merge = 1e-9 * constants.merge_ns_per_neighbor * work.neighbors * shards
    per_query = (search + merge) / cores
    disk_rate = 1e6 * constants.disk_mb_per_second
    read = 0.0 if fits else index / (disk_rate * workers)
    queries = work.queries * per_query + read * math.ceil(work.queries / 1e6)
    graph = work.rows * per_query + read * math.ceil(work.rows / 1e6)
    disk = entries * (4 + work.value_bytes) + 12 * work.rows + index
    write = entries * constants.write_ns_per_entry * 1e-9 + disk / disk_rate
    build = entries * constants.build_ns_per_entry * 1e-9
    hours = (queries + graph) / 3600
    return SearchPlan(
        disk_gb=disk / 1e9,
        index_gb=index / 1e9,
        ranges=ranges,
        labels_gb=(8 * work.labels_per_row * work.rows + 50 * work.labels) / 1e9,
        graph_gb=12 * work.neighbors * work.rows / 1e9,
        workers=workers,
        fits_in_memory=fits,
        seconds_to_write=write,
        seconds_to_build_index=build / min(machines.cores, ranges),
        seconds_per_million_queries=1e6 * per_query + read,
        seconds_for_queries=queries,
        seconds_for_graph=graph,
        network_kb_per_query=(12 * work.neighbors * shards + 12 * work.entries) / 1e3,
        cost=hours * workers * machines.price_per_hour,
    )


def stored_index(work: Workload, machines: Machines, constants: Constants) -> tuple[int, float]:
    """Return into how many ranges of rows an index on disk is divided, and its bytes."""
    entries = work.rows * work.entries
    ranges = max(1, math.ceil(entries / machines.range_entries))
    occurring = ranges * seen_features(entries / ranges, work.features)
    index = (
        entries * constants.index_bytes_per_entry + occurring * constants.index_bytes_per_feature
    )
    return ranges, index


@dataclass(frozen=True)
class ModelSpeed:
    """What one core needs for the default model, measured on 250,000 generated rows.

    `read_ns`: per entry, to read a file of extreme-classification text and to check it.
    `order_ns`: per entry, to put rows into an order of their contents, from which some are drawn.
    `view_ns`: per entry and view, to weigh the rows and to index them.
    `sum_ns`: per entry of a row and label of this row, to sum the rows of each label.
    `weighted`: how much longer a search over weights takes than one over 0/1 values.
    `compare_ns`: per label that shares a feature with a row, and feature, to compare them.
    `label_ns`: per label and row, to choose the best labels.
    `row_ms`: per row, for all other parts.
    `mixture_seconds`: to learn the mixture.
    """

    read_ns: float = 60.0
    order_ns: float = 120.0
    view_ns: float = 120.0
    sum_ns: float = 55.0
    weighted: float = 1.95
    compare_ns: float = 0.2
    label_ns: float = 1.2
    row_ms: float = 0.2
    mixture_seconds: float = 2.0


@dataclass(frozen=True)
class ModelPlan:
    """Estimated resources of the default model on one machine; seconds with all of its cores."""

    fit_seconds: float
    row_ms: float
    memory_gb: float
    disk_gb: float
    disk_memory_gb: float


VIEWS = 2
"""Of the rows that a blend has: as given, and weighted by labels."""
SORTED_ENTRIES, SORTED_BYTES = 2**25, 12
"""Entries that are sorted by feature at a time while the rows of each label are summed up."""
PROGRAM_BYTES = 0.4e9
"""Of the libraries, of blocks of rows and of the sampled rows."""


def plan_model(
    work: Workload, machines: Machines, constants: Constants, speed: ModelSpeed | None = None
) -> ModelPlan:
    """Return the estimated resources of the default model.

    In memory: the rows; for each view their weights, what a search reads, and for each pair of a
    feature and a label that occur in one row a number. With ``--out-of-core`` all of this is on
    disk, and memory has the labels and what is counted per row, feature and label.
    """
    from vicinal.methods.blend.scoring import MOST_ROWS, MOST_SAMPLED

    speed = speed or ModelSpeed()
    entries = work.rows * work.entries
    pairs, met = label_pairs(work)
    search = VIEWS * speed.weighted * constants.query_seconds(work.rows, work.entries)
    compare = VIEWS * met * speed.compare_ns + work.labels * speed.label_ns
    slow = constants.model_slowness
    row = search + slow * (compare * 1e-9 + speed.row_ms * 1e-3)
    sums = (1 + VIEWS) * speed.sum_ns * entries * work.labels_per_row
    one_core = (speed.read_ns + speed.order_ns + VIEWS * speed.view_ns) * entries
    sampled = min(work.rows, max(MOST_ROWS, min(work.rows / 10, MOST_SAMPLED)))
    fit = slow * (one_core * 1e-9 + speed.mixture_seconds)
    fit += (slow * sums * 1e-9 + sampled * row) / machines.cores
    labels = 12 * work.labels_per_row * work.rows + 60 * work.labels
    per_row = 48 + 8 * work.labels_per_row
    per_entry = 12 + VIEWS * (8 + constants.index_bytes_per_entry)
    per_feature = VIEWS * (constants.index_bytes_per_feature + 20) * work.features
    counted = 40 * work.features + 590 * work.labels + PROGRAM_BYTES
    sorting = SORTED_BYTES * min(entries, SORTED_ENTRIES)
    on_disk = entries * (8 + VIEWS * 12) + VIEWS * stored_index(work, machines, constants)[1]
    in_memory = entries * per_entry + 8 * VIEWS * pairs + per_feature + sorting
    return ModelPlan(
        fit_seconds=fit,
        row_ms=1e3 * row,
        memory_gb=(in_memory + 130 * work.rows + labels + counted) / 1e9,
        disk_gb=(on_disk + 8 * VIEWS * (pairs + work.features) + per_row * work.rows) / 1e9,
        disk_memory_gb=machines.build_gb + (50 * work.rows + labels + counted) / 1e9,
    )


def label_pairs(work: Workload) -> tuple[float, float]:
    """Return how many pairs of a feature and a label occur in one row, and how many a row meets.

    A row meets the labels that share a feature with it, once for each of these features. Features
    and labels are drawn by Zipf's law, independently of each other: real ones have fewer pairs.
    """
    import numpy as np

    share, count = _zipf_law(work.features)
    label_share, label_count = _zipf_law(max(work.labels, 1.0))
    having = -np.expm1(-work.entries * share)
    occurring = work.rows * having * work.labels_per_row
    different = np.array(
        [float(label_count @ -np.expm1(-times * label_share)) for times in occurring]
    )
    return float(count @ different), float((count * having) @ different)


def _zipf_law(size: float) -> "tuple[Float, Float]":
    """Return the share of a feature in each of some groups of ranks, and the groups' sizes."""
    import numpy as np

    from vicinal.datasets.generated import EXPONENT, OFFSET

    ends = np.unique(np.concatenate([np.arange(200.0), np.geomspace(200, 1e12, 900)]).round())
    ends = np.append(ends[ends < size], size)
    weights = ((ends[:-1] + ends[1:] + 1) / 2 + OFFSET) ** -EXPONENT
    sizes = np.diff(ends)
    return weights / (weights @ sizes), sizes


def seen_features(entries: float, features: float) -> float:
    """Return how many features occur among so many entries drawn by Zipf's law."""
    return features * -math.expm1(-SEEN_SCALE * (entries / features) ** SEEN_EXPONENT)


REPEATS = 3

LEAST_EXPONENT = 0.7
"""Smaller growth of the time of a query comes from other programs."""

TINY = 1e-12
"""Constants are positive."""


def calibrated(
    entries: float = 40.0,
    n_features: float = 1e6,
    neighbors: int = 15,
    n_rows: int = 400_000,
    n_queries: int = 2_000,
    written_mb: int = 256,
) -> Constants:
    """Measure the speed of one core on rows of `entries` features each, drawn by Zipf's law.

    Queries search a quarter of the rows and all of them, in ranges of a quarter each; an index is
    built for a quarter of the rows and for a sixteenth. The differences show what grows with the
    rows, the entries and the features. Each time is the smallest of three runs, to reduce the
    influence of other programs. The default model is fitted three times to 5,000 rows.

    `entries`: mean number of features per row.
    `n_rows`: at least 1,000. More rows take longer and represent large collections better.
    `written_mb`: size of the file that is written to see how fast the disk is.
    """
    from vicinal._core.checks import check_integer
    from vicinal.datasets.generated import zipf_rows

    check_integer("n_rows", n_rows, low=1000)
    quarter = n_rows // 4
    parts = [zipf_rows(quarter, int(n_features), seed, entries) for seed in range(4)]
    queries = zipf_rows(n_queries, int(n_features), 4, entries)
    few, many = (_query_seconds(each, queries, neighbors) for each in (parts[:1], parts))
    growth = math.log(many / few) / math.log(4)
    small, large = (_building(rows) for rows in (parts[0][: quarter // 4], parts[0]))
    stored = _by_entry_and_feature(small, large)
    return Constants(
        ns_per_row=1e9 * many / (n_queries * 4 * quarter),
        measured_rows=4 * quarter,
        row_exponent=min(max(growth, LEAST_EXPONENT), 1.0),
        entries_per_row=large.n_entries / quarter,
        build_ns_per_entry=1e9 * large.build / large.n_entries,
        write_ns_per_entry=1e9 * large.write / large.n_entries,
        index_bytes_per_entry=stored[0],
        index_bytes_per_feature=stored[1],
        merge_ns_per_neighbor=_merge_ns(n_queries, neighbors),
        disk_mb_per_second=_disk_rate(written_mb),
        model_slowness=_reference_fit() / REFERENCE_SECONDS,
    )


REFERENCE_SECONDS = 1.03
"""Of :func:`_reference_fit` on the processor that the built-in speeds come from."""


def _reference_fit() -> float:
    """Return the time of one core to fit the default model to 5,000 generated rows."""
    import numpy as np

    from vicinal import Blend
    from vicinal.datasets.generated import zipf_rows

    X, Y = zipf_rows(5_000, 100_000, 5), zipf_rows(5_000, 10_000, 6, 3.0).astype(np.int32)
    return _best(lambda: Blend(n_jobs=1).fit(X, Y), time.process_time)


def _query_seconds(parts: "Sequence[Csr]", queries: "Csr", neighbors: int) -> float:
    """Return the time of queries on one core, the index of each part being stored apart."""
    from vicinal.index.segmented import BYTES_PER_ENTRY, LEAST_MEMORY, SegmentedIndex

    largest = max(part.nnz for part in parts)
    memory = max(2 * BYTES_PER_ENTRY * (largest + 1), LEAST_MEMORY)
    with tempfile.TemporaryDirectory() as folder:
        index = SegmentedIndex.build(parts, Path(folder) / "index", max_memory=memory, n_jobs=1)
        return _best(lambda: index.query(queries, neighbors))


@dataclass(frozen=True)
class _Building:
    """What it takes to write some rows and to build their index; times of one core."""

    n_entries: int
    n_features: int
    write: float
    build: float
    stored_bytes: int


def _building(rows: "Csr") -> _Building:
    import numpy as np

    from vicinal.index.inverted import InvertedIndex

    write = _best(lambda: _write(rows, postings=False), time.process_time)
    whole = _best(lambda: _write(rows), time.process_time)
    build = max(whole - write, 0.1 * write)
    stored = _write(rows) or InvertedIndex(rows).nbytes
    return _Building(rows.nnz, len(np.unique(rows.indices)), write, build, stored)


def _by_entry_and_feature(small: _Building, large: _Building) -> tuple[float, float]:
    """Return the stored bytes per entry and per feature, neither of them negative."""
    import numpy as np
    from scipy.optimize import nnls

    both = np.array([[each.n_entries, each.n_features] for each in (small, large)], dtype=float)
    stored = np.array([small.stored_bytes, large.stored_bytes], dtype=float)
    per_entry, per_feature = (max(float(each), TINY) for each in nnls(both, stored)[0])
    return per_entry, per_feature


def _best(call: Callable[[], object], clock: Callable[[], float] = time.perf_counter) -> float:
    """Return the shortest time of several runs, in seconds."""
    times = []
    for _ in range(REPEATS):
        began = clock()
        call()
        times.append(clock() - began)
    return min(times)


def _write(X: object, *, postings: bool = True) -> int:
    """Write an index; return the bytes of what a search reads."""
    from vicinal.index.segmented import SegmentedIndex

    with tempfile.TemporaryDirectory() as folder:
        SegmentedIndex.build([X], Path(folder) / "index", n_jobs=1, postings=postings)
        return sum(file.stat().st_size for file in Path(folder).glob("index/run-*/postings-*"))


def _merge_ns(n_queries: int, neighbors: int) -> float:
    """Return the time per neighbour to merge the lists of eight shards."""
    import numpy as np

    rng = np.random.default_rng(1)
    keys = rng.random((n_queries, 8 * neighbors))
    places = rng.integers(0, 10**6, keys.shape)
    seconds = _best(lambda: np.lexsort((places, keys, places < 0), axis=1))
    return 1e9 * seconds / keys.size


def _disk_rate(megabytes: int) -> float:
    """Return how many MB per second reach the disk of the temporary folder."""
    import numpy as np

    block = np.random.default_rng(1).bytes(2**20)
    with tempfile.TemporaryFile() as stream:
        began = time.perf_counter()
        for _ in range(megabytes):
            stream.write(block)
        stream.flush()
        os.fsync(stream.fileno())
        return megabytes * 2**20 / 1e6 / (time.perf_counter() - began)


def plan_search(
    rows: Annotated[float, typer.Option(help="Number of rows, such as 1e9.")],
    nnz: Annotated[float, typer.Option(help="Mean number of non-zero features per row.")] = 40.0,
    features: Annotated[float, typer.Option(help="Number of features.")] = 1e6,
    labels: Annotated[float, typer.Option(help="Number of labels.")] = 1e5,
    labels_per_row: Annotated[float, typer.Option(help="Mean number of labels per row.")] = 3.0,
    neighbors: Annotated[int, typer.Option(help="Neighbours per query.", min=1)] = 15,
    queries: Annotated[float, typer.Option(help="Number of queries.")] = 1e6,
    workers: Annotated[
        int | None,
        typer.Option(
            help="Number of machines; by default enough to hold the index in memory.", min=1
        ),
    ] = None,
    cores: Annotated[int, typer.Option(help="Cores per machine.", min=1)] = 16,
    memory: Annotated[float, typer.Option(help="GB of memory per machine.", min=0.1)] = 64.0,
    max_memory: Annotated[
        float, typer.Option(help="GB of memory for the index while it is built.", min=0.001)
    ] = 1.0,
    price: Annotated[float, typer.Option(help="Price of a machine per hour.", min=0)] = 0.0,
    calibrate: Annotated[
        bool, typer.Option("--calibrate", help="Measure this machine first (a minute).")
    ] = False,
    constants: Annotated[
        Path | None,
        typer.Option(help="File of measured speeds; written by --calibrate, else read."),
    ] = None,
    json: JsonFlag = False,
) -> None:
    """Estimate what the default model, and searches over many rows, need.

    Disk, memory, machines and time; with --price also the cost.
    """
    work = Workload(rows, nnz, features, labels, labels_per_row, neighbors, queries)
    measured = _constants(work, calibrate, constants)
    machines = Machines(workers, cores, memory, price, max_memory)
    found, model = plan(work, machines, measured), plan_model(work, machines, measured)
    facts: dict[str, object] = {"rows": int(rows), **_model_facts(model, work, machines)}
    facts |= _facts(found)
    if price:
        facts["searches, cost"] = found.cost
    facts["speeds"] = "binary rows on an AMD EPYC core (--calibrate measures yours)"
    if calibrate or constants is not None:
        facts["speeds"] = "measured on this machine" if calibrate else f"read from {constants}"
    if json:
        print_json({**facts, **{f"constant {k}": v for k, v in asdict(measured).items()}})
    else:
        print_facts("Plan", facts)


def _constants(work: "Workload", calibrate: bool, file: Path | None) -> "Constants":
    """Return the speeds of a machine: measured now, read from a file, or the defaults."""
    if not calibrate:
        return Constants() if file is None else read_constants(file)
    with errors.status("Measuring this machine"):
        measured = calibrated(work.entries, work.features, work.neighbors)
    if file is not None:
        file.write_text(json_format.dumps(asdict(measured), indent=1) + "\n")
    return measured


def _model_facts(found: ModelPlan, work: Workload, machines: Machines) -> dict[str, object]:
    """Return the estimates for the default model by name."""
    rows = work.queries * found.row_ms / machines.cores
    return {
        "default model: training on one machine, minutes": found.fit_seconds / 60,
        "default model: memory, GB": found.memory_gb,
        "default model: fits in the memory of one machine": found.memory_gb <= machines.memory_gb,
        "default model: memory with --out-of-core, GB": found.disk_memory_gb,
        "default model: disk with --out-of-core, GB": found.disk_gb,
        "default model: a prediction on one core, ms": found.row_ms,
        "default model: all predictions, minutes": rows / 60e3,
    }


def _facts(found: "SearchPlan") -> dict[str, object]:
    """Return the estimates for searches by name."""
    return {
        "searches: rows and index on disk, GB": found.disk_gb,
        "searches: of these the index, GB": found.index_gb,
        "searches: parts that the index is divided into": found.ranges,
        "searches: labels in memory, GB": found.labels_gb,
        "searches: machines": found.workers,
        "searches: the index fits in their memory": found.fits_in_memory,
        "searches: writing rows and index, minutes": found.seconds_to_write / 60,
        "searches: building the index, minutes": found.seconds_to_build_index / 60,
        "searches: a million rows, minutes": found.seconds_per_million_queries / 60,
        "searches: all rows asked for, hours": found.seconds_for_queries / 3600,
        "searches: neighbours of every training row, GB": found.graph_gb,
        "searches: neighbours of every training row, hours": found.seconds_for_graph / 3600,
        "searches: network, kB per row": found.network_kb_per_query,
    }


def read_constants(file: Path) -> "Constants":
    """Return the constants in a file that ``--calibrate`` wrote."""
    from vicinal.errors import InvalidArgumentError

    try:
        found = Constants(**json_format.loads(file.read_text()))
        is_sound = all(isinstance(v, int | float) and v > 0 for v in asdict(found).values())
    except (ValueError, TypeError):
        is_sound = False
    if not is_sound:
        expected = "a file that vicinal plan --calibrate --constants FILE wrote"
        raise InvalidArgumentError("--constants", expected, str(file))
    return found
