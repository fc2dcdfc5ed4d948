"""Choose where a command searches: in memory, within a memory limit, or on a cluster."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from vicinal._base.errors import InvalidArgumentError
from vicinal.index import SegmentedAlgorithm


@contextmanager
def searching(
    estimator: Any, folder: Path | None, max_memory: float, cluster: str | None
) -> Iterator[None]:
    """Make an estimator search as the options say, inside the ``with`` block.

    Parameters
    ----------
    estimator : estimator
    folder : Path or None
        The folder of streamed rows; None if the rows are in memory.
    max_memory : float
        GB of memory for the search of streamed rows.
    cluster : str or None
        Address of a Dask scheduler.
    """
    if (cluster is not None or folder is not None) and "algorithm" not in estimator.get_params():
        got = type(estimator).__name__
        raise InvalidArgumentError("--method", "a method that searches neighbours", got)
    if cluster is not None:
        yield from _on_cluster(estimator, cluster, folder)
        return
    if folder is not None:
        if not max_memory >= 2**20 / 1e9:
            raise InvalidArgumentError("--max-memory", "at least 0.002 GB", max_memory)
        estimator.set_params(algorithm=SegmentedAlgorithm(int(max_memory * 1e9)))
    yield


def _on_cluster(estimator: Any, address: str, folder: Path | None) -> Iterator[None]:
    from vicinal.cluster import ClusterAlgorithm, connected

    with connected(address) as client:
        estimator.set_params(algorithm=ClusterAlgorithm(client, folder))
        yield
        # The saved model searches in memory, without the cluster.
        estimator.set_params(algorithm="auto")
