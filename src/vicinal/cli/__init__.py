"""To be written."""


def main() -> None:
    """To be written."""
