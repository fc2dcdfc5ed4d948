"""Import the user's modules, which define methods outside the library."""

import sys
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path

from vicinal._base.errors import InvalidArgumentError


def import_modules(modules: Sequence[str] | None, methods: Sequence[str] = ()) -> None:
    """Import modules; the current folder is searched last, so that it hides no other module.

    Parameters
    ----------
    modules : sequence of str or None
        The modules of ``--import``.
    methods : sequence of str
        Names of methods; the module of ``module:Class`` may be in the current folder too.
    """
    here = str(Path.cwd())
    if (modules or any(":" in method for method in methods)) and here not in sys.path:
        sys.path.append(here)
    for module in modules or ():
        try:
            import_module(module)
        except (ImportError, SyntaxError, ValueError) as error:
            expected = f"a module that can be imported ({error})"
            raise InvalidArgumentError("--import", expected, repr(module)) from error
