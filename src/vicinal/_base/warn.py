"""Warnings that point at the user's line, however deep in the package they arise."""

import inspect
import warnings


def warn_user(message: str, category: type[Warning] = UserWarning) -> None:
    """Warn where the package was called: at the first frame outside it."""
    frame, levels = inspect.currentframe(), 1
    while frame is not None and str(frame.f_globals.get("__name__")).startswith("vicinal."):
        frame, levels = frame.f_back, levels + 1
    warnings.warn(message, category, stacklevel=levels)
