"""Count words that the documentation does without, and semicolons that join sentences.

``python tools/check_english.py`` lists every place with what to write instead. It fails if there
are more than :data:`MOST_WORDS` or :data:`MOST_SEMICOLONS`. Code and pages that programs write are
not read, nor are semicolons in tables.
"""

import re
import sys
from collections.abc import Iterator

from check_docs import markdown_files

MOST_WORDS = 0
MOST_SEMICOLONS = 20
GENERATED = {"quality.md", "reproduction.md", "reproduction-papers.md"}
"""Pages written by programs from stored results."""

INSTEAD = {
    r"\brefus(?:e|es|ed|ing)\b": "raises, rejects",
    r"\bpeers?\b": "baseline, or its name",
    r"\bcarr(?:y|ies|ied)\b": "have, contain",
    r"\bof (?:its|their|your|one's) own\b": "its own, separate, custom",
    r"\b(?:says|say) (?:so|why|what|which|since|that|by|by how)\b": "reports, prints, explains",
    r"\bbeside\b": "next to, compared with, during",
    r"\bat once\b": "immediately, together",
    r"\bours\b|\bour (?:figure|choice|value)s?\b": "vicinal's",
    r"\bwhere (?:there|they|it|all|any|none) (?:is|are|has|have|fits?|may)\b": "if",
    r"\bwhoever\b|\bwhat(?:ever)? (?:is|was) left\b": "everyone who, the remaining NAME",
    r"\b(?:to the|by a|last) bit\b|\bbit for bit\b|\bbit-identical\b": "identical",
    r"\bone by one\b|\bone at a time\b": "each",
    r"\bthe rest\b": "name it",
    r"\bsome (?:hundreds?|thousands?|millions?|dozens?)\b": "a few hundred",
    r"\bbeyond chance\b": "significant",
    r"\bspeaks? (?:for|against)\b": "support, count towards",
    r"\bseldom\b|\banew\b|\bunder way\b|\bin all\b": "rarely, again, running, in total",
    r"\balso (?:where|with|in|without)\b": "including when",
    r"\bso that\b": "so, or a new sentence",
    r"\d %": "70%, without a space",
}
_SEMICOLON = re.compile(r"[a-z`)]; ")
_CODE = re.compile(r"`[^`]*`")


def prose(text: str) -> Iterator[tuple[int, str]]:
    """Yield the lines of a page outside code blocks, with their numbers and without inline code."""
    fenced = False
    for number, line in enumerate(text.splitlines(), 1):
        if line.startswith("```"):
            fenced = not fenced
        elif not fenced:
            yield number, _CODE.sub("`", line)


def main() -> int:
    """Print every place; return 1 if there are more than allowed."""
    problems: list[str] = []
    semicolons = 0
    for file in markdown_files():
        if file.name in GENERATED:
            continue
        for number, line in prose(file.read_text(encoding="utf-8")):
            semicolons += 0 if line.startswith("|") else len(_SEMICOLON.findall(line))
            for pattern, instead in INSTEAD.items():
                problems.extend(
                    f"{file}:{number}: {found[0]!r} (instead: {instead})"
                    for found in re.finditer(pattern, line, re.IGNORECASE)
                )
    sys.stdout.writelines(f"{line}\n" for line in problems)
    sys.stdout.write(f"{len(problems)} banned words, {semicolons} semicolons in prose\n")
    return 1 if len(problems) > MOST_WORDS or semicolons > MOST_SEMICOLONS else 0


if __name__ == "__main__":
    sys.exit(main())
