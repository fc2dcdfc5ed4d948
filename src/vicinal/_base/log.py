"""The ``vicinal`` logger: guesses (level INFO) and suspicious input (level WARNING).

The library adds no handler, so that Python shows only warnings until the caller configures logging.
The command line prints both to standard error.
"""

import logging

logger = logging.getLogger("vicinal")
