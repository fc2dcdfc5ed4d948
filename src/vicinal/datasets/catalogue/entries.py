"""The facts of every data set, by source.

If there is also a file with all rows, its order may differ. The two files of the split are read,
training rows first.

Their checksums are unknown; that of the first download is stored next to the file.
"""

from functools import partial
from typing import Any

from vicinal.datasets.catalogue.corpora import (
    DEBTAGS_FILES,
    EURLEX_FILES,
    MAKUPALAT_FILES,
    REUTERS_FILES,
    YSO_FILES,
    read_debtags,
    read_eurlex,
    read_makupalat,
    read_reuters,
    read_yso,
    texts,
)
from vicinal.datasets.catalogue.entry import (
    EMBEDDED,
    Entry,
    Extent,
    Recipe,
    mat,
    meka,
    mulan,
    several_labels,
    xc,
    xc_split,
)

_SPLIT = "the split is the one shipped with BOOMER"
_SEVERAL = "the rows of image with more than one label, as in Zhang 2007; no split"
_image = mulan("image-train.arff.gz", "image-test.arff.gz", xml="image.xml")
_ohsumed = mulan("ohsumed-train.arff.gz", "ohsumed-test.arff.gz", xml="ohsumed.xml")
_k500 = mulan("reuters-k500-train.arff", "reuters-k500-test.arff", xml="reuters-k500.xml")
_k500_xc = xc("reutersk500.xc.txt.gz", "reutersk500-labels.txt", "reutersk500-features.txt")
_chess = mulan("stackex-chess-train.arff.gz", "stackex-chess-test.arff", xml="stackex-chess.xml")
_chess_xc = xc("stackex_chess.xc.txt.gz", "stackex_chess-labels.txt", "stackex_chess-features.txt")
_boomer = partial(Entry, source="BOOMER", hint="no public address of these files is known")
_as_xc = partial(_boomer, source="mldr.datasets", licence="LGPL-3")

BOOMER = (
    _boomer("image", Extent(2000, 294, 5, 1.236, (1501, 499)), _image, notes=(_SPLIT,)),
    _boomer(
        "image-filtered",
        Extent(457, 294, 5, 2.033),
        several_labels(_image),
        folder="image",
        notes=(_SEVERAL,),
    ),
    _boomer(
        "ohsumed",
        Extent(13929, 1002, 23, 1.663, (9301, 4628)),
        _ohsumed,
        notes=(_SPLIT, "the labels come first; the XML file names them"),
    ),
    _boomer("reuters-k500", Extent(6000, 500, 103, 1.462, (4014, 1986)), _k500, notes=(_SPLIT,)),
    _as_xc("reuters-k500-xc", Extent(6000, 500, 103, 1.462), _k500_xc, folder="reuters-k500"),
    _boomer("stackex-chess", Extent(1675, 585, 227, 2.411, (1107, 568)), _chess, notes=(_SPLIT,)),
    _as_xc("stackex-chess-xc", Extent(1675, 585, 227, 2.411), _chess_xc, folder="stackex-chess"),
)


_meka = partial(
    Entry,
    source="MEKA, from a copy in lehneres/edu.uni-tuebingen",
    home="https://github.com/lehneres/edu.uni-tuebingen/raw/c3276a5/data",
)
_from_meka = partial(Entry, source="MEKA", licence="GPL-3")
_tail = partial(
    Entry,
    source="ruchi-9/Handling-Tail-Labels-with-Data-Augmentation-and-Self-Training",
    home="https://github.com/ruchi-9/Handling-Tail-Labels-with-Data-Augmentation-and-Self-Training"
    "/raw/HEAD/Datasets",
)

