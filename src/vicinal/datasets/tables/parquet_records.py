"""Rows of Parquet files, read with pyarrow."""

import io

from vicinal._base.errors import DataFormatError, MissingExtraError
from vicinal.datasets.files import FilePath
from vicinal.datasets.tables.records import Record, Records, gather


def parquet_records(data: bytes, path: FilePath) -> Records:
    """Return the rows of a Parquet file, numbered instead of with lines."""
    try:
        import pyarrow as pa
        from pyarrow import parquet
    except ImportError:
        raise MissingExtraError("pyarrow", "frames") from None
    try:
        table = parquet.read_table(io.BytesIO(data))
        rows = table.to_pylist()
    except (pa.ArrowException, OSError) as error:
        raise DataFormatError(str(path), "a Parquet file", str(error)[:80]) from None
    return gather(path, (Record(row, at) for at, row in enumerate(rows, 1)), table.column_names)
