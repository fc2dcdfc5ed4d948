"""Check a built site: it loads nothing from elsewhere, its links work, search has an index.

``python tools/check_site.py build/site`` lists every problem and fails if there is one. Links to
other sites are allowed; scripts, styles, pictures, fonts and frames from other sites are not.
"""

import re
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

LOADED = {
    "audio": "src",
    "embed": "src",
    "iframe": "src",
    "img": "src",
    "script": "src",
    "source": "src",
    "video": "src",
}
LINK_RELATIONS = {"stylesheet", "icon", "preload", "modulepreload", "prefetch", "preconnect"}
_FROM_ELSEWHERE = re.compile(r"(?:url\(\s*['\"]?|@import\s+['\"])((?:https?:)?//[^'\")\s]+)")


class Page(HTMLParser):
    """What a page loads, where it links to, and the places in it that can be linked to."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.loads: list[str] = []
        self.links: list[str] = []
        self.ids: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note one element."""
        found = {name: value or "" for name, value in attrs}
        self.ids.update(found[name] for name in ("id", "name") if name in found)
        if tag == "a" and "href" in found:
            self.links.append(found["href"])
        if tag in LOADED and LOADED[tag] in found:
            self.loads.append(found[LOADED[tag]])
        if tag == "link" and LINK_RELATIONS & set(found.get("rel", "").split()):
            self.loads.append(found.get("href", ""))


def is_elsewhere(address: str) -> bool:
    """Tell whether an address is that of another site.

    Examples
    --------
    >>> [is_elsewhere(a) for a in ("https://a.org/x.js", "//a.org", "x.js", "data:,", "#top")]
    [True, True, False, False, False]
    """
    return urlsplit(address).netloc != ""


def page_problems(folder: Path, pages: dict[Path, Page]) -> Iterator[str]:
    """Yield what is wrong with the pages."""
    for path, page in pages.items():
        name = path.relative_to(folder)
        yield from (f"{name}: loads {one}" for one in page.loads if is_elsewhere(one))
        for link in page.links:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            if not target.exists():
                yield f"{name}: dead link {link}"
            elif parts.fragment and target in pages and parts.fragment not in pages[target].ids:
                yield f"{name}: no such place {link}"


def problems(folder: Path) -> Iterator[str]:
    """Yield everything that is wrong with a site."""
    pages = {path: Page(path.read_text("utf-8")) for path in sorted(folder.rglob("*.html"))}
    yield from page_problems(folder, pages)
    for path in sorted(folder.rglob("*.css")):
        for address in _FROM_ELSEWHERE.findall(path.read_text("utf-8")):
            yield f"{path.relative_to(folder)}: loads {address}"
    if not (folder / "searchindex.js").exists():
        yield "searchindex.js is missing: search finds nothing"


def main(folder: Path) -> int:
    """Print the problems; return how to exit."""
    found = list(problems(folder.resolve()))
    sys.stdout.writelines(f"{line}\n" for line in found)
    count = sum(1 for _ in folder.rglob("*.html"))
    sys.stdout.write(f"{count} pages, {len(found)} problems\n")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
