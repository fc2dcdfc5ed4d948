"""Examples of functions that other tests reach only on the way."""

from vicinal.cli.compare import parse_folds, parse_numbers, tuned_candidates
from vicinal.cli.data_source import shown_name
from vicinal.cli.measure_results import _file_name
from vicinal.cli.options import TableChoice, with_options
from vicinal.cli.output import visible_json
from vicinal.cli.predict import in_order
from vicinal.cli.serve import _who_may_change, named_folders
from vicinal.cli.settings import method_words, neighbor_settings, parse_grid, parse_settings


def test_parse_folds():
    assert (parse_folds("10"), parse_folds("split")) == (10, "split")


def test_tuned_candidates():
    assert (
        repr(tuned_candidates(["mlknn"], {"mlknn.smoothing": 0.5}, "micro-f1"))
        == "{'mlknn tuned': Tuned(method='mlknn', metric='micro-f1', params={'smoothing': 0.5})}"
    )


def test_parse_numbers():
    assert (parse_numbers("--neighbors", "5,10"), parse_numbers("--neighbors", None)) == (
        [5, 10],
        [],
    )


def test_shown_name():
    assert (shown_name("data/songs.csv"), shown_name("-")) == ("songs.csv", "standard input")


def test_with_options(capsys):
    @with_options
    def show(data: str, *, table: TableChoice) -> None:
        print(data, table.separator)

    show("x.csv", separator=";")
    assert capsys.readouterr().out == "x.csv ;\n"


def test_visible_json():
    assert str(visible_json('["\x9b2J"]')) == '["\\u009b2J"]'


def test_in_order():
    import numpy as np

    np.testing.assert_equal(
        (in_order(np.array([[1, 2, 3]]), ["sad", "b", "a"], ["a", "b"], labels=["sad"])),
        np.array([[3, 2]]),
    )


def test_who_may_change():
    assert (
        _who_may_change(False, False)
        == "Read-only: nobody can teach the models without --write-token"
    )


def test_named_folders():
    assert (
        repr(named_folders(["models/news", "post=models/mail"]))
        == "{'news': PosixPath('models/news'), 'post': PosixPath('models/mail')}"
    )


def test_parse_settings():
    assert parse_settings(["n_neighbors=5", "metric=cosine", "threshold=None"]) == {
        "n_neighbors": 5,
        "metric": "cosine",
        "threshold": None,
    }


def test_parse_grid():
    assert parse_grid(["n_neighbors=1,5", "variant=a,b", "lcif.mixing=0.5"]) == {
        "n_neighbors": [1, 5],
        "variant": ["a", "b"],
        "lcif": {"mixing": [0.5]},
    }


def test_method_words():
    assert method_words(["quick"]) == [
        "brknn",
        "lpknn",
        "mlknn",
        "instance-knn",
        "feature-knn",
        "lcif",
        "local-ridge",
    ]


def test_neighbor_settings():
    assert neighbor_settings("mlknn", 5) == {"n_neighbors": 5}


def test_file_name():
    assert _file_name('a b/m:C "1"?') == "a-b-m-C-1-"
