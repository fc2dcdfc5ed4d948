"""One call for a search on a device, of new rows or of the rows themselves."""

from vicinal.gpu import DenseSearch


def dense_graph(X, Q=None, k=10, metric="euclidean", device=None, *, fused=None):
    search = DenseSearch.of(X, metric, device, fused=fused)
    return search.self_graph(k) if Q is None else search.graph(Q, k)
