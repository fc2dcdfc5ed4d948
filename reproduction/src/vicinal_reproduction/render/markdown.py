"""Tables in Markdown."""

from collections.abc import Iterable, Sequence


def markdown_table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table in Markdown.

    Examples
    --------
    >>> print(markdown_table(["a", "b"], [["1", "2 | 3"]]))
    | a | b |
    |---|---|
    | 1 | 2 / 3 |
    """
    lines = [header, *rows]
    shown = ["| " + " | ".join(cell.replace("|", "/") for cell in line) + " |" for line in lines]
    shown.insert(1, "|" + "---|" * len(header))
    return "\n".join(shown)
