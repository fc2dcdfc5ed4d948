"""Label Studio's labeling interface: which field is the text, and where the choices go."""

import xml.etree.ElementTree as ET
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from vicinal.service.errors import bad_value


@dataclass(frozen=True)
class LabelConfig:
    """The parts of a labeling interface that a text with choices needs.

    Parameters
    ----------
    from_name, to_name : str
        Names of the choices and of the text.
    field : str
        Field of a task that holds the text.
    values : frozenset of str
        The choices that the interface offers; empty if it takes them from the task.
    """

    from_name: str = "labels"
    to_name: str = "text"
    field: str = "text"
    values: frozenset[str] = frozenset()

    def allows(self, label: str) -> bool:
        """Tell whether the interface offers this choice."""
        return not self.values or label in self.values

    def region(self, choices: Sequence[str]) -> dict[str, Any]:
        """Return choices as Label Studio stores them."""
        return {
            "from_name": self.from_name,
            "to_name": self.to_name,
            "type": "choices",
            "value": {"choices": list(choices)},
        }

    def choices(self, result: Sequence[Mapping[str, Any]]) -> list[str]:
        """Return the choices of an annotator, each once; other kinds of annotation are ignored."""
        found: dict[str, None] = {}
        for region in result:
            value = region.get("value")
            if region.get("type") != "choices" or not isinstance(value, Mapping):
                continue
            given = value.get("choices")
            for choice in given if isinstance(given, list) else ():
                # A choice below another one comes as a path; its last part is the label.
                last = choice[-1] if isinstance(choice, list) and choice else choice
                if isinstance(last, str) and last:
                    found[last] = None
        return list(found)


def read_label_config(xml: str) -> LabelConfig:
    """Read a labeling interface; without one, the names are ``labels`` and ``text``.

    Examples
    --------
    >>> config = read_label_config('''<View><Text name="t" value="$body"/>
    ...   <Choices name="topic" toName="t"><Choice value="a"/></Choices></View>''')
    >>> config.field, config.from_name, config.to_name, sorted(config.values)
    ('body', 'topic', 't', ['a'])
    """
    if not xml.strip():
        return LabelConfig()
    if "<!" in xml.replace("<!--", ""):
        raise bad_value("label_config", "XML without a document type", "a document type")
    try:
        root = ET.fromstring(xml)
    except (ET.ParseError, ValueError):
        raise bad_value("label_config", "the XML of a labeling interface", "other text") from None
    choices = root.find(".//Choices")
    if choices is None:
        raise bad_value("label_config", "a <Choices> element", "none")
    to_name = choices.get("toName", "")
    texts = [element for element in root.iter() if element.get("name") == to_name]
    value = texts[0].get("value", "") if texts else ""
    if not value.startswith("$"):
        raise bad_value("label_config", f"an element named {to_name!r} with value='$FIELD'", value)
    values = (choice.get("alias") or choice.get("value") for choice in choices.iter("Choice"))
    offered = frozenset(value for value in values if value)
    return LabelConfig(choices.get("name", "labels"), to_name, value[1:], offered)