MEKA = (
    _from_meka(
        "enron-meka",
        Extent(1702, 1001, 53, 3.378),
        meka("Enron-meka.arff.bz2"),
        folder="enron",
        notes=("the rows of enron in the order of Mulan's full file; no split",),
        hint="MEKA publishes the file as src/main/data/Enron.arff.bz2: store it under this name",
    ),
    _from_meka(
        "imdb",
        Extent(120919, 1001, 28, 2.000),
        meka("Imdb.arff.bz2"),
        aliases=("imdb-f",),
        notes=("no split is published; papers only state the sizes of one (72551 + 48368)",),
        home="https://github.com/Waikato/meka/raw/f9ffe23/src/main/data",
    ),
    _meka(
        "slashdot", Extent(3782, 1079, 22, 1.181), meka("SLASHDOT-F.arff"), aliases=("slashdot-f",)
    ),
    _tail(
        "slashdot-mat",
        Extent(3782, 1079, 22, 1.181, (2269, 1513)),
        mat("slashdot.mat"),
        folder="slashdot",
        notes=("another author's split; the order of the rows differs from slashdot",),
    ),
    _meka(
        "ohsumed-meka",
        Extent(13929, 1002, 23, 1.663),
        meka("OHSUMED-F.arff.gz"),
        folder="ohsumed",
        aliases=("ohsumed-f",),
    ),
    _tail(
        "ohsumed-mat",
        Extent(13929, 1002, 23, 1.663, (6286, 7643)),
        mat("ohsumed.mat"),
        folder="ohsumed",
        notes=("another author's split: the first 6286 rows of ohsumed-meka are for training",),
    ),
)


def _mldr(
    name: str,
    size: Extent,
    stem: str,
    *notes: str,
    packed: str = "gz",
    split: tuple[range, range] | None = None,
) -> Entry:
    features = f"{stem}-features.txt" + (".xz" if packed == "xz" else "")
    return Entry(
        name,
        size,
        xc(f"{stem}.xc.txt.{packed}", f"{stem}-labels.txt", features, split=split),
        source="mldr.datasets",
        licence="LGPL-3",
        notes=notes,
        hint="the files are conversions of mldr.datasets' .rda objects; no public address is known",
    )


def _corel16k(number: str, size: Extent, train: range, test: range) -> Entry:
    """Mark Mulan's test rows in the full file, and the rows before them as training rows."""
    note = f"test rows {test.start} to {test.stop - 1} are Mulan's test set; training rows "
    note += (
        "are all rows before it, which contain Mulan's training set and its harder test set "
        "(test3); where one ends and the other begins is unknown"
        if test.stop == size.rows
        else "are the rows before it, presumably Mulan's; the rows after it, presumably test3, "
        "are in neither part"
    )
    name, size = f"corel16k{number}", size._replace(split=(len(train), len(test)))
    return _mldr(name, size, name, note, split=(train, test))


def _rcv1(number: int, cardinality: float) -> Entry:
    name, size = f"rcv1sub{number}", Extent(6000, 47236, 101, cardinality)
    note = "Mulan publishes splits of 3000 + 3000; which rows they contain is unknown"
    return _mldr(name, size, name, note, packed="xz")


def _yahoo_full(topic: str, *size: Any) -> Entry:
    note = f"all documents and all words of yahoo-{topic}, counts; no split"
    return _mldr(f"yahoo-{topic}-full", Extent(*size), f"yahoo_{topic}", note, packed="xz")


MLDR = (
    _corel16k("001", Extent(13766, 500, 153, 2.859), range(12022), range(12022, 13766)),
    _corel16k("002", Extent(13761, 500, 164, 2.882), range(5241), range(5241, 7024)),
    _corel16k("003", Extent(13760, 500, 154, 2.829), range(5289), range(5289, 7006)),
    _rcv1(1, 2.880),
    _rcv1(2, 2.634),
    _rcv1(3, 2.614),
    _yahoo_full("arts", 7484, 23146, 26, 1.654),
    _yahoo_full("business", 11214, 21924, 30, 1.599),
    _yahoo_full("education", 12030, 27534, 33, 1.463),
    _yahoo_full("health", 9205, 30605, 32, 1.644),
    _yahoo_full("reference", 8027, 39679, 33, 1.174),
    _yahoo_full("science", 6428, 37187, 40, 1.450),
    _mldr("stackex-chemistry", Extent(6961, 540, 175, 2.109), "stackex_chemistry"),
    _mldr("stackex-cooking", Extent(10491, 577, 400, 2.225), "stackex_cooking"),
)


_MULAN = "https://github.com/tsoumakas/mulan/raw/43f6389/data/multi-label"


