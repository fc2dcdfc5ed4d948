"""The names of labels, and what is written to tables of predictions."""

import csv
import json

URI = "http://example.org/p"
ROWS = [("old red house", 1), ("blue cold sea", 2), ("small red house", 1), ("deep blue sea", 2)]


def corpus(tmp_path):
    path = tmp_path / "corpus.tsv"
    path.write_text("".join(f"{text}\t<{URI}{n}>\n" for text, n in ROWS))
    names = tmp_path / "names.tsv"
    names.write_text(f"<{URI}1>\thouses\n<{URI}2>\t=seas\n")
    return path, names


def test_names_are_shown_beside_identifiers(run, tmp_path):
    path, names = corpus(tmp_path)
    model = tmp_path / "model"
    options = ("--method", "brknn", "--set", "n_neighbors=1", "--vocabulary", names)
    code, _, err = run("train", path, "-o", model, *options)
    assert code == 0
    assert "names of 2 of 2 labels" in err
    code, out, _ = run("predict", model, path)
    assert code == 0
    assert f"houses <{URI}1>" in out.splitlines()[0]
    code, out, _ = run("predict", model, path, "--json")
    first = json.loads(out.splitlines()[0])
    assert first["labels"] == [f"{URI}1"]
    assert first["names"][f"{URI}1"] == "houses"
    code, out, _ = run("explain", model, path, "--limit", "1")
    assert code == 0
    assert "houses" in out


def test_formulas_are_not_run_by_spreadsheet_programs(run, tmp_path):
    path = tmp_path / "notes.csv"
    labels = ["=cmd|x", "@sum", "plain;one", "\uff1dcmd"]
    lines = [f"{text},{labels[n]}" for n, (text, _) in enumerate(ROWS[:4])]
    path.write_text("text,tags\n" + "\n".join(lines) + "\n")
    options = ("--method", "brknn", "--separator", "none", "--set", "n_neighbors=1")
    assert run("train", path, "-o", tmp_path / "model", *options)[0] == 0
    for keep, signs in ((), "'"), (("--keep-formulas",), ""):
        out = tmp_path / f"out{len(keep)}.csv"
        assert run("predict", tmp_path / "model", path, "-o", out, "--top", "3", *keep)[0] == 0
        with out.open(encoding="utf-8-sig", newline="") as file:
            rows = list(csv.DictReader(file))
        assert rows[0]["labels"] == signs + "=cmd|x"
        assert rows[1]["labels"] == signs + "@sum"
        assert rows[3]["labels"] == signs + "\uff1dcmd"
        # One separator for the whole file: neither ; nor | because labels contain both.
        assert all(len(row["best"].split(",")) == 3 for row in rows)
