"""Safe HTML markup: everything that is not already markup is escaped."""

import html
import re

from vicinal._base.errors import InvalidArgumentError

VOID = frozenset({"br", "col", "meta"})
"""Elements that have no end tag."""

_UNFIT = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")
"""Characters that are not allowed in HTML."""
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9-]*")


class Html(str):
    """Markup, which is inserted unchanged."""

    __slots__ = ()


def clean(text: str) -> str:
    """Return the text with U+FFFD in place of characters not allowed in documents and figures.

    Examples
    --------
    >>> len(clean(chr(0))), clean("é")
    (1, 'é')
    """
    return _UNFIT.sub("\ufffd", text)


def escape(text: str) -> Html:
    """Return any text as escaped markup; characters not allowed in HTML become U+FFFD.

    Examples
    --------
    >>> escape('<b>"Tom" & Jerry</b>')
    '&lt;b&gt;&quot;Tom&quot; &amp; Jerry&lt;/b&gt;'
    >>> escape(Html("<b>bold</b>"))
    '<b>bold</b>'
    """
    return text if isinstance(text, Html) else Html(html.escape(clean(text)))


def element(name: str, /, *children: str | None, **attributes: str | int | bool | None) -> Html:
    """Return an element.

    Parameters
    ----------
    name : str
    *children : str or None
        Inserted in order; escaped unless they are :class:`Html`; None is ignored.
    **attributes : str, int, bool or None
        Underscores stand for hyphens, one at the end is dropped (``class_``). True gives an
        attribute without a value; False and None omit it.

    Examples
    --------
    >>> element("td", "a < b", class_="best", data_value=1, hidden=None)
    '<td class="best" data-value="1">a &lt; b</td>'
    """
    start = "".join(_attribute(key, value) for key, value in attributes.items())
    if name in VOID:
        return Html(f"<{name}{start}>")
    inside = "".join(escape(child) for child in children if child is not None)
    return Html(f"<{name}{start}>{inside}</{name}>")


def together(*parts: str | None, between: str = "") -> Html:
    """Join parts, escaping those that are not markup.

    Examples
    --------
    >>> together(Html("<b>a</b>"), None, "b < c", between=", ")
    '<b>a</b>, b &lt; c'
    """
    return Html(escape(between).join(escape(part) for part in parts if part is not None))


def class_names(*names: str) -> str | None:
    """Return class names for an attribute, or None if there are none.

    Examples
    --------
    >>> class_names("ours", "", "best"), class_names("")
    ('ours best', None)
    """
    for name in names:
        if name and not _NAME.fullmatch(name):
            raise InvalidArgumentError("kind", "a plain name", repr(name))
    return " ".join(filter(None, names)) or None


def _attribute(key: str, value: str | int | bool | None) -> str:
    """Return one attribute with the space before it."""
    if value is None or value is False:
        return ""
    name = key.rstrip("_").replace("_", "-")
    return f" {name}" if value is True else f' {name}="{html.escape(clean(str(value)))}"'
