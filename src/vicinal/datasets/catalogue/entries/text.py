"""Collections of text, and the embedded data set."""

from vicinal.datasets.catalogue.adapters.corpus import TextRecipe
from vicinal.datasets.catalogue.adapters.debtags import DEBTAGS_FILES, read_debtags
from vicinal.datasets.catalogue.adapters.eurlex import EURLEX_FILES, read_eurlex
from vicinal.datasets.catalogue.adapters.reuters import REUTERS_FILES, read_reuters
from vicinal.datasets.catalogue.adapters.yso import YSO_FILES, read_yso
from vicinal.datasets.catalogue.entry import Entry
from vicinal.datasets.catalogue.recipes import Embedded

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
)
