"""The width of neighbour graphs."""

WIDEST_PADDING = 1024
"""Maximum width to which lists are padded if k exceeds the number of rows."""


def graph_width(k: int, n_rows: int) -> int:
    """Return the width of a graph of the k nearest of `n_rows` rows.

    It is `k`. If `k` exceeds the number of rows, the additional columns are only padding, and
    columns beyond :data:`WIDEST_PADDING` are omitted, so that a huge `k` costs nothing.

    Examples
    --------
    >>> graph_width(5, 3), graph_width(10**9, 3), graph_width(10**9, 2000)
    (5, 1024, 2000)
    """
    return min(k, max(n_rows, WIDEST_PADDING))
