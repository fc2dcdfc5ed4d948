"""The facts of every data set, one module per source. Each module defines ``ENTRIES``.

If there is also a file with all rows, its order may differ. The two files of the split are read,
training rows first.

Their checksums are unknown; that of the first download is stored next to the file.
"""

from vicinal.datasets.catalogue.corpora import (
    DEBTAGS_FILES,
    EURLEX_FILES,
    MAKUPALAT_FILES,
    REUTERS_FILES,
    YSO_FILES,
    TextRecipe,
    read_debtags,
    read_eurlex,
    read_makupalat,
    read_reuters,
    read_yso,
)
from vicinal.datasets.catalogue.entry import (
    Embedded,
    Entry,
    Mat,
    Meka,
    Mulan,
    SeveralLabels,
    Xc,
    XcSplit,
)

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


_MLDR_HINT = "the files are conversions of mldr.datasets' .rda objects; no public address is known"


def _mldr(
    name: str,
    stem: str,
    shape: tuple[int, int, int],
    cardinality: float,
    *,
    packed: str = "gz",
    split: tuple[range, range] | None = None,
    notes: tuple[str, ...] = (),
) -> Entry:
    features = f"{stem}-features.txt" + (".xz" if packed == "xz" else "")
    train, test = split or (None, None)
    n_rows, n_features, n_labels = shape
    return Entry(
        name=name,
        folder=name,
        n_rows=n_rows,
        n_features=n_features,
        n_labels=n_labels,
        cardinality=cardinality,
        split=None if train is None or test is None else (len(train), len(test)),
        recipe=Xc(f"{stem}.xc.txt.{packed}", f"{stem}-labels.txt", features, train, test),
        source="mldr.datasets",
        licence="LGPL-3",
        notes=notes,
        hint=_MLDR_HINT,
    )


def _corel16k(
    number: str, shape: tuple[int, int, int], cardinality: float, train: range, test: range
) -> Entry:
    """Mark Mulan's test rows in the full file, and the rows before them as training rows."""
    note = f"test rows {test.start} to {test.stop - 1} are Mulan's test set; training rows "
    note += (
        "are all rows before it, which contain Mulan's training set and its harder test set "
        "(test3); where one ends and the other begins is unknown"
        if test.stop == shape[0]
        else "are the rows before it, presumably Mulan's; the rows after it, presumably test3, "
        "are in neither part"
    )
    name = f"corel16k{number}"
    return _mldr(name, name, shape, cardinality, split=(train, test), notes=(note,))


def _rcv1(number: int, cardinality: float) -> Entry:
    name = f"rcv1sub{number}"
    note = "Mulan publishes splits of 3000 + 3000; which rows they contain is unknown"
    return _mldr(name, name, (6000, 47236, 101), cardinality, packed="xz", notes=(note,))


def _yahoo_full(topic: str, shape: tuple[int, int, int], cardinality: float) -> Entry:
    name = f"yahoo-{topic}-full"
    note = f"all documents and all words of yahoo-{topic}, counts; no split"
    return _mldr(name, f"yahoo_{topic}", shape, cardinality, packed="xz", notes=(note,))


MLDR = (
    _corel16k("001", (13766, 500, 153), 2.859, range(12022), range(12022, 13766)),
    _corel16k("002", (13761, 500, 164), 2.882, range(5241), range(5241, 7024)),
    _corel16k("003", (13760, 500, 154), 2.829, range(5289), range(5289, 7006)),
    _rcv1(1, 2.880),
    _rcv1(2, 2.634),
    _rcv1(3, 2.614),
    _yahoo_full("arts", (7484, 23146, 26), 1.654),
    _yahoo_full("business", (11214, 21924, 30), 1.599),
    _yahoo_full("education", (12030, 27534, 33), 1.463),
    _yahoo_full("health", (9205, 30605, 32), 1.644),
    _yahoo_full("reference", (8027, 39679, 33), 1.174),
    _yahoo_full("science", (6428, 37187, 40), 1.450),
    _mldr("stackex-chemistry", "stackex_chemistry", (6961, 540, 175), 2.109),
    _mldr("stackex-cooking", "stackex_cooking", (10491, 577, 400), 2.225),
)


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


_DRIVE = "https://drive.google.com/uc?export=download&id="
_UNSEEN = "the shape is the published one and has not been verified"
_NOT_SERVED = (
    "Google Drive may require a browser for large files: download the archive manually and "
    "unpack it here"
)

