"""Group related packages, so that a split does not separate them.

Packages built from one source share most of their description: ``libfoo1``, ``libfoo-dev`` and
``python3-foo`` have nearly the same words and tags. A split that separates them would leak test
rows into the training set.
"""

import re
from collections.abc import Hashable, Iterable, Sequence

_PREFIX = re.compile(
    r"^(?:lib(?:ghc|rust|32|64|n32|x32)?-?|python3?-|ruby-|golang-(?:github-|gopkg-|go\.)?|node-|r-cran-"
    r"|r-bioc-|php-|gir1\.2-|elpa-|fonts-|emacs-|vim-|xfonts-|lua-|perl6-|haskell-)(?=..)"
)
_SUFFIX = re.compile(
    r"(?<=..)-(?:dev|doc|docs|dbg|dbgsym|data|common|bin|tools?|utils?|perl|java|ruby|python3?|lua"
    r"|php|tcl|cil|ocaml|el|guile|examples?|tests?|headers|source|src|static|runtime|core|base|gui"
    r"|cli|gtk|gtk[234]|qt|qt[456]|x11|nox|server|client|daemon|extras?|plugins?|modules?|all|full"
    r"|light|demo|theme|i18n|locales?|l10n|dkms|prof|pic|ssl|gnutls|openssl|mpi|mpich|openmpi"
    r"|java-doc|l10n-[a-z]+|help-[a-z-]+|(?:[a-z0-9]+-)?cross|multilib)$"
)
_VERSION = re.compile(r"(?<=[a-z+]{2})[-.]?\d[\d.+]*(?:-\d[\d.]*)*(?:[a-z]{1,3}\d*)?$")


def family(package: str) -> str:
    """Return a package name without language prefixes, role suffixes and versions.

    Examples
    --------
    >>> [family(name) for name in ("libfoo1", "libfoo-dev", "libfoo2-doc", "python3-foo", "foo")]
    ['foo', 'foo', 'foo', 'foo', 'foo']
    >>> family("libqt5core5a"), family("golang-github-pkg-errors-dev"), family("gcc-12-doc")
    ('qt5core', 'pkg-errors', 'gcc')
    >>> family("0ad"), family("0ad-data-common"), family("mp3gain")
    ('0ad', '0ad', 'mp3gain')
    """
    stem = _PREFIX.sub("", package.lower(), count=1)
    while (shorter := _VERSION.sub("", _SUFFIX.sub("", stem))) != stem:
        stem = shorter
    return stem


def groups(keys: Sequence[Iterable[Hashable]]) -> list[int]:
    """Group rows that share a key, directly or through other rows; number a group by its first row.

    Examples
    --------
    >>> groups([["a"], ["b"], ["a", "b"], ["c"]])
    [0, 0, 0, 3]
    """
    parent = list(range(len(keys)))
    seen: dict[Hashable, int] = {}
    for row, own in enumerate(keys):
        for key in own:
            one, other = _root(parent, row), _root(parent, seen.setdefault(key, row))
            parent[max(one, other)] = min(one, other)
    return [_root(parent, row) for row in range(len(keys))]


def _root(parent: list[int], row: int) -> int:
    """Follow `parent` to the first row of the group, halving the path on the way."""
    while parent[row] != row:
        parent[row] = parent[parent[row]]
        row = parent[row]
    return row
