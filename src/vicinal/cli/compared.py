"""The data sets of ``vicinal compare``; tables are read in the same way as by other commands."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from vicinal._base.errors import InvalidArgumentError
from vicinal.cli.source import table_source
from vicinal.cli.table_options import TableChoice
from vicinal.cli.tables import file_options, is_table_file, table_steps
from vicinal.comparison.compared_data import ComparedData
from vicinal.datasets import Reading, load
from vicinal.datasets.catalogue.registry import known
from vicinal.results.digest import digest_of


def named_sources(data: Sequence[str], table: TableChoice) -> dict[str, Any]:
    """Return the data sets of a comparison by name."""
    named: dict[str, Any] = {}
    for each in data:
        name = Path(each).name
        if name in named:
            raise InvalidArgumentError("DATA", "files with different names", f"{name!r} twice")
        named[name] = _compared(each, table)
    return named


def _compared(data: str, table: TableChoice) -> Any:
    """Return one data set of a comparison."""
    options = {} if known(data) else file_options(table)
    if not is_table_file(data):
        return load(data, **options) if options else data
    source = table_source(data, table)
    steps = table_steps(source.reading or Reading(), table, "none")
    digest = digest_of(_content(source.X), source.labels(), repr(steps))[:16]
    return ComparedData(
        source.X,
        source.labels(),
        tuple(source.label_names),
        source.name,
        steps=steps or None,
        digest=digest,
    )


def _content(X: Any) -> object:
    """Return rows in a form that can be hashed: mixed columns as text."""
    is_mixed = isinstance(X, np.ndarray) and X.dtype.kind == "O"
    return repr(X.tolist()) if is_mixed else X
