"""The extract the embedded data set is built from: JSONL with package, text and tags."""

from vicinal.datasets.catalogue.adapters.corpus import Corpus, number
from vicinal.datasets.catalogue.adapters.lines import json_lines
from vicinal.datasets.catalogue.entry import Finder

FILES = ("debtags-bookworm-main-amd64.jsonl.gz",)


def read_debtags(find: Finder, max_bytes: int) -> Corpus:
    """Read all packages and all tags."""
    records = json_lines(find(FILES[0]), ("package", "text", "tags"), max_bytes)
    labels, label_names = number([record["tags"] for record in records])
    return Corpus(
        [record["text"] for record in records],
        labels,
        label_names,
        tuple(record["package"] for record in records),
    )