PAPERS = (
    Entry(
        name="mediamill",
        folder="mediamill",
        n_rows=43907,
        n_features=120,
        n_labels=101,
        cardinality=4.376,
        split=(30993, 12914),
        recipe=XcSplit("mediamill_train.txt", "mediamill_test.txt"),
        source="Mulan, as XC text by napkinXC",
        notes=(_UNSEEN,),
        archive=f"{_DRIVE}1YDlU9GTYSoydU1UYTNT8BpPkRw1BCnFw",
        hint=_NOT_SERVED,
    ),
    Entry(
        name="bookmarks",
        folder="bookmarks",
        n_rows=87856,
        n_features=2150,
        n_labels=208,
        cardinality=2.028,
        recipe=Mulan(("bookmarks.arff",), "bookmarks.xml"),
        source="Mulan",
        notes=(_UNSEEN,),
        home="https://github.com/tsoumakas/mulan/raw/43f6389/data/multi-label/bookmarks",
        hint="Mulan also publishes bookmarks.rar, which holds both files",
    ),
    Entry(
        name="wiki10-31k",
        folder="wiki10-31k",
        n_rows=20762,
        n_features=101938,
        n_labels=30938,
        cardinality=18.64,
        split=(14146, 6616),
        recipe=XcSplit("wiki10_train.txt", "wiki10_test.txt"),
        source="the Extreme Classification Repository",
        aliases=("wiki10",),
        notes=(_UNSEEN,),
        archive=f"{_DRIVE}1uV-p682ggXQQTiKZyK5M6B0xJJk8_lJx",
        hint=_NOT_SERVED,
    ),
    Entry(
        name="wiki-lshtc-325k",
        folder="wiki-lshtc-325k",
        n_rows=2365435,
        n_features=1617899,
        n_labels=325056,
        cardinality=3.19,
        split=(1778351, 587084),
        recipe=XcSplit("wikiLSHTC_train.txt", "wikiLSHTC_test.txt"),
        source="the Extreme Classification Repository",
        aliases=("wiki-lshtc", "wikilshtc", "wikilshtc-325k"),
        notes=(_UNSEEN,),
        archive=f"{_DRIVE}1Y5xEJu-j3M7voyFV5Ouq9Wl3vyd9fus2",
        hint=_NOT_SERVED,
    ),
)


TEXT = (
    Entry(
        name="debtags",
        folder="debtags",
        n_rows=30300,
        n_features=27005,
        n_labels=527,
        cardinality=3.694,
        split=(24231, 6069),
        recipe=Embedded(),
        source="Debian 12 main/amd64, Packages and Translation-en",
        licence="words and tags of DFSG-free packages",
        notes=(
            "included in the package, always available",
            "words in at least 2 packages, tags on at least 5",
            "packages of one name family, or with the same words, are on one side of the split",
        ),
    ),
    Entry(
        name="debtags-text",
        folder="debtags",
        n_rows=30300,
        n_features=27005,
        n_labels=598,
        cardinality=3.700,
        recipe=TextRecipe(DEBTAGS_FILES, "JSONL", read_debtags, token_pattern="[a-z0-9]+"),
        source="Debian 12 main/amd64, Packages and Translation-en",
        licence="descriptions: licences of the packages (DFSG-free)",
        notes=(
            "all tags, no split; words in at least 2 packages",
            "packages of one source have nearly the same text, so a random split leaks; the split "
            "of debtags does not",
        ),
        hint="extracted from Debian's package index; debtags contains the same rows, embedded",
    ),
    Entry(
        name="reuters21578",
        folder="reuters21578",
        n_rows=10789,
        n_features=15543,
        n_labels=90,
        cardinality=1.235,
        split=(7770, 3019),
        recipe=TextRecipe(REUTERS_FILES, "SGML in tar", read_reuters),
        source="Reuters-21578, distribution 1.0",
        licence="free for research purposes only",
        aliases=("reuters-90", "r90"),
        notes=(
            "ModApte: indexed stories, the 90 topics that occur in training and in test",
            "title, dateline and body; words in at least 2 training stories",
        ),
        hint="a tar of the 22 reut2-*.sgm files, compressed with xz, under this name",
    ),
    Entry(
        name="eurlex57k",
        folder="eurlex57k",
        n_rows=57000,
        n_features=21847,
        n_labels=4271,
        cardinality=5.069,
        split=(45000, 6000),
        recipe=TextRecipe(EURLEX_FILES, "JSONL", read_eurlex, min_rows=5),
        source="EURLEX57K (Chalkidis 2019)",
        licence="CC BY-SA 4.0",
        aliases=("eurlex-4.3k",),
        notes=(
            "6000 development rows (45000 to 50999) are in neither part",
            "title, header, recitals and main body, no attachments; words in at least 5 training "
            "rows",
            "163 of the labels are in no training row",
            "not EURLex-4K (3993 labels)",
        ),
        hint="the parts are the JSON files of EURLEX57K, one per line, in the order of their names",
    ),
    Entry(
        name="yso-finna-en",
        folder="yso-finna-en",
        n_rows=355252,
        n_features=69578,
        n_labels=24953,
        cardinality=3.658,
        recipe=TextRecipe(YSO_FILES, "TSV", read_yso),
        source="NatLibFi/Annif-corpora",
        licence="CC0",
        notes=(
            "derived from Annif-corpora's subject files; not a published benchmark: labels of "
            "frequent subjects are incomplete",
            "rows are in random order, so any contiguous split is random; words in at least 2 rows",
        ),
        hint="the file was made by inverting Annif-corpora's subjects/yso-finna-en",
    ),
    Entry(
        name="makupalat",
        folder="makupalat",
        n_rows=16147,
        n_features=21906,
        n_labels=1209,
        cardinality=1.160,
        split=(15212, 537),
        recipe=TextRecipe(MAKUPALAT_FILES, "TSV", read_makupalat),
        source="NatLibFi/Annif-corpora, fulltext/makupalat",
        licence="none stated",
        notes=(
            "Finnish descriptions of websites and their classes in a library classification",
            "398 validation rows (15212 to 15609) are in neither part",
            "words in at least 2 training rows, not lemmatised; vicinal train on the files does",
            "30 of the labels are in no training row",
        ),
        hint="the files of Annif-corpora, compressed with gzip, under these names",
    ),
)


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
