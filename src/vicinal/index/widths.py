"""How wide an answer is."""

WIDEST_PADDING = 1024
"""Columns up to which lists are padded where k exceeds the number of rows."""


def graph_width(k: int, n_rows: int) -> int:
    """Return the width of a graph of the k nearest of `n_rows` rows.

    It is `k`. Where that is more than the number of rows, the columns past it can only be padding,
    and those past :data:`WIDEST_PADDING` are left out: a huge `k` costs nothing.

    Examples
    --------
    >>> graph_width(5, 3), graph_width(10**9, 3), graph_width(10**9, 2000)
    (5, 1024, 2000)
    """
    return min(k, max(n_rows, WIDEST_PADDING))
