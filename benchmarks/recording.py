"""Keep what benchmarks measure, so that figures can be compared from version to version.

Each run adds one line of JSON to ``benchmarks/results/SUITE.jsonl``: the figures and their
provenance (version, commit, processor, libraries, date). The site plots them by version.
Times taken on a busy machine mean little: with ``VICINAL_RECORD=0`` nothing is kept.
"""

import json
import os
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from vicinal.results import provenance

RESULTS = Path(__file__).parent / "results"


@dataclass(frozen=True)
class Measurement:
    """One figure of a benchmark.

    Parameters
    ----------
    what : str
        What was measured, on which data; the same words in every version.
    value : float
    unit : str
        Such as ``"s"``, ``"ms per query"``, ``"MB/s"``, ``"×"``.
    better : {"low", "high"}
    """

    what: str
    value: float
    unit: str
    better: Literal["low", "high"] = "low"


@dataclass(frozen=True)
class Record:
    """One run of a suite: its figures and where they came from."""

    suite: str
    provenance: Mapping[str, str]
    measurements: Sequence[Measurement]

    @property
    def label(self) -> str:
        """Version and date, as the axis of a plot has them."""
        return f"{self.provenance['vicinal']}\n{self.provenance['date']}"


def commit() -> str:
    """Return the commit of the sources, with ``+`` after it where they differ; else ``""``."""
    line = ["git", "describe", "--always", "--dirty=+", "--abbrev=12", "--exclude=*"]
    try:
        done = subprocess.run(line, cwd=RESULTS.parent, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        return ""
    return done.stdout.strip()


def record(suite: str, measurements: Iterable[Measurement], folder: Path = RESULTS) -> Path | None:
    """Add a run to the file of its suite; return the file, or None where nothing is to be kept."""
    if os.environ.get("VICINAL_RECORD") == "0":
        return None
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{suite}.jsonl"
    line = {
        "suite": suite,
        "provenance": provenance() | {"commit": commit()},
        "measurements": [asdict(one) for one in measurements],
    }
    with path.open("a", encoding="utf-8") as file:
        file.write(json.dumps(line, ensure_ascii=False) + "\n")
    return path


def read_records(folder: Path = RESULTS) -> dict[str, list[Record]]:
    """Return the runs of every suite, oldest first."""
    return {
        path.stem: [_read(json.loads(line)) for line in path.read_text("utf-8").splitlines()]
        for path in sorted(folder.glob("*.jsonl"))
    }


def _read(line: Mapping[str, Any]) -> Record:
    measurements = [Measurement(**one) for one in line["measurements"]]
    return Record(line["suite"], line["provenance"], measurements)
