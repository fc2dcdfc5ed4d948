"""The header of an ARFF file: its relation name and its attributes.

Only the header is parsed here, in Python; the compiled parser reads the rows, as the header says.
"""

import re
from dataclasses import dataclass

from vicinal._base.errors import DataFormatError
from vicinal.datasets.files import FilePath, decode, open_data, without_mark

_DATA_LINE = re.compile(rb"^[ \t]*@data[ \t]*(?:%[^\n]*)?\r?$", re.IGNORECASE | re.MULTILINE)
# Possessive: a pattern that can backtrack needs memory for every character of a long name.
_QUOTED = r"""'(?:[^'\\]++|\\.)*+'|"(?:[^"\\]++|\\.)*+\""""
_KEYWORD = re.compile(r"[ \t]*@(\w+)[ \t]*(.*)", re.DOTALL)
_NAME = re.compile(rf"({_QUOTED}|[^ \t{{'\"%][^ \t{{]*)[ \t]*(.*)", re.DOTALL)
_VALUE = re.compile(rf"[ \t,]*({_QUOTED}|[^ \t,}}'\"%]+)")
_VALUES_END = re.compile(r"[ \t,]*\}[ \t]*(?:%.*)?", re.DOTALL)
_NUMERIC = re.compile(r"(?:numeric|real|integer)(?:[ \t%\[].*)?", re.IGNORECASE | re.DOTALL)
MOST_CHARACTERS = 2**20
"""Maximum length of a name or value in a header."""
_ESCAPES = {"n": "\n", "r": "\r", "t": "\t"}


@dataclass(frozen=True)
class Attribute:
    """One attribute: nominal with its values, numeric, or of a type that is not a number."""

    name: str
    kind: str
    line: int
    values: tuple[str, ...] = ()


@dataclass(frozen=True)
class ArffFile:
    """An ARFF file whose header has been read.

    Parameters
    ----------
    path : path
    encoding : str
    relation : str
    attributes : tuple of Attribute
    data : bytes
        The whole file, unpacked.
    rows_start, rows_line : int
        Where in `data` the rows start, and on which line.
    max_bytes : int
        The caller's limit on unpacked bytes.
    """

    path: FilePath
    encoding: str
    relation: str
    attributes: tuple[Attribute, ...]
    data: bytes
    rows_start: int
    rows_line: int
    max_bytes: int


def open_arff(path: FilePath, encoding: str, max_bytes: int) -> ArffFile:
    """Open an ARFF file and read its header."""
    return parsed_header(open_data(path, max_bytes=max_bytes), path, encoding, max_bytes)


def parsed_header(data: bytes, path: FilePath, encoding: str, max_bytes: int) -> ArffFile:
    """Read the header in the content of an ARFF file, of which rows may be missing."""
    data = without_mark(data, path, encoding)
    marker = _DATA_LINE.search(data)
    if marker is None:
        raise DataFormatError(str(path), "a line '@data'", "none" if data else "an empty file")
    header = decode(data[: marker.start()], path, encoding)
    relation, attributes = _parse(header, path)
    if not attributes:
        raise DataFormatError(str(path), "attributes before '@data'", "none")
    rows_line = header.count("\n") + 1
    return ArffFile(path, encoding, relation, attributes, data, marker.end(), rows_line, max_bytes)


def is_data_line(line: bytes) -> bool:
    r"""Tell whether a line is the one after which rows begin.

    Examples
    --------
    >>> is_data_line(b" @DATA \r\n"), is_data_line(b"1,2,3\n")
    (True, False)
    """
    return _DATA_LINE.match(line) is not None


def _parse(header: str, path: FilePath) -> tuple[str, tuple[Attribute, ...]]:
    """Return the relation name and the attributes."""
    relation, attributes = "", []
    for number, line in enumerate(header.split("\n"), start=1):
        text = line.strip(" \t\r")
        if not text or text.startswith("%"):
            continue
        match = _KEYWORD.fullmatch(text)
        keyword = match[1].lower() if match else ""
        if match and keyword == "relation":
            named = _NAME.fullmatch(match[2])
            relation = _limited(unquoted(named[1]), path, number) if named else ""
        elif match and keyword == "attribute":
            attributes.append(_attribute(match[2], path, number))
        else:
            raise DataFormatError(str(path), "@relation, @attribute or @data", _short(text), number)
    return relation, tuple(attributes)


def _attribute(text: str, path: FilePath, line: int) -> Attribute:
    """Return the attribute that the rest of an ``@attribute`` line describes."""
    match = _NAME.fullmatch(text)
    if match is None or not match[2]:
        raise DataFormatError(str(path), "an attribute's name and type", _short(text), line)
    name, kind = _limited(unquoted(match[1]), path, line), match[2]
    if kind.startswith("{"):
        return Attribute(name, "nominal", line, _values(kind, path, line))
    if _NUMERIC.fullmatch(kind):
        return Attribute(name, "numeric", line)
    word = kind.split()[0].lower() if kind.split() else kind
    if word in ("string", "date", "relational"):
        return Attribute(name, word, line)
    raise DataFormatError(str(path), "a type numeric, {…}, string or date", _short(kind), line)


def _values(text: str, path: FilePath, line: int) -> tuple[str, ...]:
    """Return the values of a nominal attribute, in the order they are declared."""
    values, at = [], 1
    while match := _VALUE.match(text, at):
        values.append(_limited(unquoted(match[1]), path, line))
        at = match.end()
    if not _VALUES_END.fullmatch(text, at):
        raise DataFormatError(str(path), "values in '{…}'", _short(text[at:]), line)
    if not values or len(set(values)) != len(values):
        got = "a value twice" if values else "none"
        raise DataFormatError(str(path), "distinct values in '{…}'", got, line)
    return tuple(values)


def _limited(name: str, path: FilePath, line: int) -> str:
    """Return a name or value, or raise if it is too long."""
    if len(name) > MOST_CHARACTERS:
        expected = f"names of at most {MOST_CHARACTERS} characters"
        raise DataFormatError(str(path), expected, f"one of {len(name)}", line)
    return name


def unquoted(text: str) -> str:
    r"""Return a name or value without its quotes and with its escapes resolved.

    Examples
    --------
    >>> unquoted(r"'Swainson\'s Thrush'")
    "Swainson's Thrush"
    >>> unquoted("plain")
    'plain'
    """
    if len(text) < 2 or text[0] not in "'\"":
        return text
    return re.sub(r"\\(.)", lambda m: _ESCAPES.get(m[1], m[1]), text[1:-1], flags=re.DOTALL)


def quoted(text: str) -> str:
    r"""Return a name or value as ARFF requires it: quoted and escaped if necessary.

    Examples
    --------
    >>> print(quoted("plain"), quoted("Swainson's Thrush"), quoted("100%\n"))
    plain 'Swainson\'s Thrush' '100\%\n'
    """
    if re.fullmatch(r"[A-Za-z0-9_.:+-]+", text):
        return text
    escaped = re.sub(r"[\\'\"%]", r"\\\g<0>", text)
    for letter, character in _ESCAPES.items():
        escaped = escaped.replace(character, "\\" + letter)
    return f"'{escaped}'"


def _short(text: str) -> str:
    """Return text as it is shown in an error message."""
    return repr(text[:60])
