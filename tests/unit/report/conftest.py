"""A strict reader of pages: every end tag must close what was opened last."""

from dataclasses import dataclass, field
from html.parser import HTMLParser

import pytest

VOID = {"br", "col", "meta"}


@dataclass
class Node:
    tag: str
    attributes: dict[str, str | None]
    children: list["Node | str"] = field(default_factory=list)

    @property
    def text(self) -> str:
        return "".join(c if isinstance(c, str) else c.text for c in self.children)

    def all(self, tag: str | None = None) -> list["Node"]:
        found = [self] if tag in (None, self.tag) else []
        for child in self.children:
            if isinstance(child, Node):
                found += child.all(tag)
        return found

    @property
    def classes(self) -> list[str]:
        return (self.attributes.get("class") or "").split()


class Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.root = Node("document", {})
        self.open = [self.root]

    def handle_starttag(self, tag, attrs):
        assert len(dict(attrs)) == len(attrs), f"an attribute twice in {tag}"
        node = Node(tag, dict(attrs))
        self.open[-1].children.append(node)
        if tag not in VOID:
            self.open.append(node)

    def handle_endtag(self, tag):
        assert self.open[-1].tag == tag, f"</{tag}> closes <{self.open[-1].tag}>"
        self.open.pop()

    def handle_data(self, data):
        self.open[-1].children.append(data)

    def handle_comment(self, data):
        raise AssertionError(f"a comment: {data}")


@pytest.fixture
def read():
    """Parse markup; check that it is balanced, ids are unique and links lead inside the page."""

    def parse(markup: str) -> Node:
        reader = Reader()
        reader.feed(markup)
        reader.close()
        assert len(reader.open) == 1, f"not closed: {reader.open[-1].tag}"
        nodes = reader.root.all()
        ids = [node.attributes["id"] for node in nodes if "id" in node.attributes]
        assert len(ids) == len(set(ids)), "an id twice"
        for node in nodes:
            for name in ("href", "xlink:href", "src", "data", "action", "srcset", "poster"):
                if name in node.attributes:
                    target = node.attributes[name]
                    assert target.startswith("#"), f"loads {target}"
                    assert target[1:] in ids, f"{target} leads nowhere"
            for name in ("aria-labelledby",):
                assert node.attributes.get(name) is None or node.attributes[name] in ids
            assert not any(name.startswith("on") for name in node.attributes)
        return reader.root

    return parse
