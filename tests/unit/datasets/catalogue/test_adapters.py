"""Adapters and recipes, on small files of the same layouts."""

import gzip
import io
import json
import lzma
import tarfile

import numpy as np
import pytest
from scipy.io import savemat

from vicinal.datasets.catalogue import entry
from vicinal.datasets.catalogue.corpora import (
    DEBTAGS_FILES,
    read_eurlex,
    read_makupalat,
    read_reuters,
    read_yso,
)
from vicinal.datasets.catalogue.entry import mat, meka, mulan, several_labels, xc
from vicinal.errors import DataFormatError, InvalidArgumentError

LIMIT = 2**20


def story(number, split, topics, text="<BODY>words</BODY>", indexed="YES"):
    listed = "".join(f"<D>{topic}</D>" for topic in topics)
    return (
        f'<REUTERS TOPICS="{indexed}" LEWISSPLIT="{split}" NEWID="{number}">\n'
        f"<TOPICS>{listed}</TOPICS>\n<PLACES><D>usa</D></PLACES>\n"
        f"<TEXT>&#2;\n{text}</TEXT>\n</REUTERS>\n"
    )


def tar(files):
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w") as archive:
        for name, content in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(content.encode("latin-1"))
            archive.addfile(member, io.BytesIO(content.encode("latin-1")))
    return stream.getvalue()


def test_reuters_keeps_topics_of_both_parts_and_stories_that_have_one(tmp_path):
    files = {
        "r/reut2-001.sgm": story(3, "TEST", ["earn", "tea"]) + story(4, "TEST", ["gold"]),
        "r/reut2-000.sgm": story(1, "TRAIN", ["earn", "gas"])
        + story(2, "TRAIN", ["gas"])
        + story(5, "TRAIN", ["earn"], indexed="NO")
        + story(6, "NOT-USED", ["earn"])
        + story(7, "TRAIN", [])
        + story(8, "TRAIN", ["gold"], "<TITLE>A &lt;B> caf\xe9</TITLE>"),
        "r/README.txt": story(9, "TRAIN", ["earn"]),
    }
    path = tmp_path / "reuters21578.tar.xz"
    path.write_bytes(lzma.compress(tar(files)))
    corpus = read_reuters(tmp_path.__truediv__, LIMIT)
    assert corpus.label_names == ("earn", "gold")
    assert corpus.row_names == ("1", "8", "3", "4")
    assert corpus.labels == [[0], [1], [0], [1]]
    assert corpus.train.tolist() == [0, 1]
    assert corpus.test.tolist() == [2, 3]
    assert corpus.texts[1].split() == ["A", "<B>", "caf\xe9"]


def test_reuters_refuses_what_is_no_tar(tmp_path):
    (tmp_path / "reuters21578.tar.xz").write_bytes(lzma.compress(b"x" * 2000))
    with pytest.raises(DataFormatError, match="a tar archive"):
        read_reuters(tmp_path.__truediv__, LIMIT)


def law(name, concepts, **more):
    fields = {"title": "t", "header": "h", "recitals": None, "main_body": ["one", "two"]}
    return json.dumps({"celex_id": name, "concepts": concepts, **fields, **more})


@pytest.fixture
def laws(tmp_path):
    rows = {
        "train": [law("A", ["7", "9"]), law("B", ["7"], title="uni\u2028code")],
        "dev": [law("C", ["8"])],
        "test": [law("D", ["10", "7"], attachments="not read")],
    }
    for part, lines in rows.items():
        path = tmp_path / f"eurlex57k-{part}.jsonl.xz"
        path.write_bytes(lzma.compress("".join(line + "\n" for line in lines).encode()))
    names = {key: {"label": label} for key, label in (("7", "tax"), ("9", "tax"), ("8", "sea"))}
    (tmp_path / "eurovoc_en.json.gz").write_bytes(gzip.compress(json.dumps(names).encode()))
    return tmp_path


