"""A cluster as the ``algorithm=`` of an estimator, and how to reach one."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from distributed import Client

from vicinal._base.arrays import Features
from vicinal._base.errors import InvalidArgumentError
from vicinal.cluster.index import ClusterIndex


@dataclass(frozen=True)
class ClusterAlgorithm:
    """Search the rows of a model on a cluster: pass it as ``algorithm=``.

    Parameters
    ----------
    client : distributed.Client
    folder : path or None
        Where the rows that the model is fitted on lie (:class:`vicinal.index.SegmentedIndex`), so
        that workers read them themselves; None to send rows through the scheduler.
    """

    client: Client
    folder: Path | None = None
    saved_as: ClassVar[str] = "auto"

    def __call__(self, X: Features, metric: str, n_jobs: int | None) -> ClusterIndex:
        """Return an index over the rows of `X`."""
        if self.folder is not None:
            index = ClusterIndex(self.client, self.folder, metric)
            if (index.n_rows, index.n_features) == X.shape:
                return index
        return ClusterIndex(self.client, X, metric)

    def __deepcopy__(self, memo: object) -> "ClusterAlgorithm":
        """Return itself: a connection is not copied."""
        return self


@contextmanager
def connected(address: str, timeout: float = 30.0) -> Iterator[Client]:
    """Connect to the scheduler at an address, for as long as the block runs."""
    try:
        client = Client(address, timeout=timeout)
    except (OSError, ValueError) as error:
        expected = "the address of a Dask scheduler, such as tcp://10.0.0.5:8786"
        raise InvalidArgumentError("cluster", expected, f"{address}: {error}") from None
    try:
        yield client
    finally:
        client.close()
