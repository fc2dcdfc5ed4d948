"""yso-finna-en: titles and abstracts with subjects, TSV; labels are lines of a second file."""

from vicinal._base.errors import DataFormatError
from vicinal.datasets.catalogue.adapters.corpus import Corpus, distinct
from vicinal.datasets.catalogue.adapters.lines import text_lines
from vicinal.datasets.catalogue.entry import Finder

YSO_FILES = ("yso-finna-en.tsv.xz", "labels.tsv.gz")


def read_yso(find: Finder, max_bytes: int) -> Corpus:
    """Read texts and subjects; subjects without a text are dropped and the rest renumbered."""
    subjects = text_lines(find(YSO_FILES[1]), max_bytes)
    path = find(YSO_FILES[0])
    texts: list[str] = []
    lines: list[list[int]] = []
    for line_number, row in enumerate(text_lines(path, max_bytes), 1):
        ids, tab, text = row.partition("\t")
        try:
            labels = [int(one) for one in ids.split(",")]
        except ValueError:
            labels = [-1]
        if not tab or min(labels) < 0 or max(labels) >= len(subjects):
            expected = f"ids from 0 to {len(subjects) - 1}, a tab, a text"
            raise DataFormatError(str(path), expected, repr(row[:40]), line_number)
        texts.append(text)
        lines.append(labels)
    used = sorted({line for labels in lines for line in labels})
    new = {line: index for index, line in enumerate(used)}
    keys, _, names = zip(*(subjects[line].partition("\t") for line in used), strict=True)
    return Corpus(
        texts, [[new[line] for line in labels] for labels in lines], distinct(names, keys)
    )
