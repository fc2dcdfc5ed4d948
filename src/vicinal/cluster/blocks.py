"""How queries are divided into tasks: few large ones first, small ones at the end."""

from collections.abc import Iterator

FEWEST_QUERIES = 256
"""A task of fewer queries costs more to hand out than to run."""

SHARE = 2 / 3
"""The part of the remaining queries that one round of tasks takes."""


def query_blocks(n_queries: int, at_once: int, most: int) -> Iterator[tuple[int, int]]:
    """Yield the first and the last (excluded) query of each block.

    Every task reads all postings of its shards from memory, so a few large tasks cost less than
    many small ones; but workers finish together only if the last tasks are small. So blocks come
    in rounds of `at_once` equal ones, and a round takes two thirds of the queries that are left.

    Parameters
    ----------
    n_queries : int
    at_once : int
        Blocks that the workers can search at the same time.
    most : int
        Most queries per block.

    Examples
    --------
    >>> [stop - start for start, stop in query_blocks(10_000, 2, 10_000)]
    [3334, 3334, 1111, 1111, 371, 371, 256, 112]
    >>> list(query_blocks(300, 2, 100))
    [(0, 100), (100, 200), (200, 300)]
    """
    start = 0
    while start < n_queries:
        even = int(SHARE * (n_queries - start) / at_once) + 1
        size = min(most, max(FEWEST_QUERIES, even))
        for _ in range(at_once):
            stop = min(start + size, n_queries)
            if start < stop:
                yield start, stop
            start = stop
