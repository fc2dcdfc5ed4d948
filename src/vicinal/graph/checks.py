"""Validation of graphs passed by callers."""

import numpy as np

from vicinal._base.errors import InvalidArgumentError
from vicinal.graph.neighbor_graph import NeighborGraph, narrowed


def check_training_graph(graph: NeighborGraph, n_rows: int, k: int) -> NeighborGraph:
    """Return the k nearest of a caller's leave-one-out graph, or raise if it is not valid."""
    check_graph(graph, n_rows, n_rows, min(k, n_rows - 1))
    own = graph.ids == np.arange(n_rows)[:, None]
    if own.any():
        row = int(own.any(axis=1).argmax())
        raise InvalidArgumentError(
            "graph",
            "a graph of the training rows that excludes each row itself (query_self)",
            f"row {row} as its own neighbour",
        )
    return narrowed(graph, k)


def check_graph(graph: object, n_queries: int, n_rows: int, k: int) -> None:
    """Raise unless `graph` has at least k neighbours of `n_queries` queries among `n_rows` rows."""
    if not isinstance(graph, NeighborGraph):
        raise InvalidArgumentError("graph", "a NeighborGraph", f"a {type(graph).__name__}")
    if (graph.n_queries, graph.n_rows) != (n_queries, n_rows):
        raise InvalidArgumentError(
            "graph",
            f"{n_queries} queries among {n_rows} training rows",
            f"{graph.n_queries} queries among {graph.n_rows} rows",
        )
    if graph.k < k:
        raise InvalidArgumentError("graph", f"at least {k} neighbours per row", graph.k)
