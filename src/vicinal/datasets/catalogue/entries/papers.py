"""Data sets from the papers that were unavailable here: shapes as published, not verified.

Their checksums are unknown; that of the first download is stored next to the file.
"""

from vicinal.datasets.catalogue.entry import Entry
from vicinal.datasets.catalogue.recipes import Mulan, XcSplit

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
