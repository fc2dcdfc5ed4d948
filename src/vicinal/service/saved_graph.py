"""The neighbour graph of a snapshot, so that a restart need not search it again.

Most methods need the leave-one-out graph of their rows to learn or forget. Searching it takes
longer the more rows there are, and a model folder does not contain it. A snapshot therefore has a
second file, ``VERSION.graph.npz``. If it is absent or damaged, the model searches the graph.
"""

import logging
import zipfile
from contextlib import suppress
from pathlib import Path

import numpy as np

from vicinal._base.errors import InvalidArgumentError
from vicinal.estimators.incremental import IncrementalEstimator
from vicinal.estimators.model import Model, estimator_of
from vicinal.graph import NeighborGraph

log = logging.getLogger("vicinal.service")
DAMAGE = (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile, InvalidArgumentError)
"""What reading a damaged file may raise."""


def graph_file(snapshot: Path) -> Path:
    """Return the file of a snapshot's graph.

    Examples
    --------
    >>> graph_file(Path("taught.sqlite.snapshots/news/000000000012")).name
    '000000000012.graph.npz'
    """
    return snapshot.with_name(f"{snapshot.name}.graph.npz")


def write_graph(model: Model, snapshot: Path) -> None:
    """Write the graph of a model, if it has one; complete or not at all."""
    estimator = estimator_of(model)
    graph = estimator.known_graph() if isinstance(estimator, IncrementalEstimator) else None
    if graph is None:
        return
    target = graph_file(snapshot)
    unfinished = target.with_suffix(".unfinished")
    try:
        with unfinished.open("wb") as stream:
            np.savez(stream, ids=graph.ids, values=graph.values)
        unfinished.replace(target)
    except OSError:
        with suppress(OSError):
            unfinished.unlink()
        raise


def read_graph(model: Model, snapshot: Path) -> None:
    """Give a model that was just loaded the graph that was saved with it, if there is one."""
    estimator, file = estimator_of(model), graph_file(snapshot)
    if not isinstance(estimator, IncrementalEstimator) or not file.exists():
        return
    try:
        with file.open("rb") as stream, np.load(stream, allow_pickle=False) as arrays:
            ids, values = arrays["ids"], arrays["values"]  # reading checks their CRC-32
        rows = estimator.search_
        estimator.use_graph(NeighborGraph(ids, values, rows.metric, rows.n_rows))
    except DAMAGE as error:
        log.error("graph skipped", extra={"path": str(file), "reason": str(error)})
