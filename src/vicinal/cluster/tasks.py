"""Tasks on a cluster: a bounded number at a time, a tree of merges, clean cancellation."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import dask
from distributed import Client, Future, KilledWorker

from vicinal.cluster.merging import merge_found

MERGED = 8
"""So many lists are merged by one task."""

LARGE_GRAPH = "1GB"
"""Dask warns of tasks that hold much data; ours do where a caller passes local arrays."""


def merged(client: Client, parts: Sequence[Future]) -> Future:
    """Return the future of all lists merged, by a tree of pure tasks."""
    level = list(parts)
    while len(level) > 1:
        groups = [level[i : i + MERGED] for i in range(0, len(level), MERGED)]
        level = [
            client.submit(merge_found, group) if len(group) > 1 else group[0] for group in groups
        ]
    return level[0]


@contextmanager
def holding_data() -> Iterator[None]:
    """Within, tasks may hold blocks of rows."""
    with dask.config.set({"distributed.admin.large-graph-warning-threshold": LARGE_GRAPH}):
        yield


class WorkersLostError(RuntimeError):
    """Workers died again and again while they ran the same task."""


def _result(future: Future) -> Any:
    """Return the result of a task; errors that come from too little memory say what to do."""
    try:
        return future.result()
    except KilledWorker as error:
        raise WorkersLostError(
            "workers died again and again while they searched, most likely for lack of memory: "
            "start workers with --memory-limit 0, give ClusterIndex a smaller max_memory, or give "
            f"workers fewer threads ({error})"
        ) from error
    except MemoryError as error:
        raise MemoryError(
            "a worker ran out of memory while it searched: give ClusterIndex a smaller max_memory "
            f"or block_queries, or give workers fewer threads ({error})"
        ) from error


def in_flight(client: Client, starters: Iterable[Callable[[], Future]], most: int) -> Iterator[Any]:
    """Yield the results of tasks in order, at most so many started at a time.

    Where the caller stops, an error comes or Ctrl-C is pressed, the tasks under way are cancelled.
    """
    running: deque[Future] = deque()
    try:
        for start in starters:
            running.append(start())
            if len(running) >= most:
                yield _result(running[0])
                running.popleft().release()
        while running:
            yield _result(running[0])
            running.popleft().release()
    finally:
        if running:
            client.cancel(list(running))
