"""Large data sets by the command line, end to end: time and memory of every command.

``python -m benchmarks.scale_commands texts FILE`` takes ``yso-finna-en.tsv.xz`` (labels, a tab, a
text per line), trains on nine tenths and evaluates on the rest. ``python -m
benchmarks.scale_commands rows TRAIN TEST`` takes two files of extreme-classification text;
``--draw 1778351 587084`` writes them, in the shape of Wiki-LSHTC-325K.
"""

import argparse
import json
import lzma
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks.recording import Measurement, record
from benchmarks.scale_rows import CHUNK, chunk
from vicinal.datasets.generated import zipf_rows

FEATURES, SIZE, LABELS = 1_600_000, 40.0, 325_056
TEST_SHARE = 10


def command(*words: object) -> dict[str, Any]:
    """Run a command of vicinal; return its seconds, its peak memory and its output."""
    program = "from vicinal.cli import main; main()"
    line = [sys.executable, "-c", program, *map(str, words), "--json"]
    print("vicinal", *words, file=sys.stderr, flush=True)
    began = time.perf_counter()
    with tempfile.TemporaryFile("w+") as printed:
        process = subprocess.Popen(line, stdout=printed, stderr=sys.stderr)
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - began
        printed.seek(0)
        text = printed.read()
    if status:
        raise SystemExit(f"{words[0]} failed")
    processor = usage.ru_utime + usage.ru_stime
    result = {
        "seconds": seconds,
        "processor seconds": processor,
        "peak GB": usage.ru_maxrss * 1024 / 1e9,
    }
    print(result, file=sys.stderr, flush=True)
    return {**result, "printed": json.loads(text)}


def texts_case(file: Path, folder: Path, method: list[str], limit: int) -> dict[str, Any]:
    """Vectorise, train and evaluate on texts; every tenth text is a test text."""
    split_texts(file, folder, limit)
    reading = ["--text", "text", "--labels", "labels"]
    model = folder / "model"
    steps = {"train": command("train", folder / "train.jsonl", "-o", model, *reading, *method)}
    steps["evaluate"] = command("evaluate", model, folder / "test.jsonl")
    return steps


def split_texts(file: Path, folder: Path, limit: int) -> None:
    """Write the tables that the commands read."""
    with (
        lzma.open(file, "rt", encoding="utf-8") as lines,
        (folder / "train.jsonl").open("w", encoding="utf-8") as train,
        (folder / "test.jsonl").open("w", encoding="utf-8") as test,
    ):
        for number, line in enumerate(lines):
            if number == limit:
                break
            labels, _, text = line.rstrip("\n").partition("\t")
            row = json.dumps({"text": text, "labels": labels.split(",")}, ensure_ascii=False)
            (test if number % TEST_SHARE == 0 else train).write(row + "\n")


def rows_case(train: Path, test: Path, folder: Path, method: list[str]) -> dict[str, Any]:
    """Train and evaluate on rows of extreme-classification text."""
    model = folder / "model"
    steps = {"train": command("train", train, "-o", model, *method)}
    steps["evaluate"] = command("evaluate", model, test)
    return steps


def draw_rows(file: Path, n_rows: int, first: int) -> None:
    """Write rows of Wiki-LSHTC's shape from chunk `first` on; labels do not depend on features."""
    with file.open("w") as stream:
        stream.write(f"{n_rows} {FEATURES} {LABELS}\n")
        for number, start in enumerate(range(0, n_rows, CHUNK), start=first):
            X = chunk(number, FEATURES, SIZE)
            Y = zipf_rows(CHUNK, LABELS, 5000 + number, 3.2)
            features = [f"{i}:1" for i in X.indices.tolist()]
            labels = list(map(str, Y.indices.tolist()))
            of_row, labels_of_row = X.indptr.tolist(), Y.indptr.tolist()
            for row in range(min(CHUNK, n_rows - start)):
                mine = labels[labels_of_row[row] : labels_of_row[row + 1]]
                words = features[of_row[row] : of_row[row + 1]]
                stream.write(f"{','.join(mine)} {' '.join(words)}\n")


def figures(name: str, steps: dict[str, Any]) -> list[Measurement]:
    """Return what is kept of a run."""
    kept = []
    for step, result in steps.items():
        kept.append(Measurement(f"{name}: {step}", result["seconds"], "s"))
        kept.append(Measurement(f"{name}: {step}, processor", result["processor seconds"], "s"))
        kept.append(Measurement(f"{name}: {step}, peak memory", result["peak GB"], "GB"))
    total = sum(result["seconds"] for result in steps.values())
    return [*kept, Measurement(f"{name}: all", total, "s")]


def main() -> None:
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("case", choices=["texts", "rows"])
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--limit", type=int, default=-1, help="use so many texts only")
    parser.add_argument("--draw", nargs=2, type=int, help="only write training and test rows")
    parser.add_argument("--scratch", type=Path, default=Path(tempfile.gettempdir()))
    parser.add_argument("--name", default="", help="what the figures are called")
    args, method = parser.parse_known_args()
    if args.draw:
        for file, count, first in zip(args.files, args.draw, (0, 150), strict=True):
            draw_rows(file, count, first)
        return
    with tempfile.TemporaryDirectory(dir=args.scratch) as folder:
        if args.case == "texts":
            steps = texts_case(args.files[0], Path(folder), method, args.limit)
        else:
            steps = rows_case(args.files[0], args.files[1], Path(folder), method)
    print(json.dumps(steps, indent=1))
    record("scale-commands", figures(args.name or args.case, steps))


if __name__ == "__main__":
    main()
