"""Print the requirements that ``pyproject.toml`` declares, one per line.

The Makefile installs tools before the package itself exists, so it cannot use pip extras. With
``--lowest`` each lower bound becomes the version itself: ``numpy>=2.0`` is ``numpy==2.0``.
"""

import sys
import tomllib
from pathlib import Path


def requirements(groups: list[str]) -> list[str]:
    """List the requirements of the build system, of the library (``core``) and of extras."""
    text = Path("pyproject.toml").read_text(encoding="utf-8")
    project = tomllib.loads(text)
    known = {
        "build-system": project["build-system"]["requires"],
        "core": project["project"]["dependencies"],
        **project["project"]["optional-dependencies"],
    }
    found = [line for group in groups for line in known[group]]
    return [line for line in found if not line.startswith("vicinal[")]


def lowest(requirement: str) -> str:
    """Return a requirement that only allows its lower bound.

    Examples
    --------
    >>> lowest("numpy>=2.0"), lowest("ruff")
    ('numpy==2.0', 'ruff')
    """
    return requirement.replace(">=", "==")


if __name__ == "__main__":
    wanted = [word for word in sys.argv[1:] if word != "--lowest"]
    lines = requirements(wanted)
    if "--lowest" in sys.argv[1:]:
        lines = [lowest(line) for line in lines]
    sys.stdout.writelines(f"{line}\n" for line in lines)
