"""Benchmark runs are kept with their provenance, and read again as they were."""

import math
from pathlib import Path

import pytest
from benchmarks.recording import RESULTS, Measurement, read_records, record

FIGURES = [Measurement("search", 0.5, "ms per query"), Measurement("reading", 80.0, "MB/s", "high")]


def test_a_run_is_read_as_it_was_kept(tmp_path: Path) -> None:
    assert record("speed", FIGURES, tmp_path) == tmp_path / "speed.jsonl"
    record("speed", FIGURES[:1], tmp_path)
    first, second = read_records(tmp_path)["speed"]
    assert first.measurements == FIGURES
    assert second.measurements == FIGURES[:1]
    assert {"vicinal", "cpu", "cores", "date", "commit", "numpy"} <= set(first.provenance)


def test_nothing_is_kept_when_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VICINAL_RECORD", "0")
    assert record("speed", FIGURES, tmp_path) is None
    assert read_records(tmp_path) == {}


def test_the_kept_results_can_be_read() -> None:
    kept = read_records(RESULTS)
    assert kept
    values = [one.value for runs in kept.values() for run in runs for one in run.measurements]
    assert all(0 <= value < math.inf for value in values)
