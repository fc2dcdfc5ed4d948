"""``predict`` and ``evaluate`` work in blocks of rows: same answers, flat memory."""

import csv
import gc
import io
import json
import math
import subprocess
import sys
import tracemalloc
from pathlib import Path

import numpy as np
import pytest

from vicinal.cli import data_source
from vicinal.datasets import write_file
from vicinal.metrics.auc import ScoreTally

pytestmark = pytest.mark.native

WORDS = ["tree", "leaf", "road", "car", "sea", "wave"]


def table(n_rows: int, length: int = 3) -> list[dict[str, str]]:
    rng = np.random.default_rng(7)
    kinds = rng.integers(0, 3, n_rows)
    rows = []
    for at, kind in enumerate(kinds.tolist()):
        words = [WORDS[2 * kind + int(bit)] for bit in rng.integers(0, 2, length)]
        extra = ";new" if at % 17 == 16 else ""
        rows.append({"text": " ".join(words), "tags": WORDS[2 * kind] + extra, "name": f"r{at}"})
    return rows


def write(rows, path):
    if path.suffix == ".jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    elif path.suffix == ".json":
        path.write_text(json.dumps(rows))
    elif path.suffix == ".parquet":
        pa, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
        # Of a Parquet file one row group is in memory.
        parquet.write_table(pa.Table.from_pylist(rows), path, row_group_size=5_000)
    else:
        with path.open("w", newline="") as stream:
            writer = csv.DictWriter(stream, list(rows[0]))
            writer.writeheader()
            writer.writerows(rows)
    return path


@pytest.fixture
def model(run, tmp_path):
    rows = [row | {"tags": row["tags"].split(";")[0]} for row in table(30)]
    path = write(rows, tmp_path / "train.csv")
    near = ("--method", "instance-knn", "--set", "n_neighbors=3")
    code, _, err = run("train", path, "-o", tmp_path / "model", *near, "--separator", ";")
    assert code == 0, err
    return tmp_path / "model"


def said(run, *words):
    code, out, err = run(*words)
    assert code == 0, err
    return out


@pytest.mark.parametrize("ending", ["csv", "jsonl", "json", "parquet"])
@pytest.mark.parametrize("block_rows", [1, 7])
def test_tables_in_blocks(run, model, ending, block_rows, tmp_path, monkeypatch):
    path = write(table(40), tmp_path / f"new.{ending}")
    words = ("predict", model, path, "--json"), ("evaluate", model, path, "--json")
    whole = [said(run, *each) for each in words]
    monkeypatch.setattr(data_source, "BLOCK_ROWS", block_rows)
    predicted, judged = (said(run, *each) for each in words)
    assert predicted == whole[0]
    found, wanted = (
        {name: math.nan if value is None else value for name, value in json.loads(each).items()}
        for each in (judged, whole[1])
    )
    assert found == pytest.approx(wanted, rel=1e-12, abs=1e-12, nan_ok=True)


def test_labels_unknown_to_the_model_are_known_from_the_first_block(
    run, model, tmp_path, monkeypatch
):
    path = write(table(40), tmp_path / "new.csv")
    _, out, err = run("evaluate", model, path, "--json")
    assert err.count("1 labels of the data are unknown to the model") == 1
    monkeypatch.setattr(data_source, "BLOCK_ROWS", 4)  # the label comes in the fifth block
    _, blocks, again = run("evaluate", model, path, "--json")
    assert again == err
    assert json.loads(blocks) == pytest.approx(json.loads(out), rel=1e-12, abs=1e-12)


def test_a_note_is_printed_once_whatever_the_blocks(run, model, tmp_path, monkeypatch):
    rows = [{"text": "tree", "tags": "tree"}, {"text": "sea", "more": "wave", "tags": "sea"}]
    path = write(4 * rows, tmp_path / "new.jsonl")
    monkeypatch.setattr(data_source, "BLOCK_ROWS", 2)
    code, _, err = run("predict", model, path, "--text", "text,more")
    assert code == 0, err
    assert err.count("texts from columns 'text', 'more', of which some rows lack one") == 1


@pytest.mark.parametrize("ending", ["jsonl", "csv", "tsv", "parquet"])
def test_answers_are_written_in_blocks(run, model, ending, tmp_path, monkeypatch):
    path = write(table(40), tmp_path / "new.csv")
    target = tmp_path / f"answers.{ending}"
    if ending == "parquet":
        pytest.importorskip("pyarrow")
    options = ("--row-names", "name", "-o", target)
    assert "40 rows predicted" in said(run, "predict", model, path, *options)
    whole = target.read_bytes()
    monkeypatch.setattr(data_source, "BLOCK_ROWS", 7)
    said(run, "predict", model, path, *options)
    assert target.read_bytes() == whole
    if ending == "parquet":
        from pyarrow import parquet

        monkeypatch.setattr("vicinal.cli.predict.GROUP_ROWS", 9)
        said(run, "predict", model, path, *options)
        assert parquet.ParquetFile(target).num_row_groups == 5
        found = parquet.read_table(target).to_pylist()
        assert [row["row"] for row in found] == [f"r{at}" for at in range(40)]
        assert found == parquet.read_table(io.BytesIO(whole)).to_pylist()


