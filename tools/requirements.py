"""Print the requirements that ``pyproject.toml`` declares, one a line.

The Makefile installs tools before the package itself exists, so it cannot ask pip for an extra.
"""

import sys
import tomllib
from pathlib import Path


def requirements(groups: list[str]) -> list[str]:
    """List the requirements of the build system (``build-system``) and of the extras named."""
    project = tomllib.loads(Path("pyproject.toml").read_text(encoding="utf-8"))
    found: list[str] = []
    for group in groups:
        if group == "build-system":
            found += project["build-system"]["requires"]
        else:
            found += project["project"]["optional-dependencies"][group]
    return [line for line in found if not line.startswith("vicinal[")]


if __name__ == "__main__":
    sys.stdout.writelines(f"{line}\n" for line in requirements(sys.argv[1:]))
