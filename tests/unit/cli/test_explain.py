"""``vicinal explain`` on small files made here."""

import json

import pytest

import vicinal

pytestmark = pytest.mark.native

SONGS = [
    ("rain", "grey rain on the window", ["sad", "calm"]),
    ("sun", "bright sun on the hill", ["happy"]),
    ("storm", "storm and rain and wind", ["angry", "sad"]),
    ("breeze", "calm wind on the hill", ["calm", "happy"]),
]


@pytest.fixture
def songs(tmp_path):
    path = tmp_path / "songs.jsonl"
    rows = [{"text": text, "labels": labels, "title": name} for name, text, labels in SONGS]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


@pytest.fixture
def model(run, songs, tmp_path):
    path = tmp_path / "model"
    words = ("--method", "instance-knn", "--set", "n_neighbors=2", "--row-names", "title")
    assert run("train", songs, "-o", path, *words)[0] == 0
    return path


@pytest.fixture
def new(tmp_path):
    path = tmp_path / "new.txt"
    path.write_text("rain on the hill\nwind and sun\ncalm window\n")
    return path


def test_train_saves_the_names_of_rows(model):
    assert vicinal.load(model)[-1].row_names_ == ("rain", "sun", "storm", "breeze")


def test_train_takes_names_from_a_data_set(run, tmp_path):
    assert run("train", "debtags", "-o", tmp_path / "tags", "--method", "brknn")[0] == 0
    loaded = vicinal.load(tmp_path / "tags")
    names = vicinal.datasets.load("debtags").split()[0].row_names
    assert loaded[-1].row_names_ == names


def test_json_lines_that_add_up(run, model, new):
    code, out, err = run("explain", model, new, "--json", "--limit", 2, "--top", 1)
    assert code == 0
    assert err.strip() == "2 of 3 rows explained (--limit N for more)"
    rows = [json.loads(line) for line in out.splitlines()]
    assert [row["text"] for row in rows] == ["rain on the hill", "wind and sun"]
    for row in rows:
        for one in row["labels"]:
            total = one["base"] + sum(part["share"] for part in one["parts"])
            assert total == pytest.approx(one["value"], abs=1e-12)
            assert {part["name"] for part in one["parts"]} <= {name for name, _, _ in SONGS}


def test_tables_for_people(run, model, new):
    code, out, _ = run("explain", model, new, "--limit", 1, "--what-if")
    assert code == 0
    for expected in ("Row 0", "InstanceKNN predicts", "sum", "Neighbours", "predicted without"):
        assert expected in out


def test_page_with_the_texts_of_neighbours(run, model, new, songs, tmp_path):
    page = tmp_path / "why.html"
    code, out, _ = run("explain", model, new, "--html", page, "--learned-from", songs)
    assert code == 0
    assert out == f"3 rows explained, written to {page}\n"
    assert "calm <mark" in page.read_text()


def test_labels_chosen_by_name(run, model, new):
    words = ("--json", "--limit", 1, "--label", "angry", "--label", "sad")
    code, out, _ = run("explain", model, new, *words)
    assert code == 0
    assert [one["label"] for one in json.loads(out)["labels"]] == ["angry", "sad"]


def test_rows_with_features(run, data_file, tmp_path):
    model = tmp_path / "model"
    run("train", data_file, "-o", model, "--method", "lcif")
    code, out, _ = run("explain", model, data_file, "--json", "--limit", 1)
    assert code == 0
    names = {part["name"] for one in json.loads(out)["labels"] for part in one["parts"]}
    assert names & {"a", "b", "c", "d"}


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--label", "loud"), "--label: expected label names of the model"),
        (("--limit", 0), "limit"),
        (("--html", "NEW/page.html"), "--html: expected a file"),
        (("--learned-from", "NEW"), "--learned-from: expected the 4 training rows of the model"),
    ],
)
def test_bad_input_is_one_line(words, said, run, model, new):
    given = [str(word).replace("NEW", str(new)) for word in words]
    code, out, err = run("explain", model, new, *given)
    assert code == 2
    assert out == ""
    assert said in " ".join(err.split())


def test_learned_from_needs_a_model_of_texts(run, data_file, new, tmp_path):
    model = tmp_path / "model"
    run("train", data_file, "-o", model)
    code, _, err = run("explain", model, data_file, "--learned-from", new)
    assert code == 2
    assert "--learned-from: expected a model that reads texts" in " ".join(err.split())