def _mulan(name: str, size: Extent, recipe: Recipe, *notes: str, folder: str = "") -> Entry:
    """Return a data set that Mulan publishes in a folder."""
    return Entry(name, size, recipe, "Mulan", notes=notes, home=f"{_MULAN}/{folder or name}")


def _parts(stem: str, train: str = "", test: str = "", ending: str = "") -> Recipe:
    """Return the usual file names; `train` and `test` are the extensions after ``.arff``."""
    arff = (f"{stem}-train{ending}.arff{train}", f"{stem}-test{ending}.arff{test}")
    return mulan(*arff, xml=f"{stem}.xml")


_tmc = _parts("tmc2007-500", ".gz", ".gz")
_genbase = mulan("genbase-train.arff.gz", "genbase-test.arff", xml="genbase.xml", drop=("protein",))

MULAN = (
    _mulan("emotions", Extent(593, 72, 6, 1.868, (391, 202)), _parts("emotions")),
    _mulan("scene", Extent(2407, 294, 6, 1.074, (1211, 1196)), _parts("scene", ".gz", ".gz")),
    _mulan("yeast", Extent(2417, 103, 14, 4.237, (1500, 917)), _parts("yeast", ".gz")),
    _mulan("medical", Extent(978, 1449, 45, 1.245, (333, 645)), _parts("medical")),
    _mulan("enron", Extent(1702, 1001, 53, 3.378, (1123, 579)), _parts("enron")),
    _mulan(
        "corel5k", Extent(5000, 499, 374, 3.522, (4500, 500)), _parts("Corel5k", ending="-sparse")
    ),
    _mulan("bibtex", Extent(7395, 1836, 159, 2.402, (4880, 2515)), _parts("bibtex", ".gz", ".gz")),
    _mulan(
        "delicious",
        Extent(16105, 500, 983, 19.020, (12920, 3185)),
        _parts("delicious", ".gz"),
        "14 rows have no label",
    ),
    _mulan(
        "birds",
        Extent(645, 271, 19, 1.014, (322, 323)),
        _parts("birds"),
        "the nominal attribute location (12 values) is one-hot: 260 attributes, 271 features",
        "294 rows have no label",
    ),
    _mulan(
        "genbase",
        Extent(662, 1185, 27, 1.252, (463, 199)),
        _genbase,
        "the attribute protein, a name unique to each row, is dropped: 1185 features of 1186",
        "protein Q9XEL8 is in both parts of the published split, O88658 in neither",
    ),
    _mulan("cal500", Extent(502, 68, 174, 26.044), mulan("cal500.arff", xml="cal500.xml")),
    _mulan("tmc2007-500", Extent(28596, 500, 22, 2.158, (21519, 7077)), _tmc, folder="tmc2007"),
)


_UNSEEN = "the shape is the published one and has not been verified"
_DRIVE = "https://drive.google.com/uc?export=download&id="
_mediamill = xc_split("mediamill_train.txt", "mediamill_test.txt")
_bookmarks = mulan("bookmarks.arff", xml="bookmarks.xml")
_wiki10 = xc_split("wiki10_train.txt", "wiki10_test.txt")
_lshtc = xc_split("wikiLSHTC_train.txt", "wikiLSHTC_test.txt")
_on_drive = partial(
    Entry,
    source="the Extreme Classification Repository",
    notes=(_UNSEEN,),
    hint="Google Drive may require a browser for large files: download the archive manually and "
    "unpack it here",
)

PAPERS = (
    _on_drive(
        "mediamill",
        Extent(43907, 120, 101, 4.376, (30993, 12914)),
        _mediamill,
        source="Mulan, as XC text by napkinXC",
        archive=f"{_DRIVE}1YDlU9GTYSoydU1UYTNT8BpPkRw1BCnFw",
    ),
    Entry(
        "bookmarks",
        Extent(87856, 2150, 208, 2.028),
        _bookmarks,
        "Mulan",
        notes=(_UNSEEN,),
        home=f"{_MULAN}/bookmarks",
        hint="Mulan also publishes bookmarks.rar, which holds both files",
    ),
    _on_drive(
        "wiki10-31k",
        Extent(20762, 101938, 30938, 18.64, (14146, 6616)),
        _wiki10,
        aliases=("wiki10",),
        archive=f"{_DRIVE}1uV-p682ggXQQTiKZyK5M6B0xJJk8_lJx",
    ),
    _on_drive(
        "wiki-lshtc-325k",
        Extent(2365435, 1617899, 325056, 3.19, (1778351, 587084)),
        _lshtc,
        aliases=("wiki-lshtc", "wikilshtc", "wikilshtc-325k"),
        archive=f"{_DRIVE}1Y5xEJu-j3M7voyFV5Ouq9Wl3vyd9fus2",
    ),
)


