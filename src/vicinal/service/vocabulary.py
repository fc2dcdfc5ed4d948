"""Read a vocabulary in Annif's TSV format: labels in words for the URIs."""

from pathlib import Path

from vicinal._base.errors import DataFormatError


def read_vocabulary(path: Path) -> dict[str, tuple[str, str | None]]:
    r"""Return label name → (label in words, notation) from lines of ``<URI>``, label, notation.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder) / "subjects.tsv"
    ...     _ = file.write_text("<http://example.org/p1>\tpots\t7.1\n", encoding="utf-8")
    ...     read_vocabulary(file)
    {'http://example.org/p1': ('pots', '7.1')}
    """
    found: dict[str, tuple[str, str | None]] = {}
    with path.open(encoding="utf-8-sig") as stream:
        for number, line in enumerate(stream, start=1):
            cells = line.rstrip("\r\n").split("\t")
            if not line.strip():
                continue
            if len(cells) < 2:
                raise DataFormatError(str(path), "URI, tab, label", "one cell", number)
            uri = cells[0].removeprefix("<").removesuffix(">")
            found[uri] = (cells[1], cells[2] if len(cells) > 2 and cells[2] else None)
    return found
