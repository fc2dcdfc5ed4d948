"""Choose where a command searches: in memory, within a memory limit, or on a cluster."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from vicinal._base.errors import InvalidArgumentError
from vicinal.index import SegmentedAlgorithm, SegmentedIndex


@contextmanager
def searching(estimator: Any, rows: SegmentedIndex | None, cluster: str | None) -> Iterator[None]:
    """Make an estimator search as the options say, inside the ``with`` block.

    Parameters
    ----------
    estimator : estimator
    rows : SegmentedIndex or None
        Streamed rows; None if the rows are in memory.
    cluster : str or None
        Address of a Dask scheduler.
    """
    if (cluster is not None or rows is not None) and "algorithm" not in estimator.get_params():
        got = type(estimator).__name__
        raise InvalidArgumentError("--method", "a method that searches neighbours", got)
    if cluster is not None:
        yield from _on_cluster(estimator, cluster, None if rows is None else rows.folder)
        return
    if rows is not None:
        estimator.set_params(algorithm=SegmentedAlgorithm(rows.max_memory, rows))
    yield


def _on_cluster(estimator: Any, address: str, folder: Path | None) -> Iterator[None]:
    from vicinal.cluster import ClusterAlgorithm, connected

    with connected(address) as client:
        estimator.set_params(algorithm=ClusterAlgorithm(client, folder))
        yield
        # The saved model searches in memory, without the cluster.
        estimator.set_params(algorithm="auto")
