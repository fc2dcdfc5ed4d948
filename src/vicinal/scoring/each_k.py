"""Values for increasing k, if a graph may have fewer than k neighbours."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import TypeVar

from vicinal._base.arrays import Csr
from vicinal.graph import NeighborGraph
from vicinal.graph.votes import votes_by_k

Value = TypeVar("Value")


def at_each_k(
    sweep: Callable[[list[int]], Iterable[Value]], ks: Sequence[int], width: int
) -> Iterator[Value]:
    """Yield the value of each of the increasing `ks`; above `width` it stays the same.

    Examples
    --------
    >>> list(at_each_k(lambda widths: [10 * width for width in widths], [1, 3, 4, 9], width=3))
    [10, 30, 30, 30]
    """
    values = iter(sweep(sorted({min(k, width) for k in ks})))
    reached: int | None = None
    for k in ks:
        if reached is None or min(k, width) > reached:
            reached, value = min(k, width), next(values)
        yield value


def votes_at_each_k(graph: NeighborGraph, Y: Csr, ks: Sequence[int]) -> Iterator[Csr]:
    """Yield the votes of the k nearest (or all) rows for each of the increasing `ks`."""
    return at_each_k(partial(votes_by_k, graph, Y), ks, graph.k)
