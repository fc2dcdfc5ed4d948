"""Make text from files safe to show on a terminal.

A label may contain anything: an escape sequence that clears the screen, a line break, a mark that
reverses the direction of text. Tables show such characters escaped; JSON contains JSON escapes.
"""

import sys

_DIRECTIONS = (*range(0x200E, 0x2010), *range(0x2028, 0x202F), *range(0x2066, 0x206A))
_HIDDEN = (*range(0x20), *range(0x7F, 0xA0), 0x061C, *_DIRECTIONS, *range(0xD800, 0xE000))
_FOR_PEOPLE = {code: chr(code).encode("unicode_escape").decode() for code in _HIDDEN}
_FOR_MACHINES = {code: f"\\u{code:04x}" for code in _HIDDEN if code >= 0x20}


def visible(text: str) -> str:
    r"""Return text with control characters, line breaks and direction marks escaped.

    Examples
    --------
    >>> print(visible("red\x1b[2J\nblue é"))
    red\x1b[2J\nblue é
    """
    return text.translate(_FOR_PEOPLE)


def visible_json(text: str) -> str:
    r"""Return a JSON document with the same characters as JSON escapes.

    Examples
    --------
    >>> print(visible_json('["\x9b2J"]'))
    ["\u009b2J"]
    """
    return text.translate(_FOR_MACHINES)


def speaks_unicode() -> bool:
    """Tell whether standard output can encode every character."""
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    return encoding.lower().replace("_", "-").startswith("utf")


def never_fail_to_print() -> None:
    """Make output show characters that it cannot encode as escapes, instead of failing."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
