"""Write ``docs/evidence/reproduction.md`` from the results that are part of this distribution."""

from pathlib import Path

from vicinal_reproduction.render.account import account
from vicinal_reproduction.results.stores import stored

TARGET = Path(__file__).resolve().parents[2] / "docs" / "evidence" / "reproduction.md"


def main() -> None:
    """Write the page."""
    TARGET.write_text(account(stored()), encoding="utf-8", newline="\n")


if __name__ == "__main__":
    main()