@pytest.mark.parametrize("ending", ["arff", "meka.arff", "xc.txt", "npz"])
def test_files_of_features_in_blocks(run, dataset, ending, tmp_path, monkeypatch):
    path, model = tmp_path / f"signs.{ending}", tmp_path / "model"
    write_file(dataset, path)
    said(run, "train", path, "-o", model, "--method", "label-ridge")
    words = ("predict", model, path, "--json"), ("evaluate", model, path, "--json")
    whole = [said(run, *each) for each in words]
    monkeypatch.setattr(data_source, "BLOCK_ROWS", 7)
    predicted, judged = (said(run, *each) for each in words)
    assert predicted == whole[0]
    assert len(predicted.splitlines()) == 60
    found, wanted = (
        {name: math.nan if value is None else value for name, value in json.loads(each).items()}
        for each in (judged, whole[1])
    )
    assert found == pytest.approx(wanted, rel=1e-12, abs=1e-12, nan_ok=True)


def test_texts_one_per_line_in_blocks(run, model, tmp_path, monkeypatch):
    path = tmp_path / "new.txt"
    path.write_text("".join(row["text"] + "\n" for row in table(40)))
    whole = said(run, "predict", model, path)
    monkeypatch.setattr(data_source, "BLOCK_ROWS", 7)
    assert said(run, "predict", model, path) == whole
    assert len(whole.splitlines()) == 40


@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet"])
def test_standard_input_in_blocks(run, model, ending, tmp_path, monkeypatch):
    path = write(table(40), tmp_path / f"new.{ending}")
    wanted = said(run, "predict", model, path), said(run, "evaluate", model, path, "--json")
    monkeypatch.setattr(data_source, "BLOCK_ROWS", 7)

    def piped(*words):
        stdin = io.TextIOWrapper(io.BytesIO(path.read_bytes()))
        monkeypatch.setattr(sys, "stdin", stdin)
        return said(run, *words)

    assert piped("predict", model, "-") == wanted[0]
    assert json.loads(piped("evaluate", model, "-", "--json")) == pytest.approx(
        json.loads(wanted[1]), rel=1e-12, abs=1e-12
    )


def test_a_bad_row_in_a_late_block_leaves_no_half_written_file(run, model, tmp_path, monkeypatch):
    path = write(table(40), tmp_path / "new.csv")
    path.write_text(path.read_text() + "too,many,cells,here\n")
    monkeypatch.setattr(data_source, "BLOCK_ROWS", 7)
    target = tmp_path / "answers.csv"
    target.write_text("those of yesterday")
    code, _, err = run("predict", model, path, "-o", target)
    assert code == 2
    assert "line 42" in err
    assert target.read_text() == "those of yesterday"
    assert not list(tmp_path.glob(".*.part"))


@pytest.mark.parametrize("command", ["predict", "evaluate"])
def test_memory_does_not_grow_with_the_rows(run, model, command, tmp_path, monkeypatch):
    """Python's and NumPy's own memory at its peak: that of a block, whatever the number of rows."""
    monkeypatch.setattr(data_source, "BLOCK_ROWS", 25)
    # What is read ahead to tell the format is limited too, at more than these files hold.
    monkeypatch.setattr("vicinal.datasets.tables.content.HEAD_ROWS", 25)
    monkeypatch.setattr("vicinal.datasets.tables.csv.SAMPLED_LINES", 25)
    monkeypatch.setattr("vicinal.datasets.tables.table_rows._PIECE", 2**12)
    # So are the distinct scores from which the areas under curves are computed.
    tally = "vicinal.metrics.accumulator.ScoreTally"
    monkeypatch.setattr(tally, lambda n_labels, most=64: ScoreTally(n_labels, min(most, 64)))
    peaks = []
    for n_rows in (240, 1920):
        path = write(table(n_rows, length=200), tmp_path / f"rows{n_rows}.csv")
        options = ("-o", tmp_path / "answers.csv") if command == "predict" else ("--json",)
        said(run, command, model, path, *options)  # what is loaded once does not count
        gc.collect()  # empties the interpreter's lists of free tuples, which fill slowly
        tracemalloc.start()
        said(run, command, model, path, *options)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    file_grew = 1680 * 200 * 5
    assert peaks[1] - peaks[0] < file_grew / 5


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="peaks are read from /proc")
@pytest.mark.parametrize("command", ["predict", "evaluate"])
@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet"])
def test_resident_memory_of_the_process_is_flat(model, command, ending, tmp_path):
    """The peak of the whole process, with blocks as they are: 20,000 and 160,000 rows."""
    peaks = []
    for n_rows in (20_000, 160_000):
        path = write(table(n_rows, length=40), tmp_path / f"rows{n_rows}.{ending}")
        options = ["-o", str(tmp_path / "answers.csv")] if command == "predict" else ["--json"]
        code = (
            "import sys; from vicinal.cli import main; "
            f"sys.argv = ['vicinal', '{command}', {str(model)!r}, {str(path)!r}, *{options!r}]\n"
            "try: main()\nexcept SystemExit as end: assert not end.code, end\n"
            "peak = [line for line in open('/proc/self/status') if line.startswith('VmHWM')]\n"
            "print('peak', peak[0].split()[1], file=sys.stderr)"
        )
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        peaks.append(int(done.stderr.split("peak")[1]))
    assert peaks[1] - peaks[0] < 12_000, peaks  # KiB, where the file grew by 28,000 and more
