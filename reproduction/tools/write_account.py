"""Write ``docs/evidence/reproduction*`` from the results that are part of this distribution."""

from pathlib import Path

from vicinal_reproduction.render.account import account_files
from vicinal_reproduction.results.stores import stored

FOLDER = Path(__file__).resolve().parents[2] / "docs" / "evidence"


def main() -> None:
    """Write the page and the files next to it."""
    for name, text in account_files(stored()).items():
        (FOLDER / name).write_text(text, encoding="utf-8", newline="\n")


if __name__ == "__main__":
    main()
