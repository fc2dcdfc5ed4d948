"""The command line: ``vicinal data | train | evaluate | predict | explain | tune | serve | …``.

Comes in: words a person typed. Goes out: tables and progress bars on a terminal, JSON where asked.
Bad input ends with one clear line and exit code 2. Imports everything, is imported by nothing.
"""

import sys

__all__ = ["main"]


def main() -> None:
    """Run the program; Ctrl-C ends it with one line, also while it is still being loaded."""
    try:
        from vicinal.cli.app import run

        run()
    except KeyboardInterrupt:
        sys.stderr.write("interrupted\n")
        sys.exit(130)
