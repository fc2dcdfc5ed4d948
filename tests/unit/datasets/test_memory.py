"""Small files cannot make a reader take much memory: they are read in a process with a limit."""

import gzip
import json
import lzma
import os
import subprocess
import sys

import numpy as np
import pytest
from scipy.io import savemat

from vicinal.datasets.dataset import LazyNames

pytestmark = pytest.mark.native

MOST_MEGABYTES = 400
"""Above what the process takes before it reads anything; unlimited, each file took gigabytes."""

PROGRAM = """
import json, resource, sys
from vicinal.errors import DataFormatError
from vicinal.datasets import read_file
resource.setrlimit(resource.RLIMIT_DATA, (3 * 2**30, 3 * 2**30))
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
for path in sys.argv[1:]:
    try:
        said = repr(read_file(path))
    except DataFormatError as error:
        said = f"refused: {error}"
    except BaseException as error:
        said = f"failed: {error!r:.200}"
    megabytes = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024
    print(json.dumps([said, megabytes]), flush=True)
"""

ARFF = "@relation 'r: -C 1'\n@attribute l {0,1}\n"
ATTRIBUTES = "".join(f"@attribute a{i} {{x,y}}\n" for i in range(10_000))
VALUES = ",".join(map(str, range(40_000)))
CONTENTS = {
    "columns.xc": "1 10000000 10000000\n0 1:1\n",
    "absent.meka.arff": f"{ARFF}{ATTRIBUTES}@data\n" + "{}\n" * 60_000,
    "values.meka.arff": f"{ARFF}@attribute {'n' * 240_000} {{{VALUES}}}\n@data\n1,7\n",
    "name.meka.arff": f"{ARFF}@attribute '{'n' * 8_000_000}' {{0,1}}\n@data\n1,1\n",
    "escapes.meka.arff": f"{ARFF}@attribute '{chr(92) * 8_000_000}' {{0,1}}\n@data\n1,1\n",
    "open.meka.arff": f"{ARFF}@attribute '{'n' * 8_000_000} {{0,1}}\n@data\n1,1\n",
}
"""Files that are no archives."""

REPETITIONS = {
    "rows.csv.xz": (b"text,labels\n", b",\n"),
    "cells.csv.xz": (b"text,labels\n", b",,,,,,,,"),
    "quotes.tsv.xz": (b"text\tlabels\n", b'"\t"'),
    "rows.jsonl.xz": (b"", b'{"text":"","labels":[]}\n'),
    "lists.jsonl.xz": (b"", b"[" * 9),
    "text.jsonl.xz": (b"", b'{"text":"' + b"\\n" * 1000),
    "rows.xc.xz": (b"", b" \n"),
    "attributes.arff.xz": (b"", b"@attribute a numeric\n"),
    "zeros.mat.xz": (b"", b"\0" * 8),
    "zeros.npz.xz": (b"", b"\0" * 8),
}
"""Archives of less than 30 kilobytes that unpack to 50 megabytes: a start, and what is repeated."""


@pytest.fixture(scope="module")
def said(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Read all files in one process; return by name what it said, after a look at its memory."""
    folder = tmp_path_factory.mktemp("files")
    for name, content in CONTENTS.items():
        (folder / name).write_text(content)
    for name, (start, line) in REPETITIONS.items():
        part = lzma.compress(line * (5 * 10**6 // len(line)), preset=0)
        (folder / name).write_bytes(lzma.compress(start) + part * 10)
        assert (folder / name).stat().st_size < 30_000
    (folder / "rows.csv.gz").write_bytes(
        gzip.compress(b"text,labels\na word,x\n" + b",\n" * 500_000)
    )
    zeros = {"X": np.zeros((1, 3_000_000)), "Y": np.eye(1)}
    savemat(folder / "zeros.mat", zeros, do_compression=True)

    paths = [folder / name for name in [*CONTENTS, *REPETITIONS, "rows.csv.gz", "zeros.mat"]]
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, *map(str, paths)],
        capture_output=True,
        text=True,
        timeout=250,
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
        check=False,
    )
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    said = {path.name: line[0] for path, line in zip(paths, lines, strict=False)}
    assert (done.returncode, len(said)) == (0, len(paths)), (said, done.stderr[-500:])
    for path, (_, megabytes) in zip(paths, lines, strict=True):
        assert megabytes < MOST_MEGABYTES, (path.name, megabytes)
    return said


def test_few_bytes_that_say_much(said):
    assert "10000000 sparse features, 10000000 labels" in said["columns.xc"]
    assert "60000 sparse rows, each with 10000 implicit nominal values" in said["absent.meka.arff"]
    assert "40000 sparse features" in said["values.meka.arff"]
    for name in ("name.meka.arff", "escapes.meka.arff", "open.meka.arff"):
        assert said[name].startswith("refused: ")


def test_archives_of_repetitions(said):
    assert {said[name][:8] for name in REPETITIONS} == {"refused:"}


def test_rows_of_nothing_and_packed_variables(said):
    assert "500001 rows" in said["rows.csv.gz"]
    assert said["zeros.mat"].startswith("refused: ")


def test_lazy_names_are_equal_to_tuples_and_hash_alike():
    names = LazyNames(range(3), "label")
    assert names == ("label0", "label1", "label2") == tuple(names)
    assert hash(names) == hash(tuple(names))
    assert names != ("label0", "label1")
    assert names != "label0"
    assert names[1:] == ("label1", "label2")
    assert names[-1] == "label2"
    others = ("x",)
    assert names + others == ("label0", "label1", "label2", "x")
    assert others + names == ("x", "label0", "label1", "label2")
    assert LazyNames(["a", ("b", "c")]) == ("a", "b=c")
    with pytest.raises(IndexError):
        names[3]
