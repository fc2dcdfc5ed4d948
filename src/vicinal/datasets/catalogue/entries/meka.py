"""Data sets in MEKA's format, and MATLAB files of the same rows with other authors' splits."""

from vicinal.datasets.catalogue.entry import Entry
from vicinal.datasets.catalogue.recipes import Mat, Meka

_MEKA = "https://github.com/Waikato/meka/raw/f9ffe23/src/main/data"
_LEHNERES = "https://github.com/lehneres/edu.uni-tuebingen/raw/c3276a5/data"
_TAIL = (
    "https://github.com/ruchi-9/Handling-Tail-Labels-with-Data-Augmentation-and-Self-Training"
    "/raw/HEAD/Datasets"
)

MEKA = (
    Entry(
        name="enron-meka",
        folder="enron",
        n_rows=1702,
        n_features=1001,
        n_labels=53,
        cardinality=3.378,
        recipe=Meka("Enron-meka.arff.bz2"),
        source="MEKA",
        licence="GPL-3",
        notes=("the rows of enron in the order of Mulan's full file; no split",),
        hint="MEKA publishes the file as src/main/data/Enron.arff.bz2: store it under this name",
    ),
    Entry(
        name="imdb",
        folder="imdb",
        n_rows=120919,
        n_features=1001,
        n_labels=28,
        cardinality=2.000,
        recipe=Meka("Imdb.arff.bz2"),
        source="MEKA",
        licence="GPL-3",
        aliases=("imdb-f",),
        notes=("no split is published; papers only state the sizes of one (72551 + 48368)",),
        home=_MEKA,
    ),
    Entry(
        name="slashdot",
        folder="slashdot",
        n_rows=3782,
        n_features=1079,
        n_labels=22,
        cardinality=1.181,
        recipe=Meka("SLASHDOT-F.arff"),
        source="MEKA, from a copy in lehneres/edu.uni-tuebingen",
        aliases=("slashdot-f",),
        home=_LEHNERES,
    ),
    Entry(
        name="slashdot-mat",
        folder="slashdot",
        n_rows=3782,
        n_features=1079,
        n_labels=22,
        cardinality=1.181,
        split=(2269, 1513),
        recipe=Mat("slashdot.mat"),
        source="ruchi-9/Handling-Tail-Labels-with-Data-Augmentation-and-Self-Training",
        notes=("another author's split; the order of the rows differs from slashdot",),
        home=_TAIL,
    ),
    Entry(
        name="ohsumed-meka",
        folder="ohsumed",
        n_rows=13929,
        n_features=1002,
        n_labels=23,
        cardinality=1.663,
        recipe=Meka("OHSUMED-F.arff.gz"),
        source="MEKA, from a copy in lehneres/edu.uni-tuebingen",
        aliases=("ohsumed-f",),
        home=_LEHNERES,
    ),
    Entry(
        name="ohsumed-mat",
        folder="ohsumed",
        n_rows=13929,
        n_features=1002,
        n_labels=23,
        cardinality=1.663,
        split=(6286, 7643),
        recipe=Mat("ohsumed.mat"),
        source="ruchi-9/Handling-Tail-Labels-with-Data-Augmentation-and-Self-Training",
        notes=("another author's split: the first 6286 rows of ohsumed-meka are for training",),
        home=_TAIL,
    ),
)
