"""Which runs of rows to merge when rows are added: a log-structured policy."""

from collections.abc import Sequence

MERGED = 8
"""Number of consecutive runs of one level that are merged; a row is written about log8(n) times."""


def level(n_rows: int) -> int:
    """Return the level of a run; runs of the next level are eight times as large.

    Examples
    --------
    >>> [level(n) for n in (1, 7, 8, 63, 64, 512)]
    [0, 0, 1, 1, 2, 3]
    """
    return (max(n_rows, 1).bit_length() - 1) // (MERGED.bit_length() - 1)


def tail_to_merge(sizes: Sequence[int]) -> int:
    """Return how many runs at the end to merge into one; 0 for none.

    Only consecutive runs are merged, so that ids ascend from run to run. Once there are
    :data:`MERGED` runs of one level, they are merged together with all preceding runs whose level
    is no higher than that of the merged rows.

    Examples
    --------
    >>> tail_to_merge([100_000] + [10] * 7), tail_to_merge([100_000] + [10] * 8)
    (0, 8)
    >>> tail_to_merge([70] * 7 + [10] * 8)
    15
    """
    merged = 0
    while True:
        rest = sizes[: len(sizes) - merged]
        top = level(sum(sizes[len(sizes) - merged :])) if merged else level(rest[-1]) if rest else 0
        run = 0
        while run < len(rest) and level(rest[-1 - run]) <= top:
            run += 1
        if run + (1 if merged else 0) < MERGED:
            return merged
        merged += run
