"""Data sets with the split of BOOMER, which differs from that of the original authors."""

from vicinal.datasets.catalogue.entry import Entry
from vicinal.datasets.catalogue.recipes import Mulan, SeveralLabels, Xc

_SPLIT = "the split is the one shipped with BOOMER"
_BOOMER_HINT = "no public address of these files is known"
_IMAGE = Mulan(("image-train.arff.gz", "image-test.arff.gz"), "image.xml")

BOOMER = (
    Entry(
        name="image",
        folder="image",
        n_rows=2000,
        n_features=294,
        n_labels=5,
        cardinality=1.236,
        split=(1501, 499),
        recipe=_IMAGE,
        source="BOOMER",
        notes=(_SPLIT,),
        hint=_BOOMER_HINT,
    ),
    Entry(
        name="image-filtered",
        folder="image",
        n_rows=457,
        n_features=294,
        n_labels=5,
        cardinality=2.033,
        recipe=SeveralLabels(_IMAGE),
        source="BOOMER",
        notes=("the rows of image with more than one label, as in Zhang 2007; no split",),
        hint=_BOOMER_HINT,
    ),
    Entry(
        name="ohsumed",
        folder="ohsumed",
        n_rows=13929,
        n_features=1002,
        n_labels=23,
        cardinality=1.663,
        split=(9301, 4628),
        recipe=Mulan(("ohsumed-train.arff.gz", "ohsumed-test.arff.gz"), "ohsumed.xml"),
        source="BOOMER",
        notes=(_SPLIT, "the labels come first; the XML file names them"),
        hint=_BOOMER_HINT,
    ),
    Entry(
        name="reuters-k500",
        folder="reuters-k500",
        n_rows=6000,
        n_features=500,
        n_labels=103,
        cardinality=1.462,
        split=(4014, 1986),
        recipe=Mulan(("reuters-k500-train.arff", "reuters-k500-test.arff"), "reuters-k500.xml"),
        source="BOOMER",
        notes=(_SPLIT,),
        hint=_BOOMER_HINT,
    ),
    Entry(
        name="reuters-k500-xc",
        folder="reuters-k500",
        n_rows=6000,
        n_features=500,
        n_labels=103,
        cardinality=1.462,
        recipe=Xc("reutersk500.xc.txt.gz", "reutersk500-labels.txt", "reutersk500-features.txt"),
        source="mldr.datasets",
        licence="LGPL-3",
        hint=_BOOMER_HINT,
    ),
    Entry(
        name="stackex-chess",
        folder="stackex-chess",
        n_rows=1675,
        n_features=585,
        n_labels=227,
        cardinality=2.411,
        split=(1107, 568),
        recipe=Mulan(
            ("stackex-chess-train.arff.gz", "stackex-chess-test.arff"), "stackex-chess.xml"
        ),
        source="BOOMER",
        notes=(_SPLIT,),
        hint=_BOOMER_HINT,
    ),
    Entry(
        name="stackex-chess-xc",
        folder="stackex-chess",
        n_rows=1675,
        n_features=585,
        n_labels=227,
        cardinality=2.411,
        recipe=Xc(
            "stackex_chess.xc.txt.gz", "stackex_chess-labels.txt", "stackex_chess-features.txt"
        ),
        source="mldr.datasets",
        licence="LGPL-3",
        hint=_BOOMER_HINT,
    ),
)
