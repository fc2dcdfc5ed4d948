"""The eleven Yahoo sets of Zhang 2007: 2000 + 3000 pages, 2 % of the words, in [0, 1]."""

from vicinal.datasets.catalogue.entry import Entry
from vicinal.datasets.catalogue.recipes import Mat

_HOME = (
    "https://github.com/peipeilihfut/PMLFS_Partial-Multi-Label-Feature-Selection/raw/88e0711/data"
)


def _yahoo(topic: str, mat: str, n_features: int, n_labels: int, cardinality: float) -> Entry:
    return Entry(
        name=f"yahoo-{topic}",
        folder=f"yahoo-{topic}",
        n_rows=5000,
        n_features=n_features,
        n_labels=n_labels,
        cardinality=cardinality,
        split=(2000, 3000),
        recipe=Mat(mat),
        source="peipeilihfut/PMLFS_Partial-Multi-Label-Feature-Selection",
        aliases=(topic,),
        notes=("stored dense, loaded as CSR", "features and labels have no names"),
        home=_HOME,
    )


YAHOO = (
    _yahoo("arts", "arts.mat", 462, 26, 1.636),
    _yahoo("business", "Business.mat", 438, 30, 1.588),
    _yahoo("computers", "Computers.mat", 681, 33, 1.508),
    _yahoo("education", "education.mat", 550, 33, 1.461),
    _yahoo("entertainment", "Entertainment.mat", 640, 21, 1.420),
    _yahoo("health", "Health.mat", 612, 32, 1.662),
    _yahoo("recreation", "recreation.mat", 606, 22, 1.423),
    _yahoo("reference", "ref.mat", 793, 33, 1.169),
    _yahoo("science", "science.mat", 743, 40, 1.451),
    _yahoo("social", "social.mat", 1047, 39, 1.283),
    _yahoo("society", "Society.mat", 636, 27, 1.692),
)
