"""Suggest labels for texts and other records, explain them, and learn from corrections.

``Blend`` is the default model. The packages, in the order in which data passes through them::

    datasets → preprocess → index → graph → scoring → scores → decision → labels → metrics

``vicinal.methods`` composes the stages into scikit-learn estimators, exported here. A name is
loaded when it is first asked for. So ``vicinal.gpu`` can be imported without the compiled core and
without scikit-learn.

Examples
--------
>>> from vicinal import Blend, make_pipeline
>>> from vicinal.preprocess import TextVectorizer
>>> texts = ["the parcel is late", "a wrong invoice", "where is my parcel", "pay the invoice"] * 5
>>> tags = [["delivery"], ["billing"], ["delivery"], ["billing"]] * 5
>>> model = make_pipeline(TextVectorizer(weighting="counts"), Blend()).fit(texts, tags)
>>> model.predict_names(["my parcel is late"])
[['delivery']]
"""

from importlib import import_module
from importlib.metadata import version
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from vicinal import (
        baselines,
        comparison,
        datasets,
        decision,
        distances,
        explanation,
        graph,
        index,
        metrics,
        preprocess,
        reduction,
        report,
        results,
        selection,
        service,
    )
    from vicinal.comparison import compare
    from vicinal.graph import NeighborGraph
    from vicinal.methods import (
        IBLR,
        LCIF,
        Blend,
        BRkNN,
        DMLkNN,
        FeatureKNN,
        FrameColumns,
        InstanceKNN,
        LabelRidge,
        LAMLkNN,
        LocalRidge,
        LPkNN,
        MLkNN,
        Pipeline,
        explain,
        load,
        make_pipeline,
        make_views,
        save,
    )
    from vicinal.scores import Scores
    from vicinal.selection import tune

    __version__: str

__all__ = [
    "IBLR",
    "LCIF",
    "BRkNN",
    "Blend",
    "DMLkNN",
    "FeatureKNN",
    "FrameColumns",
    "InstanceKNN",
    "LAMLkNN",
    "LPkNN",
    "LabelRidge",
    "LocalRidge",
    "MLkNN",
    "NeighborGraph",
    "Pipeline",
    "Scores",
    "baselines",
    "compare",
    "comparison",
    "datasets",
    "decision",
    "distances",
    "explain",
    "explanation",
    "graph",
    "index",
    "load",
    "make_pipeline",
    "make_views",
    "metrics",
    "preprocess",
    "reduction",
    "report",
    "results",
    "save",
    "selection",
    "service",
    "tune",
]

_HOMES = {
    "FrameColumns": "vicinal.methods",
    "NeighborGraph": "vicinal.graph",
    "Pipeline": "vicinal.methods",
    "Scores": "vicinal.scores",
    "compare": "vicinal.comparison",
    "explain": "vicinal.methods",
    "load": "vicinal.methods",
    "make_pipeline": "vicinal.methods",
    "make_views": "vicinal.methods",
    "save": "vicinal.methods",
    "tune": "vicinal.selection",
}
"""Where the names come from that are neither estimators nor packages."""


def __getattr__(name: str) -> object:
    """Load a name of ``__all__`` (lower-case nouns are packages), or the version."""
    if name == "__version__":
        return version("vicinal")
    if name not in __all__:
        raise AttributeError(f"module 'vicinal' has no attribute {name!r}")
    if name.islower() and name not in _HOMES:
        return import_module(f"vicinal.{name}")
    value: object = getattr(import_module(_HOMES.get(name, "vicinal.methods")), name)
    globals()[name] = value
    return value


def estimator_names() -> list[str]:
    """Return the names of the estimator classes, without loading them."""
    return [name for name in __all__ if not name.islower() and name not in _HOMES]


def __dir__() -> list[str]:
    """List what can be asked for."""
    return sorted({*globals(), *__all__, "__version__"})