def test_eurlex_leaves_development_rows_out_of_the_split(laws):
    corpus = read_eurlex(laws.__truediv__, LIMIT)
    assert corpus.row_names == ("A", "B", "C", "D")
    assert corpus.train.tolist() == [0, 1]
    assert corpus.test.tolist() == [3]
    assert corpus.label_names == ("10", "tax (7)", "sea", "tax (9)")
    assert corpus.labels == [[1, 3], [1], [2], [0, 1]]
    assert corpus.texts[0] == "t\nh\n\none\ntwo"
    assert "not read" not in corpus.texts[3]


@pytest.mark.parametrize(
    ("bad", "expected"),
    [
        ("{", "expected a JSON object, got"),
        ("3", "expected a JSON object, got 3"),
        ('{"celex_id": "B"}', "expected a list of texts in concepts, got no such field"),
        (law("B", "7"), "expected a list of texts in concepts, got '7'"),
        (law("B", [7]), r"expected a list of texts in concepts, got \[7\]"),
        (law(None, ["7"]), "expected a text in celex_id, got None"),
        (law("B", ["7"], main_body=3), "expected a text, a list .* in main_body, got 3"),
    ],
)
def test_eurlex_names_the_line_that_is_wrong(laws, bad, expected):
    lines = f"{law('A', ['7'])}\n{bad}\n"
    (laws / "eurlex57k-dev.jsonl.xz").write_bytes(lzma.compress(lines.encode()))
    with pytest.raises(DataFormatError, match=rf"dev\.jsonl\.xz, line 2: {expected}"):
        read_eurlex(laws.__truediv__, LIMIT)


@pytest.mark.parametrize("bad", ["[]", '{"7": {}}', "{"])
def test_eurlex_refuses_concepts_without_names(laws, bad):
    (laws / "eurovoc_en.json.gz").write_bytes(gzip.compress(bad.encode()))
    with pytest.raises(DataFormatError, match=r"eurovoc_en\.json\.gz: .* with a label each"):
        read_eurlex(laws.__truediv__, LIMIT)


def subjects(folder, rows):
    labels = "p1\tbank\np2\tunused\np3\ttea\np4\tbank\n"
    (folder / "labels.tsv.gz").write_bytes(gzip.compress(labels.encode()))
    (folder / "yso-finna-en.tsv.xz").write_bytes(lzma.compress(rows.encode()))
    return read_yso(folder.__truediv__, LIMIT)


def test_yso_drops_subjects_without_a_text(tmp_path):
    corpus = subjects(tmp_path, "0,3\tOn banks\n2\tOn\u2028tea\ttime\n")
    assert corpus.label_names == ("bank (p1)", "tea", "bank (p4)")
    assert corpus.labels == [[0, 2], [1]]
    assert corpus.texts == ["On banks", "On\u2028tea\ttime"]
    assert corpus.train is None


@pytest.mark.parametrize("bad", ["4\ttoo high", "-1\ttoo low", "x\tno id", "0 no tab", ""])
def test_yso_names_the_line_that_is_wrong(tmp_path, bad):
    with pytest.raises(DataFormatError, match=r"line 2: expected ids from 0 to 3"):
        subjects(tmp_path, f"0\tfine\n{bad}\n2\tfine\n")


def websites(folder, **parts):
    for part in ("train", "validate", "test"):
        text = parts.get(part, f"{part} a\t<u:1>\n")
        (folder / f"makupalat-{part}.tsv.gz").write_bytes(gzip.compress(text.encode()))
    return read_makupalat(folder.__truediv__, LIMIT)


def test_makupalat_has_three_parts_of_which_one_is_in_neither_side(tmp_path):
    corpus = websites(tmp_path, train='a "b\tc"\t<u:2> <u:1>\nd\t<u:2>\n', test="e\t<u:3>\n")
    assert corpus.texts == ['a "b\tc"', "d", "validate a", "e"]
    assert corpus.label_names == ("u:1", "u:2", "u:3")
    assert corpus.labels == [[1, 0], [1], [0], [2]]
    assert (corpus.train.tolist(), corpus.test.tolist()) == ([0, 1], [3])


def test_makupalat_names_the_line_that_is_wrong_and_shows_no_text(tmp_path):
    with pytest.raises(DataFormatError, match=r"test\.tsv\.gz, line 2: expected a text") as error:
        websites(tmp_path, test="fine\t<u:1>\nsecret\n")
    assert "secret" not in str(error.value)


