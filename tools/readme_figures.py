"""Write the micro-F1 of the blend and its best baseline from the quality page into README.md."""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGE, README = ROOT / "docs" / "evidence" / "quality.md", ROOT / "README.md"
_MEASURED = re.compile(
    r"^\| ([\w-]+) \| [^|]+ \| [^|]+ \| \*{0,2}(0\.\d+)\*{0,2} \| (0\.\d+) \(", re.MULTILINE
)
_SHOWN = re.compile(r"\| ([a-z][\w-]+) \| \*{0,2}\.\d{3}\*{0,2} \| \.\d{3} (?=\|)")


def figures(page: str) -> dict[str, tuple[str, str]]:
    """Return the micro-F1 of the blend and of the best baseline by data set.

    Examples
    --------
    >>> figures("| yeast | **0.761** | 0.756 (random-forest) | 0.683 | 0.684 (random-forest) | 3 |")
    {'yeast': ('0.683', '0.684')}
    """
    return {name: (blend, best) for name, blend, best in _MEASURED.findall(page)}


def main() -> int:
    """Replace the figures; return 1 if the page lacks a data set of the README."""
    measured = figures(PAGE.read_text(encoding="utf-8"))
    missing = []

    def renewed(found: re.Match[str]) -> str:
        if found[1] not in measured:
            missing.append(found[1])
            return found[0]
        blend, best = measured[found[1]]
        shown = f"**{blend[1:]}**" if blend > best else blend[1:]
        return f"| {found[1]} | {shown} | {best[1:]} "

    README.write_text(_SHOWN.sub(renewed, README.read_text(encoding="utf-8")), encoding="utf-8")
    sys.stdout.writelines(f"{PAGE.name} has no figures of {name}\n" for name in missing)
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main())
