"""Multi-label learning from neighbours: search once, learn many.

The road that data takes, one package a stage::

    datasets → preprocess → index → graph → scoring → scores → decision → labels → metrics

``vicinal.estimators`` composes the stages into scikit-learn estimators, exported here.

Examples
--------
>>> import vicinal
>>> data = vicinal.datasets.load("debtags")
>>> train, test = data.split()
>>> model = vicinal.BRkNN(n_neighbors=10, metric="cosine").fit(train.X, train.Y)
>>> scores = vicinal.metrics.evaluate(test.Y, model.predict(test.X))
"""

from importlib.metadata import version

from vicinal import (
    comparison,
    datasets,
    decision,
    graph,
    index,
    metrics,
    preprocess,
    reduction,
    report,
    results,
    rivals,
    selection,
)
from vicinal.estimators import (
    IBLR,
    LCIF,
    BRkNN,
    DMLkNN,
    FeatureKNN,
    InstanceKNN,
    LAMLkNN,
    LPkNN,
    MLkNN,
    load,
    save,
)
from vicinal.graph import NeighborGraph
from vicinal.scores import Scores

__version__ = version("vicinal")

__all__ = [
    "IBLR",
    "LCIF",
    "BRkNN",
    "DMLkNN",
    "FeatureKNN",
    "InstanceKNN",
    "LAMLkNN",
    "LPkNN",
    "MLkNN",
    "NeighborGraph",
    "Scores",
    "comparison",
    "datasets",
    "decision",
    "graph",
    "index",
    "load",
    "metrics",
    "preprocess",
    "reduction",
    "report",
    "results",
    "rivals",
    "save",
    "selection",
]