_debtags_text = texts(DEBTAGS_FILES, "JSONL", read_debtags, token_pattern="[a-z0-9]+")
_reuters = texts(REUTERS_FILES, "SGML in tar", read_reuters)
_eurlex = texts(EURLEX_FILES, "JSONL", read_eurlex, min_rows=5)
_yso = texts(YSO_FILES, "TSV", read_yso)
_makupalat = texts(MAKUPALAT_FILES, "TSV", read_makupalat)
_debtags = partial(Entry, source="Debian 12 main/amd64, Packages and Translation-en")

TEXT = (
    _debtags(
        "debtags",
        Extent(30300, 27005, 527, 3.694, (24231, 6069)),
        EMBEDDED,
        licence="words and tags of DFSG-free packages",
        notes=(
            "included in the package, always available",
            "words in at least 2 packages, tags on at least 5",
            "packages of one name family, or with the same words, are on one side of the split",
        ),
    ),
    _debtags(
        "debtags-text",
        Extent(30300, 27005, 598, 3.700),
        _debtags_text,
        folder="debtags",
        licence="descriptions: licences of the packages (DFSG-free)",
        notes=(
            "all tags, no split; words in at least 2 packages",
            "packages of one source have nearly the same text, so a random split leaks; the split "
            "of debtags does not",
        ),
        hint="extracted from Debian's package index; debtags contains the same rows, embedded",
    ),
    Entry(
        "reuters21578",
        Extent(10789, 15543, 90, 1.235, (7770, 3019)),
        _reuters,
        "Reuters-21578, distribution 1.0",
        "free for research purposes only",
        aliases=("reuters-90", "r90"),
        notes=(
            "ModApte: indexed stories, the 90 topics that occur in training and in test",
            "title, dateline and body; words in at least 2 training stories",
        ),
        hint="a tar of the 22 reut2-*.sgm files, compressed with xz, under this name",
    ),
    Entry(
        "eurlex57k",
        Extent(57000, 21847, 4271, 5.069, (45000, 6000)),
        _eurlex,
        "EURLEX57K (Chalkidis 2019)",
        "CC BY-SA 4.0",
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
        "yso-finna-en",
        Extent(355252, 69578, 24953, 3.658),
        _yso,
        "NatLibFi/Annif-corpora",
        "CC0",
        notes=(
            "derived from Annif-corpora's subject files; not a published benchmark: labels of "
            "frequent subjects are incomplete",
            "rows are in random order, so any contiguous split is random; words in at least 2 rows",
        ),
        hint="the file was made by inverting Annif-corpora's subjects/yso-finna-en",
    ),
    Entry(
        "makupalat",
        Extent(16147, 21906, 1209, 1.160, (15212, 537)),
        _makupalat,
        "NatLibFi/Annif-corpora, fulltext/makupalat",
        notes=(
            "Finnish descriptions of websites and their classes in a library classification",
            "398 validation rows (15212 to 15609) are in neither part",
            "words in at least 2 training rows, not lemmatised; vicinal train on the files does",
            "30 of the labels are in no training row",
        ),
        hint="the files of Annif-corpora, compressed with gzip, under these names",
    ),
)


def _yahoo(topic: str, file: str, n_features: int, n_labels: int, cardinality: float) -> Entry:
    return Entry(
        f"yahoo-{topic}",
        Extent(5000, n_features, n_labels, cardinality, (2000, 3000)),
        mat(file),
        source="peipeilihfut/PMLFS_Partial-Multi-Label-Feature-Selection",
        aliases=(topic,),
        notes=("stored dense, loaded as CSR", "features and labels have no names"),
        home="https://github.com/peipeilihfut/PMLFS_Partial-Multi-Label-Feature-Selection/raw"
        "/88e0711/data",
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
