"""The neighbour graph: computed once for the largest k, shared by every method.

Input: ids and similarities from an index. Output: label counts among the neighbours, for one k
or for every k at once. May be imported by ``index`` and later layers.
"""

from vicinal.graph.merging import merge_graphs
from vicinal.graph.neighbor_graph import NeighborGraph
from vicinal.graph.votes import neighbor_cardinality, votes, votes_by_k

__all__ = ["NeighborGraph", "merge_graphs", "neighbor_cardinality", "votes", "votes_by_k"]
