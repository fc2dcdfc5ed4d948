"""Data sets that Mulan publishes, most with a training and a test file.

If there is also a file with all rows, its order may differ. The two files of the split are read,
training rows first.
"""

from vicinal.datasets.catalogue.entry import Entry
from vicinal.datasets.catalogue.recipes import Mulan

_SOURCE = "https://github.com/tsoumakas/mulan/raw/43f6389/data/multi-label"


def _mulan(
    name: str,
    shape: tuple[int, int, int],
    cardinality: float,
    split: tuple[int, int] | None,
    recipe: Mulan,
    folder: str = "",
    notes: tuple[str, ...] = (),
) -> Entry:
    n_rows, n_features, n_labels = shape
    home = f"{_SOURCE}/{folder or name}"
    return Entry(
        name=name,
        folder=name,
        n_rows=n_rows,
        n_features=n_features,
        n_labels=n_labels,
        cardinality=cardinality,
        split=split,
        recipe=recipe,
        source="Mulan",
        home=home,
        notes=notes,
    )


def _parts(stem: str, train: str = "", test: str = "", ending: str = "") -> Mulan:
    """Return the usual file names; `train` and `test` are the extensions after ``.arff``."""
    arff = (f"{stem}-train{ending}.arff{train}", f"{stem}-test{ending}.arff{test}")
    return Mulan(arff, f"{stem}.xml")


MULAN = (
    _mulan("emotions", (593, 72, 6), 1.868, (391, 202), _parts("emotions")),
    _mulan("scene", (2407, 294, 6), 1.074, (1211, 1196), _parts("scene", ".gz", ".gz")),
    _mulan("yeast", (2417, 103, 14), 4.237, (1500, 917), _parts("yeast", ".gz")),
    _mulan("medical", (978, 1449, 45), 1.245, (333, 645), _parts("medical")),
    _mulan("enron", (1702, 1001, 53), 3.378, (1123, 579), _parts("enron")),
    _mulan("corel5k", (5000, 499, 374), 3.522, (4500, 500), _parts("Corel5k", ending="-sparse")),
    _mulan("bibtex", (7395, 1836, 159), 2.402, (4880, 2515), _parts("bibtex", ".gz", ".gz")),
    _mulan(
        "delicious",
        (16105, 500, 983),
        19.020,
        (12920, 3185),
        _parts("delicious", ".gz"),
        notes=("14 rows have no label",),
    ),
    _mulan(
        "birds",
        (645, 271, 19),
        1.014,
        (322, 323),
        _parts("birds"),
        notes=(
            "the nominal attribute location (12 values) is one-hot: 260 attributes, 271 features",
            "294 rows have no label",
        ),
    ),
    _mulan(
        "genbase",
        (662, 1185, 27),
        1.252,
        (463, 199),
        Mulan(("genbase-train.arff.gz", "genbase-test.arff"), "genbase.xml", drop=("protein",)),
        notes=(
            "the attribute protein, a name unique to each row, is dropped: 1185 features of 1186",
            "protein Q9XEL8 is in both parts of the published split, O88658 in neither",
        ),
    ),
    _mulan("cal500", (502, 68, 174), 26.044, None, Mulan(("cal500.arff",), "cal500.xml")),
    _mulan(
        "tmc2007-500",
        (28596, 500, 22),
        2.158,
        (21519, 7077),
        _parts("tmc2007-500", ".gz", ".gz"),
        folder="tmc2007",
    ),
)
