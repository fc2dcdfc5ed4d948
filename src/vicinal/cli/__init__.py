"""The command line: ``vicinal data | train | evaluate | predict | tune | compare | bench | demo``.

Comes in: words a person typed. Goes out: tables and progress bars on a terminal, JSON where asked.
Bad input ends with one clear line and exit code 2. Imports everything, is imported by nothing.
"""

from vicinal.cli.app import main

__all__ = ["main"]