def test_a_text_recipe_takes_its_options(tmp_path):
    rows = [
        {"package": "foo", "text": "The game, the GAME", "tags": ["x::b", "x::a"]},
        {"package": "bar", "text": "the tool", "tags": ["x::b"]},
    ]
    lines = "".join(json.dumps(row) + "\n" for row in rows)
    (tmp_path / DEBTAGS_FILES[0]).write_bytes(gzip.compress(lines.encode()))
    recipe = entry("debtags-text").recipe
    find = tmp_path.__truediv__
    data = recipe.read(find, weighting="counts", min_rows=1)
    assert data.feature_names == ("game", "the", "tool")
    np.testing.assert_array_equal(np.asarray(data.X.toarray()), [[2, 2, 0], [0, 1, 1]])
    np.testing.assert_array_equal(data.Y.toarray(), [[1, 1], [0, 1]])
    assert data.row_names == ("foo", "bar")
    assert recipe.read(find).feature_names == ("the",)
    with pytest.raises(InvalidArgumentError, match="min_rows"):
        recipe.read(find, min_rows=0)
    with pytest.raises(DataFormatError):
        recipe.read(find, max_bytes=10)


MULAN = "@relation r\n@attribute size numeric\n@attribute a {0,1}\n@attribute b {0,1}\n@data\n"
XML = '<labels><label name="a"></label><label name="b"></label></labels>'


@pytest.fixture
def arff(tmp_path):
    (tmp_path / "train.arff").write_text(MULAN + "1.5,1,1\n2,0,1\n")
    (tmp_path / "test.arff").write_text(MULAN + "3,1,0\n4,1,1\n")
    (tmp_path / "names.xml").write_text(XML)
    return tmp_path


def test_mulan_recipes_stack_the_published_split(arff):
    find = arff.__truediv__
    both = mulan("train.arff", "test.arff", xml="names.xml")
    data = both.read(find)
    assert (data.train.tolist(), data.test.tolist()) == ([0, 1], [2, 3])
    np.testing.assert_array_equal(data.Y.toarray(), [[1, 1], [0, 1], [1, 0], [1, 1]])
    assert np.asarray(data.X).tolist() == [[1.5], [2], [3], [4]]
    one = mulan("test.arff", xml="names.xml", drop=("size",)).read(find)
    assert (one.n_rows, one.n_features, one.train) == (2, 0, None)
    several = several_labels(both)
    assert (several.files, several.format) == (both.files, both.format)
    assert np.asarray(several.read(find).X).tolist() == [[1.5], [4]]


def test_meka_and_mat_recipes(tmp_path):
    (tmp_path / "x.arff").write_text(MULAN.replace("r\n", "'r: -C -2'\n") + "1.5,1,0\n")
    data = meka("x.arff").read(tmp_path.__truediv__)
    assert (data.label_names, np.asarray(data.X).tolist()) == (("a", "b"), [[1.5]])
    X, Y = np.array([[1.0, 2], [3, 4]]), np.array([[1.0], [0]])
    savemat(tmp_path / "x.mat", {"X": X, "Y": Y, "Xt": X + 1, "Yt": Y})
    data = mat("x.mat").read(tmp_path.__truediv__)
    assert (data.n_rows, data.test.tolist()) == (4, [2, 3])


def test_xc_recipes_mark_the_split(tmp_path):
    (tmp_path / "x.txt").write_text("3 2 2\n0 0:1\n1 1:2\n0,1 0:3\n")
    (tmp_path / "labels.txt").write_text("a\nb\n")
    (tmp_path / "words.txt").write_text("red\nblue\n")
    files = ("x.txt", "labels.txt", "words.txt")
    whole = xc(*files).read(tmp_path.__truediv__)
    assert (whole.label_names, whole.feature_names) == (("a", "b"), ("red", "blue"))
    assert whole.train is None
    split = xc(*files, split=(range(1, 3), range(1))).read(tmp_path.__truediv__)
    assert (split.train.tolist(), split.test.tolist()) == ([1, 2], [0])
    np.testing.assert_array_equal(split.Y.toarray(), whole.Y.toarray())
