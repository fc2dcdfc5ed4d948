"""The command line: ``vicinal data | train | evaluate | predict | explain | tune | serve | …``.

Input: the arguments that a person typed. Output: tables and progress bars on a terminal, or JSON.
Bad input ends with one clear line and exit code 2. This package may import every other one, and no
other package imports it.
"""

import sys

__all__ = ["main"]


def main() -> None:
    """Run the program; Ctrl-C ends it with one line, even while it is still loading."""
    try:
        from vicinal.cli.program import run

        run()
    except KeyboardInterrupt:
        sys.stderr.write("interrupted\n")
        sys.exit(130)
