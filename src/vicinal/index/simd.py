"""Which vector instructions the compiled core uses."""

import os

from vicinal._base.validation import check_option
from vicinal._native import simd_levels


def simd_level(asked: str | None) -> str:
    """Return the requested level, or that of ``VICINAL_SIMD``, or the best available.

    Examples
    --------
    >>> simd_level("plain")
    'plain'
    """
    level = os.environ.get("VICINAL_SIMD", "auto") if asked is None else asked
    return check_option("simd", level, ("auto", *simd_levels()))
