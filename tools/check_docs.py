"""Check the documentation: Python examples run, links lead to files and headings that exist.

Reads every Markdown file tracked by git. Examples are ``>>>`` lines in Python code blocks. All run
in one process, which imports libraries once, and in a folder that contains the files of
``docs/samples``; ``make test`` has other checks for other cores.
"""

import contextlib
import doctest
import io
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

SAMPLES = Path("docs/samples").resolve()
_CODE = re.compile(r"```.*?```|`[^`\n]*`", re.DOTALL)
_LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
_HEADING = re.compile(r"^#+ (.*)$", re.MULTILINE)


class Checked(NamedTuple):
    """What was found in one file."""

    examples: int
    problems: int
    report: str


def markdown_files() -> list[Path]:
    """Return the Markdown files of the project."""
    listed = subprocess.run(
        ["git", "ls-files", "*.md"], capture_output=True, text=True, check=True
    ).stdout
    return [Path(name) for name in listed.split()]


def headings(text: str) -> set[str]:
    """Return the names by which the headings of a page can be linked to.

    Examples
    --------
    >>> sorted(headings("## `MinMax`: 0 to 1"))
    ['minmax-0-to-1']
    """
    plain = re.sub(r"```.*?```", "", text, flags=re.DOTALL)
    return {re.sub(r"[^\w -]", "", h.lower()).replace(" ", "-") for h in _HEADING.findall(plain)}


def dead_links(file: Path) -> list[str]:
    """Return the links of a file to files or headings that do not exist."""
    text = file.read_text(encoding="utf-8")
    targets = _LINK.findall(_CODE.sub("", text))
    return [t for t in targets if "://" not in t and not leads_somewhere(file, t)]


def leads_somewhere(file: Path, target: str) -> bool:
    """Tell whether the file of a link exists, and its heading if it names one."""
    path, _, heading = target.partition("#")
    page = file.parent / path if path else file
    if heading and page.suffix == ".md" and page.exists():
        return heading in headings(page.read_text(encoding="utf-8"))
    return page.exists()


def check(file: Path) -> Checked:
    """Run the examples of a file and look up its links."""
    report = io.StringIO()
    dead = dead_links(file)
    report.writelines(f"{file}: dead link {target}\n" for target in dead)
    page = str(file.resolve())
    with contextlib.redirect_stdout(report), tempfile.TemporaryDirectory() as folder:
        shutil.copytree(SAMPLES, folder, dirs_exist_ok=True)
        with contextlib.chdir(folder):
            result = doctest.testfile(
                page, module_relative=False, optionflags=doctest.NORMALIZE_WHITESPACE
            )
    return Checked(result.attempted, result.failed + len(dead), report.getvalue())


def main(names: list[str]) -> int:
    """Print the problems of these files, or of every file; return 1 if there are any."""
    checked = [check(file) for file in ([Path(name) for name in names] or markdown_files())]
    problems = sum(each.problems for each in checked)
    sys.stdout.write("".join(each.report for each in checked))
    sys.stdout.write(f"{sum(e.examples for e in checked) - problems} passed, {problems} failed\n")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
