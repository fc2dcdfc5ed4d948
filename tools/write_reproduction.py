"""Write ``docs/reproduction.md`` from the results that come with the package."""

from pathlib import Path

from vicinal.papers import account, stored

TARGET = Path(__file__).resolve().parents[1] / "docs" / "reproduction.md"


def main() -> None:
    """Write the page."""
    TARGET.write_text(account(stored()), encoding="utf-8", newline="\n")


if __name__ == "__main__":
    main()
