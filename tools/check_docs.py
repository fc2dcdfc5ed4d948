"""Check the documentation: Python examples run and local links exist.

Reads every Markdown file tracked by git. Examples are ``>>>`` lines in Python code blocks.
"""

import doctest
import re
import subprocess
import sys
from pathlib import Path

_CODE = re.compile(r"```.*?```|`[^`\n]*`", re.DOTALL)
_LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")


def markdown_files() -> list[Path]:
    """Return the Markdown files of the project."""
    listed = subprocess.run(
        ["git", "ls-files", "*.md"], capture_output=True, text=True, check=True
    ).stdout
    return [Path(name) for name in listed.split()]


def dead_links(file: Path) -> list[str]:
    """Return the links of a file to files that do not exist."""
    targets = _LINK.findall(_CODE.sub("", file.read_text(encoding="utf-8")))
    local = [t.partition("#")[0] for t in targets if "://" not in t and not t.startswith("#")]
    return [target for target in local if not (file.parent / target).exists()]


def main() -> int:
    """Return the number of problems found."""
    problems = 0
    examples = 0
    for file in markdown_files():
        for target in dead_links(file):
            sys.stdout.write(f"{file}: dead link {target}\n")
            problems += 1
        result = doctest.testfile(
            str(file.resolve()), module_relative=False, optionflags=doctest.NORMALIZE_WHITESPACE
        )
        problems += result.failed
        examples += result.attempted
    sys.stdout.write(f"{examples - problems} passed, {problems} failed\n")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
