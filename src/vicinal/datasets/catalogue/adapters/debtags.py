"""The extract the embedded data set is built from: JSONL with package, text and tags."""

from vicinal.datasets.catalogue.adapters.corpus import Corpus, number
from vicinal.datasets.catalogue.adapters.lines import TEXT, TEXTS, json_lines
from vicinal.datasets.catalogue.entry import Finder

DEBTAGS_FILES = ("debtags-bookworm-main-amd64.jsonl.gz",)
_DEBTAGS_FIELDS = {"package": TEXT, "text": TEXT, "tags": TEXTS}


def read_debtags(find: Finder, max_bytes: int) -> Corpus:
    """Read all packages and all tags."""
    records = json_lines(find(DEBTAGS_FILES[0]), _DEBTAGS_FIELDS, max_bytes)
    labels, label_names = number([record["tags"] for record in records])
    return Corpus(
        [record["text"] for record in records],
        labels,
        label_names,
        tuple(record["package"] for record in records),
    )
