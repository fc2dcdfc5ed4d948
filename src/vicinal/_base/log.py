"""The ``vicinal`` logger: what was guessed (INFO) and what looks wrong (WARNING).

The library adds no handler, so that Python shows warnings and hides the rest until the caller
configures logging. The command line prints both to standard error.
"""

import logging

logger = logging.getLogger("vicinal")
