"""The settings that are tried where a caller names none."""

from collections.abc import Mapping

EVERY_K = tuple(range(1, 31))
"""k of the ML-kNN and BRkNN papers."""
ODD_K = tuple(range(1, 30, 2))
"""k of the LCIF paper."""
TENTHS = tuple(tenth / 10 for tenth in range(11))
FEW_K = (1, 3, 5, 7, 10, 15, 20, 25, 30)
"""For the methods whose every k costs a search of votes or a regression a label."""

DEFAULTS: Mapping[str, Mapping[str, tuple[object, ...]]] = {
    "brknn": {"variant": ("base", "a", "b"), "n_neighbors": EVERY_K},
    "lpknn": {"n_neighbors": EVERY_K},
    "mlknn": {"n_neighbors": EVERY_K},
    "dmlknn": {"tolerance": (0, 1, 2, 4, 6), "n_neighbors": FEW_K},
    "lamlknn": {"n_clusters": (1, 2, 5, 10), "n_neighbors": EVERY_K},
    "iblr": {"C": (0.1, 1.0, 10.0), "n_neighbors": FEW_K},
    "instance-knn": {"n_neighbors": ODD_K},
    "feature-knn": {"n_neighbors": ODD_K},
    "lcif": {"n_neighbors_instance": ODD_K, "n_neighbors_feature": ODD_K, "mixing": TENTHS},
}
"""The default axes of each method, in grid order."""

BEYOND_EDGE: Mapping[tuple[object, ...], tuple[object, ...]] = {
    ODD_K: tuple(range(31, 60, 2)),
}
"""The edge rule of the LCIF paper: what follows these values where the best is the last of them."""
